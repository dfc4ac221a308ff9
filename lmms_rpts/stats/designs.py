"""Designs of expanded tasks: which levels of which factors the draws of a document have.

Orders are drawn from a seed and names, so that they are the same in every process, whatever the
order of documents.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import product

import numpy as np

MOST_DRAWS = 1000
_MOST_COMBINATIONS = 100_000
_FORM = "write FACTOR=N,..., such as wording=5,order=all,negated,design=8"


@dataclass(frozen=True, slots=True)
class Design:
    """The draws of each document.

    Attributes:
        levels: number of levels by factor; level 0 is as in the data. 0 levels: as many as the
            document has options.
        kind: ``full``: all combinations; ``single``: one factor at a time; N: a balanced fraction
            of N draws.
    """

    levels: Mapping[str, int]
    kind: str | int = "full"

    def draws(self, options: int = 0) -> tuple[Mapping[str, int], ...]:
        """The level of each factor by draw; the first draw has level 0 of all.

        Args:
            options: number of options of the document.
        """
        counts = tuple(each or max(1, options) for each in self.levels.values())
        return tuple(
            dict(zip(self.levels, each, strict=True)) for each in _draws(counts, self.kind)
        )


def parse_design(text: str, factors: Collection[str]) -> Design:
    """Parse ``wording=5,order=all,negated,design=8``.

    Raises:
        ValueError: with what is wrong and what is allowed.
    """
    levels: dict[str, int] = {}
    kind: str | int = ""
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, given = map(str.strip, part.partition("="))
        count = int(given) if re.fullmatch("[0-9]{1,4}", given) else -1
        if name in levels or (name == "design" and kind):
            raise ValueError(f"has {name} twice")
        if name == "design":
            if given not in ("full", "single") and not 2 <= count <= MOST_DRAWS:
                raise ValueError(f"design: use full, single or a number from 2 to {MOST_DRAWS}")
            kind = given if count < 0 else count
        elif name not in factors:
            raise ValueError(f"{name!r} is unknown: use {', '.join(factors)} or design; {_FORM}")
        elif name == "negated":
            if equals and count != 2:
                raise ValueError("negated: it has 2 levels")
            levels[name] = 2
        elif 2 <= count <= 100 or (name, given) == ("order", "all"):
            levels[name] = max(0, count)
        else:
            more = " or all" if name == "order" else ""
            raise ValueError(f"{name}: use a number from 2 to 100{more}")
    if not levels:
        raise ValueError(f"varies nothing: {_FORM}")
    design = Design(levels, kind or "full")
    combinations = math.prod(each or 1 for each in levels.values())
    if design.kind == "full" and combinations > MOST_DRAWS:
        raise ValueError(f"has {combinations:,} draws, at most {MOST_DRAWS:,}: add design=N")
    if combinations > _MOST_COMBINATIONS:
        raise ValueError(f"has {combinations:,} combinations: use fewer levels")
    return design


@lru_cache(maxsize=256)
def _draws(counts: tuple[int, ...], kind: str | int) -> list[tuple[int, ...]]:
    if kind == "full":
        return list(product(*map(range, counts)))
    if kind == "single":
        zeros = (0,) * len(counts)
        others = [(at, level) for at, count in enumerate(counts) for level in range(1, count)]
        return [zeros] + [(*zeros[:at], level, *zeros[at + 1 :]) for at, level in others]
    return _fraction(counts, int(kind))


def _fraction(counts: tuple[int, ...], wanted: int) -> list[tuple[int, ...]]:
    """A balanced fraction, built draw by draw.

    Each draw is the combination whose levels occurred least often, and among these the one whose
    pairs of levels did; so N draws of two factors with N levels form a Latin square.
    """
    every = np.indices(counts).reshape(len(counts), -1).T
    pairs = {
        (one, other): np.zeros((counts[one], counts[other]), dtype=int)
        for one in range(len(counts))
        for other in range(one + 1)  # with itself: how often a level occurred
    }
    free = np.ones(len(every), dtype=bool)
    found = []
    for _ in range(min(wanted, len(every))):
        alone, together = np.zeros((2, len(every)), dtype=int)
        for (one, other), times in pairs.items():
            sums = alone if one == other else together
            sums += times[every[:, one], every[:, other]]
        chosen = int(np.lexsort((together, alone, ~free))[0])
        free[chosen] = False
        found.append(tuple(every[chosen].tolist()))
        for (one, other), times in pairs.items():
            times[found[-1][one], found[-1][other]] += 1
    return found


# --- orders --------------------------------------------------------------------------------------


def rng_of(seed: int, *names: object) -> random.Random:
    """A random number generator for the given seed and names."""
    text = "|".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(sha256(text.encode()).digest()[:8], "big"))


def balanced_order(options: int, right: int, variant: int, seed: int, *names: object) -> list[int]:
    """An order of options for one variant of a document.

    Variant 0 keeps the given order. Over N variants of N options, or a multiple of N, the right
    option has each position equally often; the others are shuffled each time.

    Args:
        options: number of options, at least one.
        right: the position of the right option in the given order.
        variant: number of the variant, from 0.
        seed: what the draws depend on.
        names: what else they depend on.

    Returns:
        For each position, the number of its option.
    """
    if variant == 0:
        return list(range(options))
    places = [each for each in range(options) if each != right]
    rng_of(seed, *names, "places").shuffle(places)
    others = [each for each in range(options) if each != right]
    rng_of(seed, *names, variant, "order").shuffle(others)
    place = [right, *places][variant % options]
    return [*others[:place], right, *others[place:]]


@lru_cache(maxsize=1024)  # the draws of a document share levels
def distinct_order(count: int, level: int, *names: object) -> tuple[int, ...]:
    """An order of things that differs from those of the lower levels, while there are others.

    Level 0 keeps the given order; from ``factorial(count)`` on, orders repeat.
    """
    found = [tuple(range(count))]
    if level % math.factorial(count) == 0:
        return found[0]
    rng = rng_of(0, *names)
    while len(found) <= level % math.factorial(count):
        drawn = tuple(rng.sample(range(count), count))
        if drawn not in found:
            found.append(drawn)
    return found[-1]

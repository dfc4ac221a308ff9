"""The duplicates of a sample: orders and marks of their options, and how far the answers agree."""

from __future__ import annotations

import random
import string
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from hashlib import sha256
from statistics import fmean

MARKS: Mapping[str, str] = {
    "upper": string.ascii_uppercase, "lower": string.ascii_lowercase, "number": string.digits[1:]
}  # fmt: skip
"""The marks of options by style."""


def rng_of(seed: int, *names: object) -> random.Random:
    """A random number generator for the given seed and names, the same in every process."""
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


def agreement(answers: Iterable[tuple[Hashable, Hashable | None, bool]]) -> dict[str, float | None]:
    """How far the answers to the duplicates of a sample agree.

    - ``consistent_rate``: the share of samples for which all answers chose the same option; samples
      with a single answer do not count, and there is none if no answer chose an option.
    - ``accuracy_all``: the share of samples with right answers only.

    Args:
        answers: for each answer its sample, the text of the chosen option (None if it chose none),
            and whether it is right.
    """
    samples: dict[Hashable, list[tuple[Hashable | None, bool]]] = defaultdict(list)
    for sample, chosen, right in answers:
        samples[sample].append((chosen, right))
    several = [{chosen for chosen, _ in each} for each in samples.values() if len(each) > 1]
    same = [len(chosen) == 1 and None not in chosen for chosen in several]
    read = any(chosen - {None} for chosen in several)
    every = [all(right for _, right in each) for each in samples.values()]
    return {
        "consistent_rate": fmean(same) if read else None,
        "accuracy_all": fmean(every) if every else None,
    }

"""Variants of a document: seeded draws, and orders of options that treat all places alike.

Nothing here depends on a global state: the same seed and names give the same variant in every
process, whatever the order of documents.
"""

from __future__ import annotations

import random
from hashlib import sha256


def rng_of(seed: int, *names: object) -> random.Random:
    """A generator of random numbers of its own for what these names stand for."""
    text = "|".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(sha256(text.encode()).digest()[:8], "big"))


def balanced_order(options: int, right: int, variant: int, seed: int, *names: object) -> list[int]:
    """An order of options for one variant of a document.

    Variant 0 keeps the given order. Over as many variants as there are options, or a multiple, the
    right option stands at each place equally often; the others are shuffled anew each time.

    Args:
        options: how many there are, at least one.
        right: the place of the right one in the given order.
        variant: which variant, from 0.
        seed, names: what the draws depend on.

    Returns:
        For each place the number of the option that stands there.
    """
    if variant == 0:
        return list(range(options))
    places = [each for each in range(options) if each != right]
    rng_of(seed, *names, "places").shuffle(places)
    others = [each for each in range(options) if each != right]
    rng_of(seed, *names, variant, "order").shuffle(others)
    place = [right, *places][variant % options]
    return [*others[:place], right, *others[place:]]

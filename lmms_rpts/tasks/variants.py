"""Variants of a document: seeded draws, and balanced orders of options.

Nothing here depends on global state: the same seed and names give the same variant in every
process, whatever the order of documents.
"""

from __future__ import annotations

import random
from hashlib import sha256


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
        seed, names: what the draws depend on.

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

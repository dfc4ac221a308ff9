"""Permutation test of paired values of two runs, with correction for several tests."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from lmms_rpts.stats.intervals import SEED, Floats, Indices

PERMUTATIONS = 10_000
# Number of differing clusters up to which all 2**13 swaps are enumerated.
EXACT = 13

_TIED = 1e-9
_AT_A_TIME = 2_000_000


def swap_test(
    first: Floats, second: Floats, clusters: Indices | None = None, permutations: int = PERMUTATIONS
) -> float:
    """Two-sided permutation test of the difference of means of paired values.

    If at most ``EXACT`` clusters differ, all swaps are enumerated; otherwise p = (extreme + 1) /
    (swaps + 1), after Phipson and Smith (2010).

    Args:
        first: (n,), one value per document.
        second: (n,), values of the same documents.
        clusters: (n,), the cluster of each document, from 0, swapped as a whole; None: single
            documents.

    Returns:
        The p-value; NaN without documents.
    """
    if not len(first):
        return math.nan
    own = np.arange(len(first)) if clusters is None else clusters
    gains = np.bincount(own, second - first)
    # Swapping two equal values changes nothing.
    moving = gains[np.abs(gains) > _TIED]
    observed = abs(float(moving.sum()))
    extreme = counted = 0
    for signs in _signs(len(moving), permutations):
        # Sums that are smaller than the observed one only by rounding count as equal.
        extreme += int((np.abs(signs @ moving) >= observed - _TIED).sum())
        counted += len(signs)
    drawn = len(moving) > EXACT
    return (extreme + drawn) / (counted + drawn)


def holm(p_values: Floats) -> Floats:
    """P-values adjusted for multiple tests (Holm 1979), (n,) as the argument; NaN stays NaN."""
    order = np.argsort(p_values)[: np.count_nonzero(~np.isnan(p_values))]  # NaN is last
    adjusted = np.full(len(p_values), np.nan)
    scaled = np.minimum(1.0, p_values[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.maximum.accumulate(scaled)
    return adjusted


def _signs(n: int, permutations: int) -> Iterator[Floats]:
    """Blocks of rows of ``n`` signs, -1 for a pair to swap: all possible rows, or random ones."""
    if n <= EXACT:
        flags = np.arange(2**n)[:, None] >> np.arange(n) & 1
        yield (1 - 2 * flags).astype(float)
        return
    generator = np.random.default_rng(SEED)
    block = max(1, _AT_A_TIME // n)
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        yield (1 - 2 * generator.integers(0, 2, size=(rows, n), dtype=np.int8)).astype(float)

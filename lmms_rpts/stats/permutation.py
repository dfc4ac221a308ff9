"""Permutation test of two runs on the same documents, with correction for several tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lmms_rpts.stats.intervals import SEED, Flags, Floats, Indices

PERMUTATIONS = 10_000
# Number of differing documents up to which all 2**13 swaps are enumerated.
EXACT = 13

_TIED = 1e-9
_AT_A_TIME = 2_000_000


def swap_test(
    first: Floats, second: Floats, permutations: int = PERMUTATIONS, clusters: Indices | None = None
) -> float | None:
    """Two-sided permutation test of the difference of means of paired values.

    If at most ``EXACT`` pairs differ, all swaps are enumerated; otherwise p = (extreme + 1) /
    (swaps + 1), after Phipson and Smith (2010). NaN are swapped too, so a mean may be over other
    documents after a swap. In this case the difference is divided by its standard error in each
    swap (Janssen 1997), because the standard error is no longer constant. Swaps that leave a side
    without any value do not count.

    Args:
        first: one value per document, NaN if there is none.
        second: values of the same documents.
        clusters: the cluster of each document, from 0, swapped as a whole; None: single documents.

    Returns:
        The p-value; None if a side has no value.
    """
    known_a, known_b = ~np.isnan(first), ~np.isnan(second)
    if not (known_a.any() and known_b.any()):
        return None
    columns = (np.where(known_a, first, 0.0), known_a, np.where(known_b, second, 0.0), known_b)
    own = np.arange(len(first)) if clusters is None else clusters
    sums = np.column_stack([np.bincount(own, column).astype(float) for column in columns])
    studentised = bool((known_a != known_b).any())
    # Swapping two equal values changes nothing.
    moving = np.flatnonzero((sums[:, :2] != sums[:, 2:]).any(axis=1))
    observed, _ = _differences(np.zeros((1, len(moving))), sums, moving, studentised)
    extreme = counted = 0
    for swaps in _swaps(len(moving), permutations):
        found, there = _differences(swaps, sums, moving, studentised)
        # Differences that are smaller than the observed one only by rounding count as equal.
        extreme += int((np.abs(found[there]) >= abs(observed[0]) - _TIED).sum())
        counted += int(there.sum())
    drawn = len(moving) > EXACT
    return (extreme + drawn) / (counted + drawn)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for multiple tests (Holm 1979); None (no test) stays None."""
    order = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, at) in enumerate(order):
        least = max(least, min(1.0, p * (len(order) - rank)))
        adjusted[at] = least
    return adjusted


def _swaps(n: int, permutations: int) -> Iterator[Floats]:
    """Blocks of rows of ``n`` flags, 1 for a pair to swap: all possible rows, or random ones."""
    if n <= EXACT:
        yield (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)
        return
    generator = np.random.default_rng(SEED)
    block = max(1, _AT_A_TIME // n)
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        yield generator.integers(0, 2, size=(rows, n), dtype=np.int8).astype(float)


def _differences(
    swaps: Floats, sums: Floats, moving: Indices, studentised: bool
) -> tuple[Floats, Flags]:
    """The difference of means after each of k swaps, and whether both sides have a value.

    ``swaps``: (k, m), 1 for each of the m ``moving`` clusters that is swapped; ``sums``: (n, 4),
    for each cluster the sum and number of values in the first run, then in the second;
    ``studentised``: divide each difference by its own standard error.
    """
    gained = swaps @ (sums[:, 2:] - sums[:, :2])[moving]
    total_a, n_a = (sums[:, :2].sum(axis=0) + gained).T
    total_b, n_b = (sums[:, 2:].sum(axis=0) - gained).T
    there = (n_a > 0.5) & (n_b > 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_a, mean_b = total_a / n_a, total_b / n_b
        found = mean_b - mean_a
        if studentised:
            means = (mean_a, n_a, mean_b, n_b)
            # The contribution of each cluster to the difference, linearised; the sum is 0.
            shares = _shares(sums, *means)
            moved = _shares(sums[moving][:, [2, 3, 0, 1]], *means)
            shares[:, moving] = np.where(swaps > 0, moved, shares[:, moving])
            errors = np.sqrt((shares**2).sum(axis=1))
            found = np.where(errors > _TIED, found / errors, np.sign(found) * np.inf)
            found = np.where(np.abs(mean_b - mean_a) > _TIED, found, 0.0)
    return found, there


def _shares(sums: Floats, mean_a: Floats, n_a: Floats, mean_b: Floats, n_b: Floats) -> Floats:
    """(k, n): each cluster's contribution to the difference of two ratios, by their residuals."""
    in_a = (sums[:, 0] - mean_a[:, None] * sums[:, 1]) / n_a[:, None]
    in_b = (sums[:, 2] - mean_b[:, None] * sums[:, 3]) / n_b[:, None]
    shares: Floats = in_b - in_a
    return shares

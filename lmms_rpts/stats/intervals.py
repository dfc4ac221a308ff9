"""Confidence intervals over documents and clusters of documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_rpts.stats.figures import Interval

LEVEL = 0.95
RESAMPLES = 10_000
SEED = 20260101
_AT_A_TIME = 2_000_000

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def numbered(names: Sequence[Hashable]) -> Indices:
    """Numbers for names, from 0 in the order of first occurrence; equal names share a number."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def estimate_mean(
    values: Sequence[float | None] | Floats,
    clusters: Indices | None = None,
    share: bool = False,
    bounded: bool = True,
) -> Interval:
    """The mean of one value per document (None or NaN: no value), with its 95% interval.

    The interval is over clusters (Cochran 1977, ratio to size), so that a document and its
    translation do not count as two. Scores in [0, 1] have Student's t interval with one added
    value, see ``_added_value_interval``. Shares have the exact interval (Clopper and Pearson 1934)
    for the number of independent documents that would give the standard error: Wilson's covers a
    share near 0 or 1 in as few as 84% of the samples. Other values have Student's t interval; it is
    undefined for one cluster, or if all values are equal.

    Args:
        clusters: the cluster of each value, from 0; None: each value is its own cluster.
        share: whether the mean is a share, for example of right answers.
        bounded: whether the values are scores in [0, 1]; False for counts such as steps. Values
            outside of [0, 1] are never taken for scores.
    """
    every = np.asarray([math.nan if each is None else each for each in values], dtype=float)
    known = ~np.isnan(every)
    there, n = every[known], int(known.sum())
    if n == 0:
        return Interval(None, None, None, 0)
    mean = math.fsum(there) / n
    sums, sizes = there, np.ones(n)
    if clusters is not None:
        groups = numbered(clusters[known].tolist())
        sums, sizes = np.bincount(groups, there), np.bincount(groups).astype(float)
    count = len(sizes)
    variance = float(((sums - mean * sizes) ** 2).sum()) / n**2
    if share:
        equal = variance < 1e-15
        size = count if equal else min(n, max(1.0, mean * (1 - mean) / variance))
        return Interval(mean, *_exact(mean, size), n)
    if bounded and there.min() >= 0.0 and there.max() <= 1.0:
        low, high = _added_value_interval(sums, sizes)
        return Interval(mean, min(mean, max(0.0, low)), max(mean, min(1.0, high)), n)
    half = t_quantile(count - 1) * math.sqrt(variance * count / (count - 1)) if count > 1 else 0.0
    if half < 1e-9:
        return Interval(mean, None, None, n)
    low = max(0.0, mean - half) if there.min() >= 0.0 else mean - half
    return Interval(mean, low, mean + half, n)


def resampled(
    n: int, resamples: int = RESAMPLES, seed: int = SEED, clusters: Indices | None = None
) -> Iterator[Floats]:
    """How often each of ``n`` documents occurs in each resample: blocks of (k, n) weights.

    Args:
        clusters: the cluster of each document, from 0; clusters are drawn as a whole. None: single
            documents are drawn.

    Yields:
        Blocks of ``resamples`` rows in total, the same in every call; without clusters each row
        sums to ``n``.
    """
    generator = np.random.default_rng(seed)
    drawn = n if clusters is None else int(clusters.max(initial=-1)) + 1
    block = max(1, min(resamples, _AT_A_TIME // max(1, n)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        chosen = generator.integers(0, drawn, size=(rows, drawn)) + np.arange(rows)[:, None] * drawn
        weights = np.bincount(chosen.ravel(), minlength=rows * drawn).reshape(rows, drawn)
        yield (weights if clusters is None else weights[:, clusters]).astype(float)


def resampled_means(values: Floats, weights: Floats) -> Floats:
    """Weighted means of (n, m) values, where NaN has no weight: (k, m) for (k, n) weights.

    NaN if no value has weight.
    """
    known = ~np.isnan(values)
    total, weight = weights @ np.where(known, values, 0.0), weights @ known.astype(float)
    with np.errstate(invalid="ignore"):
        means: Floats = total / weight
    return means


def interval(
    draws: Any, clusters: int | None = None, level: float = LEVEL
) -> tuple[float | None, float | None]:
    """The central ``level`` of bootstrap draws, ignoring undefined ones; None if all are equal.

    Args:
        clusters: number of clusters, for the expanded percentile interval (Hesterberg 2015): the
            plain interval is too narrow for few clusters. None: the plain interval.
    """
    there = np.asarray(draws, dtype=float)
    there = there[~np.isnan(there)]
    if not len(there) or float(np.ptp(there)) < 1e-12:
        return None, None
    tail = (1 - level) / 2
    if clusters is not None and clusters > 1:
        from scipy.special import ndtr, stdtrit  # its import takes 0.2 s

        wider = math.sqrt(clusters / (clusters - 1)) * stdtrit(clusters - 1, tail)
        tail = float(ndtr(wider))
    low, high = np.quantile(there, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap(
    statistic: Callable[[Floats], Floats],
    n: int,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    clusters: Indices | None = None,
    size: int = 1,
) -> tuple[Floats, Floats]:
    """Values of a statistic of ``n`` documents, (m,), and their bootstrap draws, (m, resamples).

    Args:
        statistic: (k, n) weights of the documents -> (k, m) values, NaN where undefined.
        clusters: as for ``resampled``.
        size: numbers that the statistic holds for one weighting, if more than ``n``: it is then
            computed for fewer weightings at a time.
    """
    whole = statistic(np.ones((1, n)))
    rows, draws = max(1, _AT_A_TIME // max(1, size)), [whole[:0]]
    for block in resampled(n, resamples, seed, clusters):
        draws += [statistic(block[start : start + rows]) for start in range(0, len(block), rows)]
    return whole[0], np.concatenate(draws).T


def bootstrapped(value: float, draws: Floats, n: int) -> Interval:
    """A value with the interval of its bootstrap draws over ``n`` clusters.

    Without a value if it is NaN, without an interval for one cluster.
    """
    if math.isnan(value):
        return Interval(None, None, None, n)
    return Interval(float(value), *(interval(draws, n) if n > 1 else (None, None)), n)


def _exact(share: float, n: float) -> tuple[float, float]:
    """Limits of a share: the exact interval; ``n`` need not be whole."""
    from scipy.special import betaincinv  # its import takes 0.2 s

    right, tail = share * n, (1 - LEVEL) / 2
    low = betaincinv(right, n - right + 1, tail) if share > 0 else 0.0
    high = betaincinv(right + 1, n - right, 1 - tail) if share < 1 else 1.0
    return round(float(low), 12), round(float(high), 12)


def _added_value_interval(sums: Floats, sizes: Floats) -> tuple[float, float]:
    """Limits of the mean of scores in [0, 1]: Student's t with one added value.

    The t interval fails if nearly all scores are equal, because the few others are often not in
    the sample. So each limit is that of the scores and one value more, as Agresti and Coull (1998)
    add values to a share: the lower limit adds a value below the lowest score, the upper limit one
    above the highest. It is at the bound (0 or 1) if all scores are equal, and each score that
    differs from the median halves its distance to the extreme score, so that other samples keep
    about their t interval. The number of differing scores is the sum of their distances from the
    median, divided by the largest. benchmarks/interval_coverage.py measures coverage and width.
    ``sums``: sum of the scores of each cluster, which counts as its mean; ``sizes``: their number.
    """
    means = sums / sizes
    away = np.abs(means - np.median(means))
    differing = away.sum() / away.max() if away.max() > 1e-9 else 0.0
    lowest, highest, beyond = means.min(), means.max(), 0.5**differing
    below, above = lowest * (1 - beyond), highest + (1 - highest) * beyond
    count, size, limits = len(sizes), sizes.mean(), []
    for value, sign in ((below, -1), (above, 1)):
        mean = (sums.sum() + value * size) / ((count + 1) * size)
        squares = ((sums - mean * sizes) ** 2).sum() + ((value - mean) * size) ** 2
        error = math.sqrt(squares / (count * (count + 1))) / size
        limits.append(float(mean + sign * t_quantile(count) * error))
    return limits[0], limits[1]


def t_quantile(df: float) -> float:
    """Half the width of an interval of ``LEVEL``, in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + LEVEL) / 2))

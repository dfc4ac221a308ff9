"""Agreement coefficients of two sets of scores, for many weightings at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lmms_rpts.stats.intervals import Floats, Indices, Interval, bootstrap, bootstrapped

STATISTICS = ("mae", "spearman", "kappa", "bias")
LEVELS = 10
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Reliability:
    """Agreement of raters, over the steps that at least two of them scored.

    Attributes:
        mae: the mean absolute difference of two raters over the steps that both scored, averaged
            over all pairs of raters that share steps, with equal weight per pair.
        alpha: Krippendorff's alpha for interval data; None if all scores are equal.
        raters: number of raters who share a step with another rater.
        steps: number of steps that at least two raters scored.
    """

    mae: float
    alpha: float | None
    raters: int
    steps: int


def statistics_of(scores: Floats, others: Floats, weights: Floats) -> Floats:
    """Agreement of two sets of n scores under each of k weightings: (k, 4), as ``STATISTICS``.

    - ``mae``: the mean absolute difference.
    - ``spearman``: Spearman's rank correlation (Spearman 1904) with mean ranks for ties; NaN if
      either side is constant.
    - ``kappa``: Cohen's kappa with quadratic weights (Cohen 1968), over 11 levels: scores are
      rounded to one decimal, halves to the even digit. NaN for fewer than two steps, and if all
      scores have the same level.
    - ``bias``: the mean of ``scores`` minus ``others``.

    Args:
        scores: (n,), from 0 to 1; ``others``: likewise.
        weights: (k, n), whole numbers. Results are NaN if all weights of a row are 0.
    """
    total = weights.sum(axis=1)
    gaps = scores - others
    with np.errstate(divide="ignore", invalid="ignore"):
        mae, bias = weights @ np.abs(gaps) / total, weights @ gaps / total
        kappa = _kappa(_levels(scores), _levels(others), weights, total)
        spearman = _correlation(_ranks(scores, weights), _ranks(others, weights), weights)
    found: Floats = np.column_stack([mae, spearman, kappa, bias])
    return found


def estimate_groups(
    scores: Floats, others: Floats, documents: Indices, groups: Sequence[Indices], resamples: int
) -> list[dict[str, Interval]]:
    """The statistics of each group of steps, with 95% intervals over documents.

    Whole documents, each with its translation, are resampled, and all groups use the same resamples
    (expanded percentile bootstrap, see ``intervals.interval``). Resamples in which a statistic is
    undefined are left out of its interval.

    Args:
        scores: (n,), from 0 to 1; ``others``: likewise.
        documents: (n,), the document of each step, from 0 without gaps.
        groups: for each group, the indices of its steps.

    Returns:
        For each group, an estimate for each name in ``STATISTICS``: without a value if it is
        undefined, without an interval also if there is only one document.
    """
    n, found = len(set(documents.tolist())), []
    for own in groups:
        one, two, at = scores[own], others[own], documents[own]

        def statistic(
            weights: Floats, one: Floats = one, two: Floats = two, at: Indices = at
        ) -> Any:
            return statistics_of(one, two, weights[:, at])

        values, draws = bootstrap(statistic, n, resamples, size=len(scores))
        size = len(set(at.tolist()))
        columns = zip(STATISTICS, values, draws, strict=True)
        found.append({name: bootstrapped(value, column, size) for name, value, column in columns})
    return found


def _kappa(one: Floats, two: Floats, weights: Floats, total: Floats) -> Floats:
    """1 - observed / expected squared difference of levels.

    Computed from moments, which equal the sums over the 11x11 tables of both raters and of chance:
    sum_ij p_i q_j (i - j)^2 = E[i^2] + E[j^2] - 2 E[i] E[j].
    """
    sums = weights @ np.column_stack([one, two, one**2 + two**2, (one - two) ** 2])
    first, second, squares, gaps = sums.T
    expected = total * squares - 2 * first * second
    return np.where((expected > 0) & (total > 1), 1 - total * gaps / expected, np.nan)


def _levels(scores: Floats) -> Floats:
    """Levels from 0 to 10; the inner rounding removes floating-point errors, as in 0.35."""
    return np.rint(np.round(scores * LEVELS, _DIGITS))


def _ranks(values: Floats, weights: Floats) -> Floats:
    """Mid-ranks of n values in each of k weightings, minus their mean: (k, n)."""
    # Means of several answers that differ only in the last bit are ties.
    _, at = np.unique(np.round(values, _DIGITS), return_inverse=True)
    order = np.argsort(at, kind="stable")
    ends = np.searchsorted(at[order], np.arange(at.max(initial=-1) + 1), side="right") - 1
    upto = weights[:, order].cumsum(axis=1)[:, ends]
    tied = np.diff(upto, axis=1, prepend=0.0)
    ranks: Floats = (upto - (tied + weights.sum(axis=1, keepdims=True)) / 2)[:, at]
    return ranks


def _correlation(one: Floats, two: Floats, weights: Floats) -> Floats:
    """Pearson's correlation of (k, n) values whose weighted means are 0."""
    weighted = weights * one
    both = np.einsum("kn,kn->k", weighted, two)
    spread = np.einsum("kn,kn->k", weighted, one)
    spread = spread * np.einsum("kn,kn,kn->k", weights, two, two)
    return np.where(spread > 0, np.clip(both / np.sqrt(spread), -1.0, 1.0), np.nan)


def reliability_of(ratings: Sequence[Mapping[str, float]]) -> Reliability | None:
    """Agreement of raters; None if no step was scored by two of them.

    Args:
        ratings: for each step, its scores by rater.
    """
    shared = [scores for scores in ratings if len(scores) > 1]
    gaps: dict[tuple[str, str], list[float]] = {}
    for scores in shared:
        for one, two in combinations(sorted(scores), 2):
            gaps.setdefault((one, two), []).append(abs(scores[one] - scores[two]))
    if not gaps:
        return None
    means = [math.fsum(each) / len(each) for each in gaps.values()]
    return Reliability(
        mae=math.fsum(means) / len(means),
        alpha=krippendorff_alpha([list(scores.values()) for scores in shared]),
        raters=len({name for pair in gaps for name in pair}),
        steps=len(shared),
    )


def krippendorff_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's alpha for interval data (Krippendorff, Content Analysis, 2004, chapter 11).

    1 - D_o / D_e: D_o is the mean squared difference of two values of the same unit, each unit
    weighted by its number of values; D_e is that of any two values of all units.

    Args:
        units: the values of each unit, from any raters; units with fewer than two values do not
            count.

    Returns:
        1 for full agreement, about 0 for chance, negative for less; None if all values are equal or
        no unit has two values.
    """
    pairable = [unit for unit in units if len(unit) > 1]
    values = [value for unit in pairable for value in unit]
    if not values or min(values) == max(values):
        return None
    observed = math.fsum(_square_gaps(unit) / (len(unit) - 1) for unit in pairable) / len(values)
    expected = _square_gaps(values) / (len(values) * (len(values) - 1))
    return 1 - observed / expected


def _square_gaps(values: Sequence[float]) -> float:
    """The sum of squared differences over all ordered pairs."""
    mean = math.fsum(values) / len(values)
    return 2 * len(values) * math.fsum((value - mean) ** 2 for value in values)

"""Comparison of models and of levels where each sample was asked at the same levels of a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lmms_rpts.stats.intervals import LEVEL, SEED, Estimate, Floats, estimate_mean
from lmms_rpts.stats.permutation import holm, swap_test

# Simulated replications of a ranking.
REPLICATIONS = 10_000
_FILLS = 100


@dataclass(frozen=True, slots=True)
class CrossedTest:
    """A mean difference, tested against samples and levels.

    Attributes:
        difference: its value, with the 95% interval over samples and levels.
        p: its p-value over samples and levels; None if undefined.
        df: degrees of freedom of both; NaN if undefined.
        p_samples: its p-value if only the samples were drawn (a t test of their means).
    """

    difference: Estimate
    p: float | None
    df: float
    p_samples: float | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Models in the order of their means, and how likely another order is.

    Attributes:
        means: the mean of each model, best first.
        turns: for each pair of models (better, worse), the probability that the order turns with
            other levels, and with other levels and samples.
        turns_any: the same two for the order of all models.
        n: number of samples.
    """

    means: Mapping[str, float]
    turns: Mapping[tuple[str, str], tuple[float, float]]
    turns_any: tuple[float, float]
    n: int


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor, such as a wording, compared with the others.

    Attributes:
        value: the mean over samples.
        difference: its mean difference from the mean of the other levels, with its interval over
            samples.
        p: p-value of the difference, corrected for the number of levels (Holm 1979).
        by_sample: for each sample, the difference of its value from that of its other levels; NaN
            if it lacks one of them.
    """

    value: Estimate
    difference: Estimate
    p: float | None
    by_sample: Floats


def crossed_difference(differences: Floats) -> CrossedTest:
    """Whether a mean of paired differences is 0, over samples and levels such as wordings.

    Both are random: the conclusion is about other samples and other wordings. t test of the two-way
    random model: quasi-F with Satterthwaite's degrees of freedom (Clark 1973).

    Args:
        differences: (samples, levels), NaN for no value; see ``_filled``.
    """
    table, missing = _filled(differences)
    n, m = table.shape
    if n < 2 or m < 2:
        value = float(table.mean()) if table.size else None
        return CrossedTest(Estimate(value, None, None, n), None, math.nan, None)
    mean, squares = float(table.mean()), _mean_squares(table, missing)
    variance, df = _error(*squares, n, m)
    error, of_samples = math.sqrt(variance), math.sqrt(squares[0] / (n * m))
    half = _quantile(df) * error
    ends = (mean - half, mean + half) if error > 0 else (None, None)
    return CrossedTest(
        Estimate(mean, *ends, n), _p(mean, error, df), df, _p(mean, of_samples, n - 1)
    )


def ranking(values: Mapping[str, Floats]) -> Ranking:
    """Order of models by their means, and the probability that a replication has another order.

    A replication draws as many other levels, such as wordings, for the same samples, or other
    samples as well. Its means are drawn from their predictive distribution given these values: a
    multivariate t, whose variance is twice that of the means because both have the error (Geisser
    1993; for one difference: Killeen 2005, p_rep). The variances of samples and levels are added as
    in min F' (Clark 1973).

    Args:
        values: for each model (samples, levels), the same for all; NaN for no value. Samples
            without any value of a model do not count.
    """
    names = list(values)
    there = ~np.any([np.isnan(each).all(axis=1) for each in values.values()], axis=0)
    tables = np.stack([_filled(each[there])[0] for each in values.values()])
    means = tables.mean(axis=(1, 2))
    order = np.argsort(-means, kind="stable")
    generator = np.random.default_rng(SEED)
    of_levels = means + _replicated(tables.mean(axis=1), generator)
    of_both = of_levels + _replicated(tables.mean(axis=2), generator)
    draws = [each[:, order] for each in (of_levels, of_both)]

    def turned(*at: int) -> tuple[float, float]:
        wrong = [float((np.diff(each[:, at], axis=1) >= 0).any(axis=1).mean()) for each in draws]
        return wrong[0], wrong[1]

    ranked = [names[at] for at in order]
    pairs = [(i, j) for j in range(len(ranked)) for i in range(j)]
    return Ranking(
        dict(zip(ranked, means[order].tolist(), strict=True)),
        {(ranked[i], ranked[j]): turned(i, j) for i, j in pairs},
        turned(*range(len(ranked))),
        int(there.sum()),
    )


def by_level(values: Floats) -> list[Level]:
    """The mean of each level of a factor, and its difference from the mean of the other levels.

    Samples are random, levels are not: it is about these wordings. The worst of several wordings
    looks worse than it would with other samples.

    Args:
        values: (samples, levels), NaN for no value.
    """
    known = ~np.isnan(values)
    found, p_values = [], []
    for at in range(values.shape[1]):
        others, rest = np.delete(values, at, axis=1), np.delete(known, at, axis=1)
        counts = rest.sum(axis=1)
        mean = np.where(counts > 0, np.where(rest, others, 0).sum(axis=1) / counts.clip(1), np.nan)
        own = values[:, at]
        paired = ~np.isnan(own - mean)
        p_values.append(swap_test(mean[paired], own[paired]))
        found.append((own, own - mean))
    return [
        Level(_mean(own), estimate_mean(difference, bounded=False), p, difference)
        for (own, difference), p in zip(found, holm(p_values), strict=True)
    ]


def _mean(values: Floats) -> Estimate:
    return estimate_mean(values, share=bool(np.isin(values[~np.isnan(values)], (0, 1)).all()))


def _filled(values: Floats) -> tuple[Floats, int]:
    """Missing cells filled by mean + sample + level (Yates 1933), and their number.

    Samples and levels without any value are left out.
    """
    known = ~np.isnan(values)
    values = values[known.any(axis=1)][:, known.any(axis=0)]
    gaps = np.isnan(values)
    table = np.where(gaps, np.nanmean(values) if values.size else 0.0, values)
    for _ in range(_FILLS if gaps.any() else 0):
        rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0)
        table = np.where(gaps, rows + columns - table.mean(), table)
    return table, int(gaps.sum())


def _mean_squares(table: Floats, missing: int) -> tuple[float, float, float, int]:
    """Mean squares of samples, levels and their interaction, and the last one's df."""
    n, m = table.shape
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns + table.mean()
    df = max(1, (n - 1) * (m - 1) - missing)
    return (
        m * float(rows.var(ddof=1)),
        n * float(columns.var(ddof=1)),
        float((rest**2).sum()) / df,
        df,
    )


def _error(
    samples: float, levels: float, both: float, df: int, n: int, m: int
) -> tuple[float, float]:
    """Variance of the mean of a crossed table, and its degrees of freedom."""
    total = max(samples, levels, samples + levels - both)
    spread = samples**2 / (n - 1) + levels**2 / (m - 1) + both**2 / df
    return total / (n * m), (total**2 / spread if spread > 0 else math.nan)


def _replicated(means: Floats, generator: np.random.Generator) -> Floats:
    """Draws of the error of the means of models, whose means by level or sample are (models, k)."""
    k = means.shape[1]
    if k < 2:
        return np.zeros((REPLICATIONS, len(means)))
    normal = generator.standard_normal((REPLICATIONS, k))
    chi = generator.chisquare(k - 1, (REPLICATIONS, 1))
    centred = means - means.mean(axis=1, keepdims=True)
    found: Floats = math.sqrt(2 / k) * (normal @ centred.T) / np.sqrt(chi)
    return found


def _p(mean: float, error: float, df: float) -> float | None:
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(mean) / error)) if error > 0 else None


def _quantile(df: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + LEVEL) / 2))

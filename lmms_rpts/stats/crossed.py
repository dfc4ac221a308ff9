"""Comparison of models and of levels where each sample was asked at the same levels of a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lmms_rpts.stats.intervals import SEED, Estimate, Floats, estimate_mean, t_quantile
from lmms_rpts.stats.measures import divided
from lmms_rpts.stats.permutation import holm, swap_test

# Simulated replications of a ranking.
REPLICATIONS = 10_000
_FILLS = 100
_TIED = 1e-12


class CrossedTest(NamedTuple):
    """A mean difference with its 95% interval, p and degrees of freedom; NaN if undefined."""

    difference: Estimate
    p: float | None
    df: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Means of models, best first, over ``n`` samples, and how likely another order is.

    ``turns``: for each pair (better, worse), the probability that it turns with other levels, and
    with other levels and samples; ``turns_any``: the same two for the order of all models.
    """

    means: Mapping[str, float]
    turns: Mapping[tuple[str, str], tuple[float, float]]
    turns_any: tuple[float, float]
    n: int


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor, such as a wording: its mean, and the difference from other levels.

    ``p``: p-value of the difference, corrected for the number of levels (Holm 1979); ``by_sample``:
    the difference for each sample, NaN if it lacks this level or all others.
    """

    value: Estimate
    difference: Estimate
    p: float | None
    by_sample: Floats


def crossed_difference(values: Floats, baseline: Floats | None = None) -> CrossedTest:
    """Whether the mean, or its difference from a baseline, is 0, over samples and levels.

    Both are random: the conclusion is about other samples and other wordings. t test of the two-way
    random model: quasi-F with Satterthwaite's degrees of freedom (Clark 1973), at least those of
    the fewer of samples and levels.

    Args:
        values: (samples, levels), NaN for no value; see ``_filled``.
        baseline: values of another model for the same samples and levels.
    """
    from scipy.special import stdtr

    tables, gaps = _filled(np.stack([values] if baseline is None else [values, baseline]))
    table = tables[0] if baseline is None else tables[0] - tables[1]
    n, m = table.shape
    value = float(table.mean()) if table.size else None
    undefined = CrossedTest(Estimate(value, None, None, n), None, math.nan)
    if value is None or min(n, m) < 2:
        return undefined
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    free = max(1, (n - 1) * (m - 1) - gaps)
    both = float(((table - rows[:, None] - columns + value) ** 2).sum()) / free
    samples, levels = m * float(rows.var(ddof=1)), n * float(columns.var(ddof=1))
    total = max(samples, levels, samples + levels - both)
    if total < _TIED:
        return undefined
    df = total**2 / (samples**2 / (n - 1) + levels**2 / (m - 1) + both**2 / free)
    df, error = max(min(n, m) - 1, df), math.sqrt(total / (n * m))
    half = t_quantile(df) * error
    p = float(2 * stdtr(df, -abs(value) / error))
    return CrossedTest(Estimate(value, value - half, value + half, n), p, df)


def ranking(values: Mapping[str, Floats]) -> Ranking | None:
    """Order of models by their means, and the probability that a replication has another order.

    A replication draws as many other levels, such as wordings, for the same samples, or other
    samples as well. Its means are drawn from their predictive distribution given these values: a
    multivariate t, whose variance is twice that of the means because both have the error (Geisser
    1993; for one difference: Killeen 2005, p_rep). The variances of samples and levels are added as
    in min F' (Clark 1973). Ties are broken at random: the order of equal models is a coin.

    Args:
        values: for each model (samples, levels), the same for all; NaN for no value. Samples
            and levels without any value of a model do not count.

    Returns:
        None for fewer than two samples or levels.
    """
    names, (tables, _) = list(values), _filled(np.stack(list(values.values())))
    if min(tables.shape) < 2:
        return None
    means = tables.mean(axis=(1, 2))
    order = np.argsort(-means, kind="stable")
    generator = np.random.default_rng(SEED)
    of_levels = means + _replicated(tables.mean(axis=1), generator)
    of_both = of_levels + _replicated(tables.mean(axis=2), generator)
    ties = _TIED * generator.standard_normal(of_both.shape)
    draws = [(each + ties)[:, order] for each in (of_levels, of_both)]

    def turned(*at: int) -> tuple[float, float]:
        wrong = [float((np.diff(each[:, at], axis=1) > 0).any(axis=1).mean()) for each in draws]
        return wrong[0], wrong[1]

    ranked = [names[at] for at in order]
    pairs = [(i, j) for j in range(len(ranked)) for i in range(j)]
    return Ranking(
        dict(zip(ranked, means[order].tolist(), strict=True)),
        {(ranked[i], ranked[j]): turned(i, j) for i, j in pairs},
        turned(*range(len(ranked))),
        tables.shape[1],
    )


def by_level(values: Floats) -> list[Level]:
    """The mean of each level of a factor, and its difference from the mean of the other levels.

    Samples are random, levels are not: it is about these wordings. The worst of several wordings
    looks worse than it would with other samples.

    Args:
        values: (samples, levels), NaN for no value.
    """
    share = bool(np.isin(values[~np.isnan(values)], (0, 1)).all())
    columns, known = range(values.shape[1]), ~np.isnan(values)
    sums, counts = np.nansum(values, axis=1)[:, None], known.sum(axis=1)[:, None]
    others = divided(sums - np.where(known, values, 0.0), counts - known)
    paired = ~np.isnan(values - others)
    tests = [swap_test(others[paired[:, k], k], values[paired[:, k], k]) for k in columns]
    return [
        Level(
            estimate_mean(values[:, k], share=share),
            estimate_mean(values[:, k] - others[:, k], bounded=False),
            p,
            values[:, k] - others[:, k],
        )
        for k, p in zip(columns, holm(tests), strict=True)
    ]


def _filled(values: Floats) -> tuple[Floats, int]:
    """Missing values of (k, samples, levels) filled by sample + level - mean; cells that lack one.

    See Yates 1933. Samples and levels that lack all values of one of k are left out.
    """
    before = None
    while values.shape != before:
        before = values.shape
        values = values[:, ~np.isnan(values).all(axis=2).any(axis=0)]
        values = values[:, :, ~np.isnan(values).all(axis=1).any(axis=0)]
    gaps = np.isnan(values)
    if values.size and gaps.any():
        values = np.where(gaps, np.nanmean(values, axis=(1, 2), keepdims=True), values)
        for _ in range(_FILLS):
            rows, columns, mean = (values.mean(axis, keepdims=True) for axis in (2, 1, (1, 2)))
            values = np.where(gaps, rows + columns - mean, values)
    return values, int(gaps.any(axis=0).sum())


def _replicated(means: Floats, generator: np.random.Generator) -> Floats:
    """Draws of the error of the means of models, whose means by level or sample are (models, k)."""
    models, k = means.shape
    covariance = np.cov(means) * (2 / k)
    normal = generator.multivariate_normal(np.zeros(models), covariance, REPLICATIONS)
    found: Floats = normal * np.sqrt((k - 1) / generator.chisquare(k - 1, (REPLICATIONS, 1)))
    return found

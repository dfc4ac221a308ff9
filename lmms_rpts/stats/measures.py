"""Statistics of many documents as functions of weights, and their bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from lmms_rpts.stats.intervals import (
    SEED,
    Flags,
    Floats,
    Indices,
    Interval,
    bootstrap,
    estimate_mean,
    interval,
)

# Fewer than for means: a measure may have to rank all steps in each resample.
MEASURE_RESAMPLES = 1_000

Counts = Floats | Flags

Statistic = Callable[[Floats], Floats]
"""(k, m) weights of m documents, whole numbers -> (k,) values, NaN where undefined."""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A statistic, and the units that it is based on.

    Attributes:
        counts: (m,), the number of units (steps or chains) that each document adds to it.
            Documents that add none cannot narrow the interval.
        share: whether the statistic is a share. If a share is 0 or 1, all resamples are equal, and
            the interval is the exact one, with the number of clusters.
        centred: whether the interval is shifted by the difference of the value and the mean of the
            resamples: for a statistic that noise increases, because resamples have more noise.
    """

    of: Statistic
    counts: Floats
    share: bool = False
    centred: bool = False


def ratio(over: Counts, under: Counts, share: bool = True) -> Measure:
    """The ratio of the sums of two counts per document, each (m,); NaN for 0 / 0."""
    columns = np.column_stack([over, under]).astype(float)

    def of(weights: Floats) -> Floats:
        top, bottom = (weights @ columns).T
        return divided(top, bottom)

    return Measure(of, columns[:, 1], share)


def estimate_measures(
    measures: Mapping[str, Measure],
    clusters: Indices,
    resamples: int = MEASURE_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Interval]:
    """Measures of the same documents with 95% intervals, all from the same resamples of clusters.

    Expanded percentile bootstrap (see ``intervals.interval``); resamples in which a measure is
    undefined are left out of its interval.

    Args:
        clusters: (m,), the cluster of each document, from 0 without gaps; whole clusters are drawn.

    Returns:
        Estimates by the names of the measures: without a value if the measure is undefined, without
        an interval if fewer than two clusters add units to it; ``n`` is its number of units.
    """
    if not measures:
        return {}
    values, draws = bootstrap(
        lambda weights: np.column_stack([each.of(weights) for each in measures.values()]),
        len(clusters),
        resamples,
        seed,
        clusters,
    )
    return {
        name: _estimate(measure, float(value), drawn, clusters)
        for (name, measure), value, drawn in zip(measures.items(), values, draws, strict=True)
    }


def divided(top: Floats, bottom: Floats) -> Floats:
    """The quotient; NaN if the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(bottom > 0, top / bottom, np.nan)
    return found


def _estimate(measure: Measure, value: float, draws: Floats, clusters: Indices) -> Interval:
    n = round(float(measure.counts.sum()))
    if math.isnan(value):
        return Interval(None, None, None, n)
    adding = len(np.unique(clusters[measure.counts > 0]))
    low, high = interval(draws, adding)
    if measure.share and value in (0.0, 1.0) and adding > 1:
        exact = estimate_mean(np.full(adding, value), share=True)
        low, high = exact.low, exact.high
    if measure.centred and low is not None and high is not None:
        excess = float(np.nanmean(draws)) - value
        low, high = max(0.0, low - excess), max(0.0, high - excess)
    return Interval(value, low, high, n)

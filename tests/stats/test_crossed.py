"""Tests over samples and levels, rankings and single levels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from benchmarks.instability_coverage import rankings, two_models
from scipy.stats import ttest_1samp

from lmms_rpts.stats.crossed import by_level, crossed_difference, ranking
from lmms_rpts.stats.intervals import Floats
from tests.support.tables import table


def crossed(seed: int, of_levels: float = 0.1, n: int = 40, levels: int = 5) -> Floats:
    of = np.random.default_rng(seed)
    rows, columns = 0.2 * of.standard_normal((n, 1)), of_levels * of.standard_normal((1, levels))
    found: Floats = 0.1 + rows + columns + 0.1 * of.standard_normal((n, levels))
    return found


def test_difference_by_hand() -> None:
    """Mean squares 12.25, 0.25 and 0.25 with 1, 1 and 1 degrees of freedom."""
    found = crossed_difference(np.array([[1.0, 2.0], [5.0, 5.0]]))
    assert found.difference.value == 3.25
    # Samples: 2 * ((1.5 - 3.25)**2 + (5 - 3.25)**2) = 12.25; levels and both: 0.25.
    variance = 12.25 / 4
    assert found.df == 1  # 0.999 by Satterthwaite
    assert found.p == pytest.approx(2 * (0.5 - math.atan(3.25 / variance**0.5) / math.pi), abs=1e-3)


def test_levels_widen_the_interval() -> None:
    """Wordings that move the difference count, and do not if only samples are drawn."""
    same, moved = (crossed_difference(crossed(1, of_levels)) for of_levels in (0.0, 0.2))
    assert same.difference.n == moved.difference.n == 40
    assert (moved.difference.high or 0) - (moved.difference.low or 0) > 2 * (
        (same.difference.high or 0) - (same.difference.low or 0)
    )
    assert moved.df < 8 < same.df
    alone = [ttest_1samp(crossed(1, each).mean(axis=1), 0).pvalue for each in (0.0, 0.2)]
    assert (same.p or 0) < 1.5 * alone[0] < 1.5 * alone[1] < (moved.p or 0)


def test_level_of_the_test() -> None:
    of_samples_only = two_models(0.1, 400)
    # 400 tests at 0.05: 36 or more have a probability of 0.001.
    assert of_samples_only[0] <= 35 / 400
    assert of_samples_only[1] > 0.3
    assert two_models(0.0, 400)[0] <= 35 / 400


def test_missing_values() -> None:
    """A missing cell changes little, and takes no sample with it."""
    whole = crossed(2)
    some = whole.copy()
    some[3, 2] = math.nan
    some = np.vstack([some, np.full(5, math.nan)])
    first, second = crossed_difference(whole), crossed_difference(some)
    assert second.difference.n == 40
    assert second.difference.value == pytest.approx(first.difference.value, abs=0.003)
    assert second.difference.low == pytest.approx(first.difference.low, abs=0.01)
    # The value that an additive model has there is no information.
    additive = np.add.outer(np.arange(6.0), np.arange(4.0))
    less = additive.copy()
    less[2, 3] = math.nan
    assert crossed_difference(less).difference.value == pytest.approx(additive.mean())


@table(
    "values",
    np.empty((0, 0)),
    np.full((3, 2), math.nan),
    np.ones((1, 4)),
    np.ones((4, 1)),
    np.zeros((3, 3)),
    # Neither samples nor levels differ on average.
    np.array([[0.0, 1.0], [1.0, 0.0]]),
)
def test_no_test(values: Floats) -> None:
    found = crossed_difference(values)
    assert (found.difference.low, found.p) == (None, None)
    assert ranking({"a": values, "b": values}) is None or min(values.shape) > 1


def test_at_least_one_degree_of_freedom() -> None:
    """Satterthwaite's formula gives 0.2 here, and an interval of 256,000."""
    found = crossed_difference(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    assert found.df == 1
    assert (found.difference.high or 9) < 5


def test_ranking() -> None:
    generator = np.random.default_rng(5)
    base = 0.3 * generator.standard_normal((60, 1))
    values = {
        name: mean + base + 0.02 * generator.standard_normal((60, 5))
        for name, mean in (("b", 0.5), ("a", 0.9), ("c", 0.5))
    }
    found = ranking(values)
    assert found is not None
    best, second, third = found.means
    assert best == "a"
    assert found.n == 60
    assert max(found.turns["a", second]) < 0.001
    # Equal models: a replication turns the order in up to half of the cases.
    turned = found.turns[second, third]
    assert 0.1 < turned[0] < 0.5
    assert found.turns_any == pytest.approx(turned, abs=0.001)
    # A constant difference is certain; the order of equal models is a coin, not a turn.
    for difference, turns in ((0.1, 0.0), (0.0, 0.5)):
        pair = ranking({"a": values["a"], "b": values["a"] - difference})
        assert pair is not None
        assert pair.turns["a", "b"] == pytest.approx((turns, turns), abs=0.02)


def test_ranking_with_missing_values() -> None:
    """Levels and samples that a model lacks are left out for all, and what they leave empty."""
    first, second = crossed(1), crossed(2)
    second[:, 4] = math.nan
    first[0] = math.nan
    first[1, :4] = math.nan
    found = ranking({"a": first, "b": second})
    assert found is not None
    assert found.n == 38
    assert found.means["a"] == pytest.approx(first[2:, :4].mean())
    first[:20] = second[20:] = math.nan
    assert ranking({"a": first, "b": second}) is None


def test_ranking_predicts_replications() -> None:
    predicted, seen = rankings(300)
    assert predicted == pytest.approx(seen, abs=0.1)


@table(
    # mean, difference from the others
    "values, means, differences",
    ([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]], (0.75, 0.5, 0.0), (0.5, 0.125, -0.625)),
    # The second sample lacks a level; the third has one only.
    ([[1, 0, 0], [1, math.nan, 0], [math.nan, 1, math.nan]], (1.0, 0.5, 0.0), (1.0, -0.5, -0.75)),
)
def test_by_level(
    values: Sequence[Sequence[float]], means: Sequence[float], differences: Sequence[float]
) -> None:
    found = by_level(np.array(values, dtype=float))
    assert [each.value.value for each in found] == pytest.approx(means)
    assert [each.difference.value for each in found] == pytest.approx(differences)


def test_the_worst_level() -> None:
    values = np.ones((20, 5))
    values[:12, 3] = 0.0
    values[15, 1] = 0.0
    found = by_level(values)
    p = [each.p for each in found]
    assert p[3] is not None
    assert p[3] < 0.01
    assert np.nonzero(found[3].by_sample < -0.5)[0].tolist() == list(range(12))
    # One sample that is wrong with one wording is nothing.
    assert p[1] is not None
    assert p[1] > 0.1

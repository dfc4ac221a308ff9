"""Intervals: published values, those of scipy, and the properties that callers rely on."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmms_rpts.stats.intervals import (
    Floats,
    Interval,
    bootstrap,
    estimate_mean,
    interval,
    resampled,
    resampled_means,
)
from tests.support.tables import table


@table(
    "right, n, low, high",
    # Newcombe (1998), Statistics in Medicine 17, table I, method 5.
    (81, 263, 0.2527, 0.3676),
    (15, 148, 0.0578, 0.1617),
    (0, 20, 0.0000, 0.1684),
    (1, 29, 0.0009, 0.1776),
    (20, 20, 0.8316, 1.0000),
)
def test_a_share_has_the_exact_interval(right: int, n: int, low: float, high: float) -> None:
    found = estimate_mean([1.0] * right + [0.0] * (n - right), share=True)
    assert (found.value, found.n) == (pytest.approx(right / n), n)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


@given(n=st.integers(2, 300), data=st.data())
def test_the_exact_interval_is_scipys(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    found = estimate_mean([True] * right + [0] * (n - right), share=True)
    expected = stats.binomtest(right, n).proportion_ci(0.95, method="exact")
    assert found.low == pytest.approx(expected.low, abs=1e-9)
    assert found.high == pytest.approx(expected.high, abs=1e-9)


@given(st.lists(st.floats(0, 9), min_size=2, max_size=60))
def test_means_of_counts_have_students_interval(values: list[float]) -> None:
    found = estimate_mean(values, bounded=False)
    error = stats.sem(values)
    if error < 1e-10:
        assert (found.low, found.high) == (None, None)
    elif found.low is not None and found.high is not None:
        expected = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=error)
        assert found.low == pytest.approx(max(0.0, expected[0]), abs=1e-9)
        assert found.high == pytest.approx(expected[1], abs=1e-9)


@table(
    "values, low, high",
    # Equal scores c: the lower limit adds 0, and is c (n - t) / (n + 1); t(20) = 2.086,
    # t(7) = 2.365. The upper limit is its mirror image.
    ([1.0] * 20, 17.914 / 21, 1.0),
    ([0.0] * 20, 0.0, 3.086 / 21),
    ([0.5] * 7, 0.5 * 4.635 / 8, 1 - 0.5 * 4.635 / 8),
    ([0.3], 0.0, 1.0),
    # One score differs, so the added values are half way to the bounds. 0, 0, 1, 1, 1, 1: mean 2/3,
    # error sqrt(4/3 / 30) = 0.2108, t(5) = 2.571.
    ([1, 1, 1, 1, 0], 0.6667 - 2.571 * 0.2108, 1.0),
    # 0.25 and the scores: mean 0.525, squares 0.21875; 0.95 and the scores: 0.6417, 0.24208.
    ([0.5, 0.5, 0.5, 0.5, 0.9], 0.525 - 2.571 * 0.08539, 0.64167 + 2.571 * 0.08983),
)
def test_the_interval_of_scores_by_hand(values: list[float], low: float, high: float) -> None:
    found = estimate_mean(values)
    assert (found.low, found.high) == (pytest.approx(low, abs=2e-4), pytest.approx(high, abs=2e-4))


@given(st.lists(st.sampled_from((0.0, 0.4, 1.0)) | st.floats(0, 1), min_size=1, max_size=40))
def test_intervals_of_scores_hold_the_mean_and_are_symmetric(scores: list[float]) -> None:
    found, mirror = estimate_mean(scores), estimate_mean([1 - each for each in scores])
    low, value, high = (each or 0.0 for each in (found.low, found.value, found.high))
    assert 0 <= low <= value <= high <= 1
    assert (mirror.low, mirror.high) == pytest.approx((1 - high, 1 - low), abs=1e-6)
    backwards = estimate_mean(scores[::-1])
    assert (backwards.low, backwards.high) == pytest.approx((low, high), abs=1e-6)


@table("scores", [1.0], [0.0, 1.0], [0.9, 0.4, 0.7], [1, 1, 1, 0.4])
def test_intervals_of_scores_narrow_with_more_of_them(scores: list[float]) -> None:
    widths = [estimate_mean(scores * times) for times in (1, 2, 5, 20, 100)]
    sizes = [(each.high or 0) - (each.low or 0) for each in widths]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.2 * sizes[0]


def test_many_different_scores_have_about_students_interval() -> None:
    scores = np.random.default_rng(0).beta(4, 2, 200)
    found = estimate_mean(scores)
    expected = stats.t.interval(0.95, 199, loc=scores.mean(), scale=stats.sem(scores))
    assert (found.low, found.high) == pytest.approx(expected, abs=0.006)


def test_equal_counts_have_no_interval_and_equal_shares_have_one() -> None:
    assert estimate_mean([3.0] * 7, bounded=False) == Interval(3.0, None, None, 7)
    assert estimate_mean([0.0] * 7, bounded=False) == Interval(0.0, None, None, 7)
    # 0.025 to the power of 1 / n
    assert estimate_mean([1.0] * 7, share=True).low == pytest.approx(0.5904, abs=1e-4)
    assert estimate_mean([1.0], share=True).low == pytest.approx(0.025, abs=1e-4)


def test_translations_are_no_documents_of_their_own() -> None:
    """Each value twice, as a cluster: the interval is the same as without duplicates."""
    generator = np.random.default_rng(0)
    for share in (False, True):
        values = generator.random(30) if not share else (generator.random(30) < 0.7).astype(float)
        twice = np.concatenate([values, values])
        clusters = np.concatenate([np.arange(30), np.arange(30)])
        once, both = estimate_mean(values, share=share), estimate_mean(twice, clusters, share)
        assert (both.value, both.n) == (pytest.approx(once.value), 60)
        assert both.low == pytest.approx(once.low)
        assert both.high == pytest.approx(once.high)
        assert both.low < estimate_mean(twice, share=share).low
    together = np.array([0, 0])
    assert estimate_mean([0.1, 0.9], together) == Interval(pytest.approx(0.5), 0.0, 1.0, 2)
    counts = estimate_mean([1, 9], together, bounded=False)
    assert counts == Interval(pytest.approx(5), None, None, 2)


@table("n, p, translated", (10, 0.9, False), (20, 0.95, False), (60, 0.98, False), (20, 0.9, True))
def test_intervals_cover_the_mean_of_mostly_equal_scores(
    n: int, p: float, translated: bool
) -> None:
    """Most scores are 1; Student's t interval covers the mean in 64 to 89 of 100 samples."""
    generator, covered, runs = np.random.default_rng(n), 0, 1000
    for _ in range(runs):
        values = generator.choice([1, 0.4, 0], n, p=[p, (1 - p) * 0.6, (1 - p) * 0.4])
        clusters = np.tile(np.arange(n), 2) if translated else None
        found = estimate_mean(np.tile(values, 2) if translated else values, clusters)
        covered += (found.low or 0) <= p + (1 - p) * 0.24 <= (found.high or 0)
    assert covered / runs >= 0.93


@given(st.lists(st.none() | st.just(math.nan) | st.floats(0, 1), max_size=40))
def test_documents_without_a_value_change_nothing(values: list[float | None]) -> None:
    there = [each for each in values if each is not None and not math.isnan(each)]
    found = estimate_mean(values)
    assert found == estimate_mean(np.array(there))
    assert found.n == len(there)


@table(
    "values, expected",
    ([], Interval(None, None, None, 0)),
    (np.array([]), Interval(None, None, None, 0)),
    ([None, math.nan], Interval(None, None, None, 0)),
    ([3.0], Interval(3.0, None, None, 1)),
    ([None, 3.0, math.nan], Interval(3.0, None, None, 1)),
)
def test_fewer_than_two_counts_have_no_interval(values: object, expected: Interval) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimate_mean(values) == expected  # type: ignore[arg-type]


@table("n", 0, 1, 2, 7, 500)
@table("resamples", 0, 1, 30)
def test_a_resample_has_as_many_documents_as_there_are(n: int, resamples: int) -> None:
    blocks = list(resampled(n, resamples))
    weights = np.concatenate([np.empty((0, n)), *blocks])
    assert weights.shape == (resamples, n)
    assert (weights.sum(axis=1) == n).all()
    assert (weights == weights.round().clip(0)).all()
    if n > 7 and resamples > 1:
        assert not np.array_equal(weights, next(resampled(n, resamples, seed=2)))


def test_a_statistic_is_drawn_once_for_each_resample() -> None:
    def numbers(weights: Floats) -> Floats:
        return weights @ np.arange(10.0).reshape(5, 2)

    whole, draws = bootstrap(numbers, 5, 30, size=100_000_000)
    assert whole.tolist() == [20, 25]
    assert np.array_equal(draws, numbers(next(resampled(5, 30))).T)


def test_resamples_of_many_documents_come_in_blocks() -> None:
    blocks = list(resampled(300_000, 13))
    assert [len(block) for block in blocks] == [6, 6, 1]
    assert all((block.sum(axis=1) == 300_000).all() for block in blocks)
    assert not (blocks[0][0] == blocks[1][0]).all(), "no block repeats another"


def test_resamples_draw_each_document_as_often_and_independently() -> None:
    n, resamples = 20, 20_000
    weights = np.concatenate(list(resampled(n, resamples)))
    # Multinomial: mean 1, variance 1 - 1/n, covariance -1/n.
    assert np.abs(weights.mean(axis=0) - 1).max() < 5 * math.sqrt(1 / resamples)
    covariance = np.cov(weights, rowvar=False)
    expected = np.eye(n) - 1 / n
    assert np.abs(covariance - expected).max() < 0.05


def test_clusters_are_drawn_whole() -> None:
    clusters = np.array([0, 1, 0, 2, 1])
    for weights in resampled(5, 50, clusters=clusters):
        assert (weights[:, 0] == weights[:, 2]).all()
        assert (weights[:, 1] == weights[:, 4]).all()
        assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()


def test_the_interval_of_few_clusters_is_wider() -> None:
    draws = np.random.default_rng(0).normal(size=20_000)
    plain, few, many = interval(draws), interval(draws, 5), interval(draws, 5000)
    # Hesterberg (2015): for 5 values, the normal quantile at sqrt(5/4) * t(4) = 3.104.
    assert few[1] == pytest.approx(stats.norm.ppf(stats.norm.cdf(3.104)), abs=0.2)
    assert few[1] > plain[1] > 0
    assert many[1] == pytest.approx(plain[1], abs=0.02)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4), st.floats(0, 1))
def test_resampled_means_are_those_of_a_loop(seed: int, n: int, m: int, gaps: float) -> None:
    generator = np.random.default_rng(seed)
    values = generator.random((n, m))
    values[generator.random((n, m)) < gaps] = np.nan
    weights = next(resampled(n, 9, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = resampled_means(values, weights)
    assert found.shape == (9, m)
    for row, drawn in enumerate(weights):
        repeated = np.repeat(values, drawn.astype(int), axis=0)
        for column in range(m):
            there = repeated[~np.isnan(repeated[:, column]), column]
            expected = there.mean() if len(there) else math.nan
            assert found[row, column] == pytest.approx(expected, nan_ok=True)


@table(
    "draws, level, expected",
    (range(101), 0.95, (2.5, 97.5)),
    (range(101), 0.5, (25.0, 75.0)),
    ([*range(101), math.nan], 0.95, (2.5, 97.5)),
    ([3.0], 0.95, (None, None)),
    ([], 0.95, (None, None)),
    ([math.nan, math.nan], 0.95, (None, None)),
)
def test_the_middle_of_draws(
    draws: object, level: float, expected: tuple[float | None, float | None]
) -> None:
    assert interval(list(draws), level=level) == pytest.approx(expected)  # type: ignore[call-overload]

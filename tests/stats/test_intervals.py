"""Intervals: published values, those of scipy, and the properties that callers rely on."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmms_rpts.stats.intervals import Estimate, estimate_mean, interval, resampled, resampled_means
from tests.support.tables import table


@table(
    "right, n, low, high",
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3.
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0000, 0.1611),
    (1, 29, 0.0061, 0.1718),
    (20, 20, 0.8389, 1.0000),
)
def test_a_share_has_wilsons_interval(right: int, n: int, low: float, high: float) -> None:
    found = estimate_mean([1.0] * right + [0.0] * (n - right), share=True)
    assert (found.value, found.n) == (pytest.approx(right / n), n)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


@given(n=st.integers(2, 300), data=st.data())
def test_wilsons_interval_is_scipys(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    found = estimate_mean([1.0] * right + [0.0] * (n - right), share=True)
    expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert found.low == pytest.approx(expected.low, abs=1e-9)
    assert found.high == pytest.approx(expected.high, abs=1e-9)


def test_wilsons_interval_takes_whole_numbers_and_truth_values_for_shares() -> None:
    flags, numbers = [True, False, 1, 0, None], [1.0, 0.0, 1.0, 0.0]
    assert estimate_mean(flags, share=True) == estimate_mean(numbers, share=True)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=60))
def test_means_have_students_interval(values: list[float]) -> None:
    found = estimate_mean(values)
    error = stats.sem(values)
    if error < 1e-10:
        assert (found.low, found.high) == (None, None)
        return
    expected = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=error)
    if found.low is not None and found.high is not None:
        assert found.low == pytest.approx(max(0.0, expected[0]), abs=1e-9)
        assert found.high == pytest.approx(min(1.0, expected[1]), abs=1e-9)


def test_the_interval_of_a_mean_by_hand() -> None:
    # Mean 0.4, standard error sqrt(0.08 / 2) = 0.2, one degree of freedom: t = 12.7; and
    # 0.5, 0.5, 0.8: mean 0.6, standard error 0.1, two degrees: t = 4.303.
    assert estimate_mean([0.2, 0.6]) == Estimate(pytest.approx(0.4), 0.0, 1.0, 2)
    found = estimate_mean([0.5, 0.5, 0.8])
    assert (found.low, found.high) == (pytest.approx(0.1697, abs=1e-4), 1.0)


def test_equal_values_have_no_interval() -> None:
    """Equal values give no estimate of the spread; shares of equal values do have an interval."""
    assert estimate_mean([0.5] * 7) == Estimate(0.5, None, None, 7)
    assert estimate_mean([1.0] * 7, share=True).low == pytest.approx(0.6457, abs=1e-4)


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
    assert estimate_mean([0.1, 0.9], np.array([0, 0])) == Estimate(
        pytest.approx(0.5), None, None, 2
    )


@table("n, spread", (10, False), (40, False), (40, True))
def test_intervals_hold_what_they_promise(n: int, spread: bool) -> None:
    """About 95 of 100 intervals cover the truth, for scores near the top and correlated pairs."""
    generator, held, runs = np.random.default_rng(n), 0, 1000
    for _ in range(runs):
        values = generator.beta(4, 2, n)
        clusters = None
        if spread:
            values = np.concatenate([values, values])
            clusters = np.concatenate([np.arange(n), np.arange(n)])
        found = estimate_mean(values, clusters)
        assert found.low is not None and found.high is not None  # noqa: PT018
        held += found.low <= 4 / 6 <= found.high
    assert 0.92 <= held / runs <= 0.98


def test_the_same_values_have_the_same_interval_at_every_call() -> None:
    values = np.random.default_rng(0).random(30)
    assert estimate_mean(values) == estimate_mean(list(values))
    np.random.seed(1)
    assert estimate_mean(values) == estimate_mean(values)


@table(
    "values, expected",
    ([], Estimate(None, None, None, 0)),
    (np.array([]), Estimate(None, None, None, 0)),
    ([None, math.nan], Estimate(None, None, None, 0)),
    ([0.3], Estimate(0.3, None, None, 1)),
    ([1.0], Estimate(1.0, None, None, 1)),
    ([None, 0.3, math.nan], Estimate(0.3, None, None, 1)),
)
def test_fewer_than_two_values_have_no_interval(values: object, expected: Estimate) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimate_mean(values) == expected  # type: ignore[arg-type]


@given(st.lists(st.none() | st.just(math.nan) | st.floats(0, 1), max_size=40))
def test_documents_without_a_value_change_nothing(values: list[float | None]) -> None:
    there = [each for each in values if each is not None and not math.isnan(each)]
    found = estimate_mean(values)
    assert found == estimate_mean(there)
    assert found.n == len(there)
    if found.low is not None and found.high is not None:
        assert found.low <= found.high
        assert found.low >= 0
        assert found.high <= 1


@table("n", 0, 1, 2, 7, 500)
@table("resamples", 0, 1, 30)
def test_a_resample_has_as_many_documents_as_there_are(n: int, resamples: int) -> None:
    blocks = list(resampled(n, resamples))
    weights = np.concatenate([np.empty((0, n)), *blocks])
    assert weights.shape == (resamples, n)
    assert (weights.sum(axis=1) == n).all()
    assert (weights >= 0).all()
    assert (weights == weights.round()).all()


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


def test_another_seed_draws_other_resamples_and_the_same_the_same() -> None:
    one, same, other = (next(resampled(50, 10, seed)) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


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
        for column in range(m):
            there = [
                values[at, column]
                for at, times in enumerate(drawn)
                for _ in range(int(times))
                if not math.isnan(values[at, column])
            ]
            expected = sum(there) / len(there) if there else math.nan
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
    low, high = interval(list(draws), level=level)  # type: ignore[call-overload]
    assert (low, high) == (
        pytest.approx(expected[0]) if expected[0] is not None else None,
        pytest.approx(expected[1]) if expected[1] is not None else None,
    )

"""Reliability bins and the calibration error."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.stats.step_measures import reliability_bins
from tests.support.labelled import estimate_all, judged, steps_of
from tests.support.tables import table


@table(
    "scores, labels, expected",
    ([0, 0.5, 1, 1, 0.5, 0.5], "-++-+-", [(0, 0, 1), (0.5, 2 / 3, 3), (1, 0.5, 2)]),
    ([0.3], "+", [(0.3, 1, 1)]),
    ([None, 0.3], "++", [(0.3, 1, 1)]),
    ([None], "+", []),
    ([], "", []),
    # Eleven scores in ten bins: the centres 0.5 to 10.5, times 10 / 11, put 5 and 6 together.
    (
        [at / 10 for at in range(11)],
        "-" * 5 + "+" * 6,
        [(at / 10, 0, 1) for at in range(5)]
        + [(0.55 if at == 5 else at / 10, 1, 1 + (at == 5)) for at in (5, 7, 8, 9, 10)],
    ),
)
def test_reliability_bins(
    scores: list[float | None], labels: str, expected: list[tuple[float, float, int]]
) -> None:
    pairs = zip(labels, scores, strict=True)
    found = reliability_bins(steps_of([judged(label, score) for label, score in pairs]))
    assert [(score, sound.value, sound.n) for score, sound in found] == [
        pytest.approx(each) for each in expected
    ]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.integers(1, 12))
def test_bins_never_part_ties(scores: list[int], bins: int) -> None:
    steps = steps_of([judged("+", score / 40) for score in scores])
    found = reliability_bins(steps, bins)
    distinct, counts = np.unique(scores, return_counts=True)
    assert len(found) <= bins or len(found) == len(distinct)
    assert len(found) == len(distinct) or len(distinct) > bins
    ends = np.cumsum([sound.n for _, sound in found])
    assert set(ends.tolist()) <= set(np.cumsum(counts).tolist())
    assert ends[-1] == len(scores)
    assert all(one < two for (one, _), (two, _) in pairwise(found))


def test_bins_of_many_scores_are_of_one_size() -> None:
    steps = steps_of([judged("+", at / 1000) for at in range(200)])
    assert [sound.n for _, sound in reliability_bins(steps)] == [20] * 10


def test_as_many_scores_as_bins_have_one_each() -> None:
    steps = steps_of([judged("+", score) for score in (0, 0.5, *[1] * 8)])
    assert [sound.n for _, sound in reliability_bins(steps, 3)] == [1, 1, 8]
    assert [sound.n for _, sound in reliability_bins(steps, 2)] == [2, 8]


def test_bins_have_intervals_over_questions() -> None:
    shared = [judged("+", 0.9, question=f"q{at % 20}") for at in range(40)]
    ((_, sound),) = reliability_bins(steps_of(shared))
    assert sound.low == pytest.approx(0.025 ** (1 / 20))


def test_the_interval_of_the_calibration_error_holds_its_value() -> None:
    """Resamples are noisier than the data, so their error is larger: here by about half."""
    for seed in range(20):
        score = np.random.default_rng(seed).random(100)
        sound = np.random.default_rng(seed + 20).random(100) < score
        pairs = zip(sound, score.tolist(), strict=True)
        steps = steps_of([judged("+" if label else "-", each) for label, each in pairs])
        found = estimate_all(steps, resamples=100)["ece"]
        assert found.low is not None
        assert found.high is not None
        assert found.value is not None
        assert 0 <= found.low < found.value < found.high

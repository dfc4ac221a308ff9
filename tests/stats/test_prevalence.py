"""The corrected share of wrong steps: manual values, edge cases, coverage of its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.stats.intervals import SEED, interval, resampled
from lmms_rpts.stats.prevalence import Rates, Tally, corrected, rates, rogan_gladen, tally
from tests.support.tables import table

SHARE = st.floats(0, 1)


@table(
    "share, sensitivity, specificity, expected",
    # (0.4 + 0.9 - 1) / (0.8 + 0.9 - 1) = 0.3 / 0.7
    (0.4, 0.8, 0.9, 3 / 7),
    (0.25, 1.0, 1.0, 0.25),  # a perfect judge
    (0.1, 0.8, 0.9, 0.0),  # the share that a judge calls wrong if no step is
    (0.05, 0.8, 0.9, -0.05 / 0.7),  # even less
    (0.8, 0.8, 0.9, 1.0),  # the share that it calls wrong if all steps are
    (0.5, 0.6, 0.6, 0.5),
)
def test_by_hand(share: float, sensitivity: float, specificity: float, expected: float) -> None:
    assert rogan_gladen(share, sensitivity, specificity) == pytest.approx(expected)


@given(true=SHARE, sensitivity=st.floats(0.56, 1), specificity=st.floats(0.56, 1))
def test_the_correction_inverts_the_judges_error_rates(
    true: float, sensitivity: float, specificity: float
) -> None:
    called = true * sensitivity + (1 - true) * (1 - specificity)
    assert rogan_gladen(called, sensitivity, specificity) == pytest.approx(true, abs=1e-9)


def test_steps_are_counted_by_cluster() -> None:
    found = tally(["b", "a", "b", "b"], [True, False, False, True])
    assert (found.hits.tolist(), found.sizes.tolist()) == ([2, 0], [3, 1])
    assert (found.share, found.clusters) == (0.5, 2)
    assert tally([], []).share is None
    # Question 1: a sound step at 0.5 passes, a wrong one at 0.49 is found. Question 2: a wrong one
    # at 0.5 is missed, a sound one at 0.1 is flagged.
    known = rates([1, 1, 2, 2], [True, False, False, True], [0.5, 0.49, 0.5, 0.1])
    assert (known.found.share, known.passed.share, known.questions) == (0.5, 0.5, 2)
    assert known.found.hits.tolist() == known.passed.hits.tolist() == [1, 0]


def judge(sensitivity: float, specificity: float, questions: int = 20) -> Rates:
    """The rates of a judge on ten wrong and ten sound steps of each question."""
    hits = [np.full(questions, 10 * rate) for rate in (sensitivity, specificity)]
    found, passed = (Tally(each, np.full(questions, 10.0)) for each in hits)
    return Rates(found, passed, resamples=400)


def called(*hits: float, of: float = 10.0) -> Tally:
    """A tally of the flagged steps of each document, out of ten by default."""
    return Tally(np.asarray(hits, dtype=float), np.full(len(hits), of))


def test_a_run_by_hand() -> None:
    """Three of ten and five of ten: 0.4; the interval reaches from one document to the other."""
    found = corrected(called(3, 5), judge(0.8, 0.9))
    assert (found.sensitivity, found.specificity, found.refused) == (0.8, 0.9, None)
    assert found.value == pytest.approx(3 / 7)
    # The judge's rates are the same in each question, so only documents vary: 0.3 and 0.5 are the
    # ends, (0.3 - 0.1) / 0.7 and (0.5 - 0.1) / 0.7.
    assert (found.low, found.high) == (pytest.approx(2 / 7), pytest.approx(4 / 7))


@table(
    "hits, sensitivity, specificity, value, interval",
    ((0, 0, 0), 0.8, 0.9, 0.0, False),  # no step is called wrong: 0 in every resample
    ((10, 10, 10), 0.8, 0.9, 1.0, False),
    ((4,), 0.8, 0.9, 3 / 7, False),  # a single document
    ((2, 4, 6), 1.0, 1.0, 0.4, True),
)
def test_edges(
    hits: Any, sensitivity: float, specificity: float, value: float, interval: bool
) -> None:
    found = corrected(called(*hits), judge(sensitivity, specificity))
    assert found.value == pytest.approx(value)
    assert (found.low is not None, found.high is not None) == (interval, interval)


def test_one_question_gives_no_interval() -> None:
    found = corrected(called(2, 4, 6), judge(0.8, 0.9, questions=1))
    assert found.value == pytest.approx(3 / 7)
    assert (found.low, found.high) == (None, None)


@table(
    "tally, known, reason",
    (called(4, 4), judge(0.6, 0.5), "sensitivity + specificity is 1.10"),
    (called(4, 4), judge(0.3, 0.8), "sensitivity + specificity is 1.10"),  # except for the last bit
    (called(4, 4), judge(0.1, 0.2), "sensitivity + specificity is 0.30"),
    (called(4, 4), judge(1.0, 0.0), "sensitivity + specificity is 1.00"),
    (called(), judge(0.8, 0.9), "no step was scored"),
    (called(0, of=0.0), judge(0.8, 0.9), "no step was scored"),
    (called(4), rates([1, 2], [True, True], [0.1, 0.9]), "no wrong step"),
    (called(4), rates([1, 2], [False, False], [0.1, 0.9]), "no sound step"),
    (called(4), rates([], [], []), "no wrong step"),
)
def test_what_is_refused(tally: Tally, known: Rates, reason: str) -> None:
    found = corrected(tally, known)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert reason in (found.refused or "")


def test_the_interval_is_0_to_1_for_a_judge_near_chance() -> None:
    """Resamples in which the judge is no better than chance count as 0 and as 1."""
    g = np.random.default_rng(3)
    sound = (g.random(200) < 0.5).tolist()
    guessed = [0.2 if g.random() < (0.43 if each else 0.57) else 0.8 for each in sound]
    known = rates([at // 2 for at in range(200)], sound, guessed, resamples=400)
    found = corrected(called(*range(11)), known)
    assert (found.low, found.high) == (0.0, 1.0)


VARIED = Tally(np.array([8.0, 9, 7, 10, 8, 6]), np.full(6, 10.0))
RARE = Tally(np.array([4.0, 3, 5, 4, *[0.0] * 26]), np.array([5.0, 4, 5, 5, *[0.0] * 26]))
SURE = Tally(np.array([9.0, 10, 8] * 10), np.full(30, 10.0))


@table(
    "run, found, passed, never",
    # As many documents as questions, so the same seed would give them the same resamples.
    (called(4, 5, 6, 4, 7, 5), VARIED, Tally(VARIED.hits[::-1], VARIED.sizes), 0),
    # Wrong steps in 4 of 30 questions: (26/30)^30 = 1.4% of the resamples have none.
    (called(*[4, 5, 6, 4, 7] * 6), RARE, SURE, 1),
)
def test_the_interval_is_that_of_a_slow_loop(
    run: Tally, found: Tally, passed: Tally, never: int
) -> None:
    """Run and judge are drawn independently; uninformative resamples are 0 and 1 in turn."""

    def share(tally: Tally, drawn: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        size = float(drawn @ tally.sizes)
        return float(drawn @ tally.hits) / size if size else np.nan

    draws, uninformative, n = [], 0, run.clusters
    of_run = next(resampled(n, 400, SEED + 1))
    for chosen, questions in zip(of_run, next(resampled(n, 400, SEED)), strict=True):
        shares = share(found, questions), share(passed, questions)
        if sum(shares) > 1:
            draws.append(rogan_gladen(share(run, chosen), *shares))
        else:
            draws.append(uninformative % 2)
            uninformative += 1
    assert (uninformative > 2) == never
    result = corrected(run, Rates(found, passed, resamples=400))
    low, high = interval(draws, n)
    assert 0 < (low or 0) < (high or 0) < 1
    assert (result.low, result.high) == pytest.approx((low, high))


def test_uninformative_resamples_count_half_as_0_and_half_as_1() -> None:
    """A judge that finds every wrong step, but only one question has one."""
    known = rates([0, 1, 2], [False, True, True], [0.1, 0.9, 0.9], resamples=400)
    # (2/3)^3 = 30% of the resamples have no wrong step; in the others, the share is 0.5.
    found = corrected(called(5, 5, 5), known)
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)


def simulated(
    g: np.random.Generator, clusters: int, steps: int, true: float, se: float, sp: float
) -> tuple[list[int], list[bool], list[bool]]:
    """Cluster, soundness and verdict of each step.

    The share of wrong steps varies between clusters: a beta distribution with a correlation of 0.15
    within clusters.
    """
    a, b = (part * (1 / 0.15 - 1) for part in (true, 1 - true))
    wrong = g.random((clusters, steps)) < g.beta(a, b, clusters)[:, None]
    verdicts = g.random((clusters, steps)) < np.where(wrong, se, 1 - sp)
    numbers = np.repeat(np.arange(clusters), steps)
    return numbers.tolist(), (~wrong).ravel().tolist(), verdicts.ravel().tolist()


@table(
    "documents, questions, true, sensitivity, specificity",
    (60, 100, 0.3, 0.7, 0.85),
    (20, 30, 0.3, 0.7, 0.85),
    (200, 200, 0.1, 0.5, 0.8),
    (12, 12, 0.3, 0.8, 0.9),
)
def test_the_interval_holds_the_true_share(
    documents: int, questions: int, true: float, sensitivity: float, specificity: float
) -> None:
    g, held, runs = np.random.default_rng(1), 0, 200
    for _ in range(runs):
        numbers, _, verdicts = simulated(g, documents, 4, true, sensitivity, specificity)
        asked, sound, others = simulated(g, questions, 6, 0.4, sensitivity, specificity)
        known = rates(asked, sound, [0.2 if each else 0.8 for each in others], resamples=300)
        found = corrected(tally(numbers, verdicts), known)
        held += (found.low or 0) <= true <= (found.high or 0)
    assert 0.91 <= held / runs <= 0.99, held / runs

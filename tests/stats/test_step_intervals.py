"""Measures of labelled steps: their properties, intervals, and differences of two judges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.stats.measures import Measure, estimate_measures, mean_over, ratio
from lmms_rpts.stats.step_labels import ScoredSteps
from lmms_rpts.stats.step_measures import paired_differences, step_measures
from tests.support.labelled import (
    Judged,
    baseline_estimates,
    chains,
    drawn,
    estimate_all,
    judged,
    question_name,
    simulated,
    steps_of,
    values,
    width,
)

# Properties.

Rows = list[list[tuple[str, "int | None"]]]
STEP = st.tuples(st.sampled_from("+-."), st.none() | st.integers(0, 20))
TABLES = st.lists(st.lists(STEP, min_size=1, max_size=6), min_size=1, max_size=12)


def of_rows(rows: Rows) -> list[Judged]:
    found = []
    for at, row in enumerate(rows):
        scores = [None if score is None else score / 20 for _, score in row]
        labels, question = "".join(label for label, _ in row), question_name(at % 2, at // 3)
        found.append(judged(labels, *scores, question=question))
    return found


@given(TABLES, st.randoms())
def test_any_chains_have_values_within_bounds_in_any_order(rows: Rows, random: Any) -> None:
    given_chains = of_rows(rows)
    found = estimate_all(steps_of(given_chains), resamples=20)
    for name, (value, low, high) in {name: bounds(each) for name, each in found.items()}.items():
        assert value is None or (-1 if name == "mcc" else 0) <= value <= 1, name
        assert low is None or (value is not None and high is not None and low <= high), name
    random.shuffle(given_chains)
    expected = {name: each.value for name, each in found.items()}
    assert values(steps_of(given_chains)) == pytest.approx(expected, abs=1e-12)


@given(TABLES)
def test_only_the_order_of_scores_matters_to_areas(rows: Rows) -> None:
    steps = steps_of(of_rows(rows))
    found = baseline_estimates(steps, resamples=20)
    assert list(found) == ["auc", "auc_within", "macro_f1_fitted", "f1_first_fitted"]
    assert baseline_estimates(replace(steps, score=np.exp(steps.score) - 7), resamples=20) == found


@given(TABLES)
def test_copies_under_the_same_question_add_no_certainty(rows: Rows) -> None:
    rows_once = of_rows(rows)
    pair = (rows_once, rows_once * 3)
    once, thrice = (estimate_all(steps_of(each), resamples=30) for each in pair)
    for name, each in once.items():
        if name == "ece":  # its bins may have other edges
            continue
        copied = thrice[name]
        assert copied.n == 3 * each.n, name
        for one, two in zip(bounds(each), bounds(copied), strict=True):
            assert two == (one if one is None else pytest.approx(one, abs=1e-9)), name


def bounds(each: Estimate) -> tuple[float | None, float | None, float | None]:
    return each.value, each.low, each.high


# Intervals.


def test_chains_of_one_question_have_no_interval() -> None:
    given_chains = [judged("+-", 0.9, 0.8, question="q"), judged("++", 0.9, 0.2, question="q")]
    found = estimate_all(steps_of(given_chains), resamples=50)
    assert found["specificity"] == Estimate(2 / 3, None, None, 3)
    assert found["acc_err"] == Estimate(0.0, None, None, 1)


def test_a_share_of_all_has_the_exact_interval_over_questions_with_such_a_unit() -> None:
    found = estimate_all(steps_of(chains("+ .9; + .9;" + "+- .9 .1;" * 40)), resamples=50)
    # 0.025 to the power of 1 / n
    assert found["acc_ok"].low == pytest.approx(0.025 ** (1 / 2))
    assert found["acc_err"].low == pytest.approx(0.025 ** (1 / 40))
    assert found["auc"] == Estimate(1.0, None, None, 82)
    shared = [judged("+-", 0.9, 0.1, question=f"q{at % 20}") for at in range(40)]
    wanted = Estimate(1.0, pytest.approx(0.025 ** (1 / 20)), 1.0, 40)
    assert estimate_all(steps_of(shared), resamples=50)["acc_err"] == wanted


def test_numbers_of_units() -> None:
    steps_given = steps_of(chains("+-+ .9 .1 ?; ++ .9 ?; + .2"))
    found = {name: each.n for name, each in estimate_all(steps_given, resamples=2).items()}
    steps = dict.fromkeys(("auc", "macro_f1", "mcc", "brier", "ece", "macro_f1_fitted"), 4)
    some = {"sensitivity": 1, "specificity": 3, "unscored": 6, "auc_within": 1}
    chain = {"acc_err": 1, "acc_ok": 1, "f1_first": 2, "unscored_chains": 3, "flagged_early": 1}
    assert found == found | steps | some | chain


def test_resamples_are_the_same_for_the_same_seed() -> None:
    steps = simulated(3)
    one, same, other = (estimate_all(steps, resamples=40, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one["auc"].low != other["auc"].low


def test_intervals_cover_the_truth() -> None:
    """Of 200 simulated sets, 95% of the intervals should cover the truth, give or take."""
    truth = estimate_all(drawn(np.random.default_rng(0), 20_000), resamples=2)
    names = ("auc", "auc_within", "macro_f1", "specificity", "f1_first", "mcc", "brier")
    hits = dict.fromkeys(names, 0)
    generator = np.random.default_rng(1)
    for _ in range(200):
        steps = drawn(generator, 60)
        measures = {name: each for name, each in step_measures(steps).items() if name in names}
        found = estimate_measures(measures, steps.question, resamples=200)
        for name, each in found.items():
            hits[name] += (each.low or 0) <= (truth[name].value or 0) <= (each.high or 0)
    # Two standard deviations of a count of 200 at 0.95 are 6; with few questions a bit more.
    assert all(180 <= each <= 199 for each in hits.values()), hits


def test_questions_make_intervals_wider_than_chains() -> None:
    steps = drawn(np.random.default_rng(5), 100)
    apart = replace(steps, question=np.arange(steps.chains))
    whole, each = (estimate_all(one, resamples=300)["specificity"] for one in (steps, apart))
    assert width(whole) > 1.1 * width(each)


def test_means_over_groups() -> None:
    measure = ratio(np.array([1.0, 0, 1, 0]), np.array([1.0, 1, 1, 0]))
    groups = np.array([0, 0, 1, 2])
    weights = np.array([[1.0, 1, 1, 1], [1, 3, 1, 1], [1, 1, 0, 1]])
    # Group 2 has no weight; without group 1 the mean is undefined.
    np.testing.assert_equal(mean_over(groups, measure).of(weights), [0.75, 0.625, np.nan])
    none = Measure(measure.of, np.zeros(4))
    np.testing.assert_equal(mean_over(groups, none).of(weights), [np.nan] * 3)


# Two judges.


def test_differences_of_two_judges() -> None:
    one, two = (estimate_all(each, resamples=2) for each in (simulated(1), rescored(simulated(1))))
    found = paired_differences(simulated(1), rescored(simulated(1)), resamples=100)
    assert set(found.differences) == set(one) - {"unscored", "unscored_chains"}
    for name, each in found.differences.items():
        change = (two[name].value or 0) - (one[name].value or 0)
        assert each.value == pytest.approx(change, abs=1e-12), name
    assert (found.steps, found.chains) == (len(simulated(1).sound), 40)
    assert all(p is not None and 0 < p <= 1 for p in found.p.values())


def test_a_judge_does_not_differ_from_itself() -> None:
    found = paired_differences(simulated(2), simulated(2), resamples=30)
    assert {each.value for each in found.differences.values()} == {0.0}
    assert {each.low for each in found.differences.values()} == {None}
    assert set(found.p.values()) == {1.0}


def test_only_steps_that_both_scored_are_compared() -> None:
    one = steps_of(chains("+- .9 .1; +- .9 ?; ++ .9 .9; -+ .1 .9"))
    two = steps_of(chains("+- .9 .6; +- .1 .1; ++ ? .9; -+ .1 .9"))
    found = paired_differences(one, two, resamples=30)
    # Both judges scored the same 6 steps: all of the first and last chain, one of each other chain.
    assert (found.steps, found.chains) == (6, 2)
    assert found.differences["sensitivity"].value == -0.5
    assert found.differences["specificity"].value == -0.25
    # The second chain, which the second judge flags too early, is undecided for the first judge.
    assert found.differences["acc_err"].value == -0.5
    assert found.differences["acc_err"].n == 2
    assert found.differences["acc_ok"].value is None
    assert found.p["acc_ok"] is None


def test_pairs_are_compared_more_closely_than_strangers() -> None:
    steps = drawn(np.random.default_rng(8), 100)
    other = replace(steps, score=np.clip(steps.score * 0.9 + 0.08, 0, 1))
    alone = estimate_all(steps, resamples=200)["specificity"]
    assert width(paired_differences(steps, other).differences["specificity"]) < width(alone)


def test_copies_under_the_same_question_do_not_make_a_difference_surer() -> None:
    six = [judged("+-", 0.9, 0.5, question=f"q{at}") for at in range(6)]
    found = []
    for copies in (1, 3):
        steps = steps_of(six * copies)
        better = replace(steps, score=np.where(steps.sound, steps.score, 0.1))
        found.append(paired_differences(steps, better, resamples=20).p)
    # All six questions favour one judge: 2 of the 64 swaps are as extreme.
    assert found[0]["sensitivity"] == found[0]["acc_err"] == 2 / 64
    assert found[1] == found[0]
    sides = [("+", 0.9), ("-", 0.1)] * 3
    steps = steps_of([judged(*side, question=f"q{at}") for at, side in enumerate(sides)])
    worse = paired_differences(steps, replace(steps, score=0.5 + 0.75 * (steps.score - 0.5)))
    assert worse.p["brier"] == 2 / 64


def rescored(steps: ScoredSteps) -> ScoredSteps:
    """The same steps with scores closer to the labels."""
    return replace(steps, score=(steps.score + steps.sound) / 2)

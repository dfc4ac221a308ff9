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

TABLES = st.lists(
    st.lists(
        st.tuples(st.sampled_from("+-."), st.one_of(st.none(), st.integers(0, 20))),
        min_size=1,
        max_size=6,
    ),
    min_size=1,
    max_size=12,
)


def of_rows(rows: list[list[tuple[str, int | None]]]) -> list[Judged]:
    return [
        judged(
            "".join(label for label, _ in row),
            *(None if score is None else score / 20 for _, score in row),
            question=question_name(at % 2, at // 3),
        )
        for at, row in enumerate(rows)
    ]


@given(TABLES)
def test_any_chains_have_values_within_bounds(rows: list[list[tuple[str, int | None]]]) -> None:
    for name, each in estimate_all(steps_of(of_rows(rows)), resamples=20).items():
        if each.value is None:
            assert (each.low, each.high) == (None, None), name
            continue
        assert (-1 if name == "mcc" else 0) <= each.value <= 1, name
        if each.low is not None and each.high is not None:
            assert each.low <= each.high, name


@given(TABLES)
def test_only_the_order_of_scores_matters_to_areas(
    rows: list[list[tuple[str, int | None]]],
) -> None:
    steps = steps_of(of_rows(rows))
    found = baseline_estimates(steps, resamples=20)
    assert list(found) == ["auc", "auc_within", "macro_f1_fitted", "f1_first_fitted"]
    assert baseline_estimates(replace(steps, score=np.exp(steps.score) - 7), resamples=20) == found


@given(TABLES, st.randoms())
def test_the_order_of_chains_does_not_matter(
    rows: list[list[tuple[str, int | None]]], random: Any
) -> None:
    chains = of_rows(rows)
    found = values(steps_of(chains))
    random.shuffle(chains)
    assert values(steps_of(chains)) == pytest.approx(found, abs=1e-12)


@given(TABLES)
def test_copies_under_the_same_question_add_no_certainty(
    rows: list[list[tuple[str, int | None]]],
) -> None:
    chains = of_rows(rows)
    once, thrice = (estimate_all(steps_of(each), resamples=30) for each in (chains, chains * 3))
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
    chains = [judged("+-", 0.9, 0.8, question="q"), judged("++", 0.9, 0.2, question="q")]
    found = estimate_all(steps_of(chains), resamples=50)
    assert found["specificity"] == Estimate(2 / 3, None, None, 3)
    assert found["acc_err"] == Estimate(0.0, None, None, 1)


def test_a_share_of_all_has_the_exact_interval_over_questions() -> None:
    chains = [judged("+-", 0.9, 0.1) for _ in range(20)]
    found = estimate_all(steps_of(chains * 2), resamples=50)
    # 0.025 to the power of 1 / n. The first 40 chains have a question each, the shared ones 20.
    shared = [judged("+-", 0.9, 0.1, question=f"q{at % 20}") for at in range(40)]
    assert found["acc_err"].low == pytest.approx(0.025 ** (1 / 40))
    assert estimate_all(steps_of(shared), resamples=50)["acc_err"] == Estimate(
        1.0, pytest.approx(0.025 ** (1 / 20)), 1.0, 40
    )
    assert found["auc"] == Estimate(1.0, None, None, 80)


def test_only_questions_with_such_a_unit_count() -> None:
    chains = [judged("+", 0.9), judged("+", 0.9), *[judged("+-", 0.9, 0.1)] * 18]
    found = estimate_all(steps_of(chains), resamples=50)
    # The exact lower limit for 2 of 2, and for 18 of 18.
    assert found["acc_ok"].low == pytest.approx(0.025 ** (1 / 2))
    assert found["acc_err"].low == pytest.approx(0.025 ** (1 / 18))


def test_numbers_of_units() -> None:
    chains = [judged("+-+", 0.9, 0.1, None), judged("++", 0.9, None), judged("+", 0.2)]
    found = {name: each.n for name, each in estimate_all(steps_of(chains), resamples=2).items()}
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
            low, high, true = each.low, each.high, truth[name].value
            assert low is not None
            assert high is not None
            assert true is not None
            hits[name] += low <= true <= high
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
        before, after = one[name].value, two[name].value
        assert before is not None
        assert after is not None
        assert each.value == pytest.approx(after - before, abs=1e-12), name
    assert (found.steps, found.chains) == (len(simulated(1).sound), 40)
    assert all(p is not None and 0 < p <= 1 for p in found.p.values())


def test_a_judge_does_not_differ_from_itself() -> None:
    found = paired_differences(simulated(2), simulated(2), resamples=30)
    assert {each.value for each in found.differences.values()} == {0.0}
    assert {each.low for each in found.differences.values()} == {None}
    assert set(found.p.values()) == {1.0}


def test_only_steps_that_both_scored_are_compared() -> None:
    labels = ("+-", "+-", "++", "-+")
    first = [(0.9, 0.1), (0.9, None), (0.9, 0.9), (0.1, 0.9)]
    second = [(0.9, 0.6), (0.1, 0.1), (None, 0.9), (0.1, 0.9)]
    one, two = (
        steps_of([judged(label, *own) for label, own in zip(labels, scores, strict=True)])
        for scores in (first, second)
    )
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
    chains = [judged("+-", 0.9, 0.6, question=f"q{at}") for at in range(6)]
    found = []
    for copies in (1, 3):
        steps = steps_of(chains * copies)
        better = replace(steps, score=np.where(steps.sound, steps.score, 0.1))
        found.append(paired_differences(steps, better, resamples=20).p)
    # All six questions favour one judge: 2 of the 64 swaps are as extreme.
    assert found[0]["sensitivity"] == found[0]["acc_err"] == 2 / 64
    assert found[1] == found[0]


def rescored(steps: ScoredSteps) -> ScoredSteps:
    """The same steps with scores closer to the labels."""
    return replace(steps, score=(steps.score + steps.sound) / 2)

"""Measures of labelled steps: their properties and intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.stats.intervals import Interval
from lmms_rpts.stats.measures import estimate_measures
from lmms_rpts.stats.step_measures import step_measures
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


def bounds(each: Interval) -> tuple[float | None, float | None, float | None]:
    return each.value, each.low, each.high


# Intervals.


def test_chains_of_one_question_have_no_interval() -> None:
    given_chains = [judged("+-", 0.9, 0.8, question="q"), judged("++", 0.9, 0.2, question="q")]
    found = estimate_all(steps_of(given_chains), resamples=50)
    assert found["specificity"] == Interval(2 / 3, None, None, 3)
    assert found["acc_err"] == Interval(0.0, None, None, 1)


def test_a_share_of_all_has_the_exact_interval_over_questions_with_such_a_unit() -> None:
    found = estimate_all(steps_of(chains("+ .9; + .9;" + "+- .9 .1;" * 40)), resamples=50)
    # 0.025 to the power of 1 / n
    assert found["acc_ok"].low == pytest.approx(0.025 ** (1 / 2))
    assert found["acc_err"].low == pytest.approx(0.025 ** (1 / 40))
    assert found["auc"] == Interval(1.0, None, None, 82)
    shared = [judged("+-", 0.9, 0.1, question=f"q{at % 20}") for at in range(40)]
    wanted = Interval(1.0, pytest.approx(0.025 ** (1 / 20)), 1.0, 40)
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

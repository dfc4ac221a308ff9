"""How well a judge tells sound steps from wrong ones: by hand, by scikit-learn, by brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from lmms_rpts.stats.calibration import reliability_bins
from lmms_rpts.stats.intervals import Estimate, Floats
from lmms_rpts.stats.measures import Measure, estimate_measures, mean_over, ratio
from lmms_rpts.stats.score_curves import auc, fitted_thresholds
from lmms_rpts.stats.step_labels import ScoredSteps, first_errors, solutions, up_to_first_errors
from lmms_rpts.stats.step_measures import (
    OF_RANKS,
    baseline_estimates,
    estimate_all,
    location_measures,
    paired_differences,
    step_measures,
)
from tests.support.labelled import Judged, judged, question_name, steps_of
from tests.support.tables import table

NAMES = (
    *("auc", "auc_within", "macro_f1_fitted", "f1_first_fitted", "macro_f1", "f1_sound"),
    *("f1_wrong", "sensitivity", "specificity", "balanced_accuracy", "mcc", "acc_err", "acc_ok"),
    *("f1_first", "flagged_early", "unscored_chains", "brier", "ece", "unscored"),
)


def values(steps: ScoredSteps, threshold: float = 0.5) -> dict[str, float | None]:
    return {name: each.value for name, each in estimate_all(steps, threshold, resamples=2).items()}


def at_once(steps: ScoredSteps, weights: Floats) -> dict[str, Floats]:
    return {name: each.of(weights) for name, each in step_measures(steps).items()}


def simulated(
    seed: int, chains: int = 40, levels: int = 8, unscored: float = 0.0, questions: int = 0
) -> ScoredSteps:
    """Chains of one to six steps with noisy scores; each has an error with a chance of 0.6.

    Half the chains have labels up to their first error alone.
    """
    generator = np.random.default_rng(seed)
    found = []
    for number in range(chains):
        n = int(generator.integers(1, 7))
        sound = generator.random(n) > 0.3
        if generator.random() < 0.4:
            sound[:] = True
        labels = "".join("+" if each else "-" for each in sound)
        if generator.random() < 0.5 and "-" in labels:
            labels = labels[: labels.index("-") + 1].ljust(n, ".")
        score = np.clip(0.45 + 0.25 * sound + 0.25 * generator.normal(size=n), 0, 1)
        score = np.round(score * levels) / levels
        given = [None if generator.random() < unscored else float(each) for each in score]
        named = question_name(number % 2, number % questions) if questions else ""
        found.append(judged(labels, *given, question=named))
    return steps_of(found)


# Values worked by hand. What isn't named may have any value.

WRONG_AND_SOUND = (judged("++-", 0.9, 0.8, 0.2), judged("++", 0.9, 0.7))


@table(
    "why, chains, expected",
    (
        "labels end at the first error: the scores after it count nowhere",
        [judged("++-..", 0.9, 0.2, 0.4, 0.9, 0.1)],
        {
            "auc": 0.5,
            "sensitivity": 1,
            "specificity": 0.5,
            "acc_err": 0,
            "flagged_early": 1,
            "unscored": 0,
        },
    ),
    (
        "a judge that is right throughout",
        WRONG_AND_SOUND,
        {"auc": 1, "auc_within": 1, "macro_f1": 1, "sensitivity": 1, "specificity": 1, "mcc": 1}
        | {"acc_err": 1, "acc_ok": 1, "f1_first": 1, "flagged_early": 0, "unscored_chains": 0}
        # Squares: 0.01, 0.04, 0.04, 0.01, 0.09; gaps by score: 0.2, 0.3, 0.2, 2 * 0.1.
        | {"brier": 0.19 / 5, "ece": 0.9 / 5},
    ),
    (
        "a judge that is wrong throughout",
        [judged("++-", 0.1, 0.2, 0.8), judged("++", 0.1, 0.3)],
        {"auc": 0, "auc_within": 0, "macro_f1": 0, "sensitivity": 0, "specificity": 0, "mcc": -1}
        | {"balanced_accuracy": 0, "acc_err": 0, "acc_ok": 0, "f1_first": 0, "flagged_early": 1},
    ),
    (
        "0.5 always: by chance, and everything is sound",
        [judged("+-", 0.5, 0.5), judged("++", 0.5, 0.5)],
        {
            "auc": 0.5,
            "auc_within": 0.5,
            "sensitivity": 0,
            "specificity": 1,
            "balanced_accuracy": 0.5,
            "mcc": 0,
        }
        | {
            "f1_wrong": 0,
            "f1_sound": 6 / 7,
            "macro_f1": 3 / 7,
            "acc_err": 0,
            "acc_ok": 1,
            "f1_first": 0,
        }
        | {"brier": 0.25, "ece": 0.25, "macro_f1_fitted": None, "f1_first_fitted": None},
    ),
    (
        "no chain without an error",
        [judged("+-", 0.9, 0.1), judged("-", 0.7)],
        {
            "acc_err": 0.5,
            "acc_ok": None,
            "f1_first": None,
            "sensitivity": 0.5,
            "specificity": 1,
            "mcc": 0.5,
        }
        | {"auc": 1, "flagged_early": 0},
    ),
    (
        "no sound step",
        [judged("-", 0.1), judged("-", 0.7)],
        {
            "auc": None,
            "auc_within": None,
            "f1_sound": None,
            "f1_wrong": 2 / 3,
            "macro_f1": None,
            "mcc": None,
        }
        | {
            "specificity": None,
            "balanced_accuracy": None,
            "sensitivity": 0.5,
            "macro_f1_fitted": None,
        }
        | {"acc_err": 0.5, "acc_ok": None},
    ),
    (
        "no wrong step",
        [judged("++", 0.9, 0.1), judged("+", 0.7)],
        {
            "auc": None,
            "auc_within": None,
            "f1_wrong": None,
            "f1_sound": 0.8,
            "macro_f1": None,
            "mcc": None,
        }
        | {
            "sensitivity": None,
            "balanced_accuracy": None,
            "specificity": 2 / 3,
            "macro_f1_fitted": None,
        }
        | {"acc_err": None, "acc_ok": 0.5, "f1_first": None, "flagged_early": None},
    ),
    (
        "ties count half: 0.5 of the pair (0.5, 0.5), 1 of (0.7, 0.5)",
        [judged("++-", 0.5, 0.7, 0.5)],
        {"auc": 0.75, "auc_within": 0.75},
    ),
    (
        "pairs within chains are pooled: 2 of 2, and 0.5 of 1; across, 0.3 beats no other",
        [judged("++-", 0.9, 0.8, 0.7), judged("-+", 0.3, 0.3, first_error=0)],
        {"auc": (2 + 2 + 0.5) / 6, "auc_within": 2.5 / 3},
    ),
    (
        "the harmonic mean of 0 and 0",
        [judged("+-", 0.1, 0.1), judged("+", 0.1)],
        {"acc_err": 0, "acc_ok": 0, "f1_first": 0},
    ),
    (
        "the harmonic mean of 1 and 0.5",
        [judged("+-", 0.9, 0.1), judged("+", 0.1), judged("+", 0.8)],
        {"acc_err": 1, "acc_ok": 0.5, "f1_first": 2 / 3},
    ),
    (
        "a score at the threshold is sound",
        [judged("+-", 0.5, 0.5)],
        {"sensitivity": 0, "specificity": 1, "acc_err": 0, "flagged_early": 0},
    ),
    (
        "flagged late only, where steps after the error have labels: a miss that is not early",
        [judged("+-+", 0.9, 0.8, 0.1)],
        {"acc_err": 0, "flagged_early": 0, "specificity": 0.5},
    ),
    (
        "an unscored step before a decision",
        [judged("+-", None, 0.1), judged("++", 0.9, None), judged("+-", 0.9, None)],
        {"acc_err": None, "acc_ok": None, "f1_first": None, "unscored_chains": 1, "unscored": 0.5}
        | {"sensitivity": 1, "specificity": 1},
    ),
    (
        "an unscored step after a decision",
        [judged("++-", 0.1, None, 0.1), judged("++", 0.1, None)],
        {"acc_err": 0, "acc_ok": 0, "flagged_early": 1, "unscored_chains": 0, "unscored": 0.4},
    ),
    (
        "an unscored step after the first error, found or overlooked",
        [judged("+-+", 0.9, 0.1, None), judged("+-+", 0.9, 0.9, None)],
        {"acc_err": 0.5, "flagged_early": 0, "unscored_chains": 0, "unscored": 1 / 3},
    ),
    (
        "one chain of two is undecided",
        [judged("+-", 0.9, None), judged("+-", 0.9, 0.1), judged("+", 0.9)],
        {"acc_err": 1, "acc_ok": 1, "f1_first": 1, "unscored_chains": 1 / 3},
    ),
    (
        "no score at all",
        [judged("+-", None, None)],
        dict.fromkeys(NAMES) | {"unscored": 1, "unscored_chains": 1},
    ),
    (
        "a neutral step counts nowhere, flagged or unscored",
        [judged("+.-", 0.9, 0.1, 0.1), judged(".+", None, 0.9)],
        {"acc_err": 1, "acc_ok": 1, "specificity": 1, "unscored": 0, "unscored_chains": 0},
    ),
    (
        "chains of neutral steps alone have nothing to find",
        [judged("..", None, None)],
        dict.fromkeys(NAMES),
    ),
    ("no chain", [], dict.fromkeys(NAMES)),
    (
        "chains of one step",
        [judged("-", 0.1), judged("+", 0.9), judged("+", 0.2)],
        {"acc_err": 1, "acc_ok": 0.5, "f1_first": 2 / 3, "auc": 1, "auc_within": None},
    ),
    (
        "first errors that are not known",
        [judged("-", 0.1, located=False), judged("+", 0.9, located=False)],
        {
            "acc_err": None,
            "acc_ok": None,
            "f1_first": None,
            "unscored_chains": None,
            "auc": 1,
            "macro_f1": 1,
        },
    ),
    (
        "an alternative to the second step is wrong, the chain is not",
        [judged("+-+", 0.9, 0.1, 0.8, first_error=None, places=(0, 1, 1), path=(0, 2))],
        {"acc_ok": 1, "acc_err": None, "sensitivity": 1, "auc": 1, "auc_within": 1},
    ),
    (
        "an alternative that comes first in the data is flagged, or unscored",
        [
            judged("++-", 0.1, 0.9, 0.1, places=(0, 0, 1), path=(1, 2)),
            judged("++-", None, 0.9, 0.1, places=(0, 0, 1), path=(1, 2)),
        ],
        {"acc_err": 1, "unscored_chains": 0, "flagged_early": 0},
    ),
    (
        "the wrong step at an alternative's place",
        [judged("+-+-", 0.9, 0.9, 0.8, 0.1, first_error=3, places=(0, 1, 1, 2), path=(0, 2, 3))],
        {"acc_err": 1, "sensitivity": 0.5},
    ),
)
def test_values_worked_by_hand(
    why: str, chains: Sequence[Judged], expected: dict[str, float | None]
) -> None:
    found = values(steps_of(chains))
    assert tuple(found) == NAMES
    for name, value in expected.items():
        assert found[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name


def test_the_threshold_can_be_another() -> None:
    found = values(steps_of([judged("+-", 0.9, 0.7), judged("+", 0.75)]), threshold=0.8)
    assert (found["acc_err"], found["acc_ok"], found["sensitivity"]) == (1, 0, 1)
    assert found["specificity"] == 0.5


HALVES = (question_name(0, 1), question_name(1, 1))


@table(
    "why, of_first, of_second, thresholds, macro, first",
    (
        "0.4 overlooks 0.6, 0.9 flags 0.4",
        [("+-", 0.9, 0.6), ("+", 0.9)],
        [("+-", 0.4, 0.2), ("+", 0.4)],
        (0.9, 0.4),
        # caught 1, missed 1, alarms 2, passed 2: 2 / 5 and 4 / 7
        (2 / 5 + 4 / 7) / 2,
        0,
    ),
    (
        "0.8 does as well as 0.9 on the first half; 0.9 flags all of the second",
        [("+-", 0.9, 0.3), ("+", 0.9)],
        [("+-", 0.8, 0.5), ("+", 0.8)],
        (0.9, 0.8),
        2 / 3,
        0.5,
    ),
    (
        # From 0.5 on: caught 1, missed 1, alarms 0, passed 2; from 0.8 on it is the mirror image.
        "of two that do equally well, the lower one",
        [("++", 0.5, 0.8), ("-", 0.2), ("-", 0.5)],
        [("++", 0.5, 0.8), ("-", 0.2), ("-", 0.5)],
        (0.5, 0.5),
        (2 / 3 + 4 / 5) / 2,
        2 / 3,
    ),
    ("a half without wrong steps", [("+", 0.9)], [("+-", 0.8, 0.5)], (), None, None),
    ("an empty half", [], [("+-", 0.8, 0.5), ("+", 0.9)], (), None, None),
)
def test_thresholds_are_chosen_on_the_other_half(
    why: str,
    of_first: list[Any],
    of_second: list[Any],
    thresholds: tuple[float, ...],
    macro: float | None,
    first: float | None,
) -> None:
    chains = [
        judged(*each, question=name)
        for name, half in zip(HALVES, (of_first, of_second), strict=True)
        for each in half
    ]
    steps = steps_of(chains)
    found = values(steps)
    assert fitted_thresholds(steps) == thresholds
    assert found["macro_f1_fitted"] == (macro if macro is None else pytest.approx(macro))
    assert found["f1_first_fitted"] == (first if first is None else pytest.approx(first))


# By scikit-learn, and by brute force.


@table("seed", *range(6))
@table("levels", 2, 8, 1_000_000)
def test_values_are_those_of_scikit_learn(seed: int, levels: int) -> None:
    steps = simulated(seed, chains=60, levels=levels, unscored=0.1)
    known = steps.scored
    sound, score = steps.sound[known], steps.score[known]
    called = score >= 0.5
    expected = {
        "auc": sk.roc_auc_score(sound, score),
        "macro_f1": sk.f1_score(sound, called, average="macro"),
        "f1_sound": sk.f1_score(sound, called, pos_label=True),
        "f1_wrong": sk.f1_score(sound, called, pos_label=False),
        "sensitivity": sk.recall_score(sound, called, pos_label=False),
        "specificity": sk.recall_score(sound, called, pos_label=True),
        "balanced_accuracy": sk.balanced_accuracy_score(sound, called),
        "mcc": sk.matthews_corrcoef(sound, called),
        "brier": sk.brier_score_loss(sound, score),
    }
    found = values(steps)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)


@table("seed", *range(4))
@table("unscored", 0.0, 0.2)
def test_values_are_those_of_brute_force(seed: int, unscored: float) -> None:
    steps = simulated(seed, unscored=unscored)
    assert values(steps) | slow(steps) == pytest.approx(values(steps), abs=1e-9)


@table("seed", *range(4))
@table("unscored", 0.0, 0.2)
def test_a_weight_is_as_many_copies(seed: int, unscored: float) -> None:
    steps = simulated(seed, unscored=unscored)
    weights = np.random.default_rng(seed).integers(0, 4, size=(5, steps.chains)).astype(float)
    found = at_once(steps, weights)
    for row, weight in enumerate(weights):
        copied = repeated(steps, weight.astype(int))
        alone = at_once(copied, np.ones((1, copied.chains)))
        for name in NAMES:
            assert found[name][row] == pytest.approx(alone[name][0], abs=1e-9, nan_ok=True), name


def repeated(steps: ScoredSteps, times: Any) -> ScoredSteps:
    """Each chain as often as said."""
    old = np.repeat(np.arange(steps.chains), times)
    own = [np.flatnonzero(steps.chain == chain) for chain in old]
    rows = np.concatenate(own)
    chain = np.repeat(np.arange(len(old)), [len(each) for each in own])
    _, question = np.unique(steps.question[old], return_inverse=True)
    some = steps.where(rows)
    by_chain = {name: getattr(steps, name)[old] for name in ("stratum", "half", "first_error")}
    return replace(some, chain=chain, question=question, **by_chain)


def slow(steps: ScoredSteps) -> dict[str, float | None]:
    """Some measures, step by step."""
    outcomes = [outcome(steps, chain, 0.5) for chain in range(steps.chains)]
    located = [each for each in outcomes if each is not None]
    known = [each for each in located if each[1] is not None]
    return {
        "auc_within": slow_within(steps),
        "acc_err": mean([right for wrong, right in known if wrong]),
        "acc_ok": mean([right for wrong, right in known if not wrong]),
        "unscored_chains": mean([right is None for _, right in located]),
        "unscored": float(np.isnan(steps.score).mean()),
        **slow_fitted(steps),
    }


def mean(given: Sequence[Any]) -> float | None:
    return sum(given) / len(given) if given else None


def outcome(steps: ScoredSteps, chain: int, threshold: float) -> tuple[bool, bool | None] | None:
    """Whether the chain has an error, and whether it is found; None: undecided."""
    error = steps.first_error[chain]
    own = sorted(np.flatnonzero(steps.chain == chain), key=lambda at: steps.place[at])
    for at in own:
        score, here = steps.score[at], steps.place[at] == error
        if math.isnan(score):
            return bool(np.isfinite(error)), None
        if score < threshold:
            return bool(np.isfinite(error)), bool(here)
        if here:
            return True, False
    return False, True


def slow_within(steps: ScoredSteps) -> float | None:
    wins = [
        (steps.score[one] > steps.score[two]) + (steps.score[one] == steps.score[two]) / 2
        for one, two in product(np.flatnonzero(steps.sound), np.flatnonzero(~steps.sound))
        if steps.chain[one] == steps.chain[two]
        and not math.isnan(steps.score[one] + steps.score[two])
    ]
    return mean(wins)


def slow_fitted(steps: ScoredSteps) -> dict[str, float | None]:
    half = steps.half[steps.chain]
    threshold = []
    for side in (0, 1):
        own = (half == side) & steps.scored
        sound, score = steps.sound[own], steps.score[own]
        quality = {
            each: round(sk.f1_score(sound, score >= each, average="macro"), 9)
            for each in sorted(set(score.tolist()))
        }
        threshold.append(max(quality, key=lambda each: quality[each]))
    known = steps.scored
    called = (steps.score >= np.array(threshold)[1 - half])[known]
    found = [
        outcome(steps, chain, threshold[1 - steps.half[chain]]) for chain in range(steps.chains)
    ]
    rates = [
        mean([each[1] for each in found if each and each[1] is not None and each[0] == wrong])
        for wrong in (True, False)
    ]
    one, two = (each or 0.0 for each in rates)
    return {
        "macro_f1_fitted": float(sk.f1_score(steps.sound[known], called, average="macro")),
        "f1_first_fitted": 2 * one * two / (one + two) if one + two else 0.0,
    }


def test_large_sets_are_worked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = simulated(1, levels=1_000_000)
    whole = estimate_all(steps, resamples=50)
    monkeypatch.setattr("lmms_rpts.stats.score_curves._AT_A_TIME", 700)
    assert estimate_all(steps, resamples=50) == whole


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
    assert tuple(found) == tuple(OF_RANKS)
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
        if name == "ece":  # its bins may be cut elsewhere
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


def test_a_share_of_all_has_wilsons_interval_over_questions() -> None:
    chains = [judged("+-", 0.9, 0.1) for _ in range(20)]
    found = estimate_all(steps_of(chains * 2), resamples=50)
    # Newcombe (1998): 20 of 20. The 40 chains here have a question each, those below share 20.
    shared = [judged("+-", 0.9, 0.1, question=f"q{at % 20}") for at in range(40)]
    assert found["acc_err"].low == pytest.approx(0.9124, abs=5e-5)
    assert estimate_all(steps_of(shared), resamples=50)["acc_err"] == Estimate(
        1.0, pytest.approx(0.8389, abs=5e-5), 1.0, 40
    )
    assert found["auc"] == Estimate(1.0, None, None, 80)


def test_only_questions_with_such_a_unit_count() -> None:
    chains = [judged("+", 0.9), judged("+", 0.9), *[judged("+-", 0.9, 0.1)] * 18]
    found = estimate_all(steps_of(chains), resamples=50)
    # Wilson's lower limit for 2 of 2, and for 18 of 18: n / (n + 1.96 ** 2).
    assert found["acc_ok"].low == pytest.approx(2 / 5.8415, abs=5e-5)
    assert found["acc_err"].low == pytest.approx(18 / 21.8415, abs=5e-5)


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
    """Of 200 simulated sets; 95% of the intervals should, and each misses by chance at times."""
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
    # Two standard deviations of a count of 200 at 0.95 are 6; questions are few.
    assert all(180 <= each <= 199 for each in hits.values()), hits


def drawn(generator: np.random.Generator, questions: int) -> ScoredSteps:
    """Two chains of four steps a question; what makes a question hard lowers all its scores."""
    m = 2 * questions
    chain, place = np.repeat(np.arange(m), 4), np.tile(np.arange(4), m)
    question = np.arange(m) // 2
    first = np.where(generator.random(m) < 0.5, generator.integers(0, 4, size=m), np.inf)
    sound = place != first[chain]
    hard = generator.normal(size=questions)[question][chain]
    noise = generator.normal(size=4 * m)
    score = 1 / (1 + np.exp(-(1.5 * sound - 0.2 + 0.8 * hard + noise)))
    yes, zeros = np.ones(4 * m, dtype=bool), np.zeros(m, dtype=np.intp)
    half = question % 2
    return ScoredSteps(sound, score, chain, place, yes, ~yes, question, zeros, half, first)


def test_questions_make_intervals_wider_than_chains() -> None:
    steps = drawn(np.random.default_rng(5), 100)
    apart = replace(steps, question=np.arange(steps.chains))
    whole, each = (estimate_all(one, resamples=300)["specificity"] for one in (steps, apart))
    assert width(whole) > 1.1 * width(each)


def width(each: Estimate) -> float:
    assert each.low is not None
    assert each.high is not None
    return each.high - each.low


def test_the_interval_of_the_calibration_error_holds_its_value() -> None:
    """Resamples are noisier than the data, so that theirs is larger: here by half, about."""
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


def test_means_over_groups() -> None:
    measure = ratio(np.array([1.0, 0, 1, 0]), np.array([1.0, 1, 1, 0]))
    groups = np.array([0, 0, 1, 2])
    weights = np.array([[1.0, 1, 1, 1], [1, 3, 1, 1], [1, 1, 0, 1]])
    # Group 2 adds nothing to it; without group 1 there is no mean.
    np.testing.assert_equal(mean_over(groups, measure).of(weights), [0.75, 0.625, np.nan])
    none = Measure(measure.of, np.zeros(4))
    np.testing.assert_equal(mean_over(groups, none).of(weights), [np.nan] * 3)


# Calibration.


@table(
    "scores, labels, expected",
    ([0, 0.5, 1, 1, 0.5, 0.5], "-++-+-", [(0, 0, 1), (0.5, 2 / 3, 3), (1, 0.5, 2)]),
    ([0.3], "+", [(0.3, 1, 1)]),
    ([None, 0.3], "++", [(0.3, 1, 1)]),
    ([None], "+", []),
    ([], "", []),
    # Eleven scores in ten bins: the middles 0.5 to 10.5, times 10 / 11, put 5 and 6 together.
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
    assert [(each.score, each.sound.value, each.sound.n) for each in found] == [
        pytest.approx(each) for each in expected
    ]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.integers(1, 12))
def test_bins_never_part_ties(scores: list[int], bins: int) -> None:
    steps = steps_of([judged("+", score / 40) for score in scores])
    found = reliability_bins(steps, bins)
    distinct, counts = np.unique(scores, return_counts=True)
    assert len(found) <= bins or len(found) == len(distinct)
    assert len(found) == len(distinct) or len(distinct) > bins
    ends = np.cumsum([each.sound.n for each in found])
    assert set(ends.tolist()) <= set(np.cumsum(counts).tolist())
    assert ends[-1] == len(scores)
    assert all(one.score < two.score for one, two in pairwise(found))


def test_bins_of_many_scores_are_of_one_size() -> None:
    steps = steps_of([judged("+", at / 1000) for at in range(200)])
    assert [each.sound.n for each in reliability_bins(steps)] == [20] * 10


def test_as_many_scores_as_bins_have_one_each() -> None:
    steps = steps_of([judged("+", score) for score in (0, 0.5, *[1] * 8)])
    assert [each.sound.n for each in reliability_bins(steps, 3)] == [1, 1, 8]
    assert [each.sound.n for each in reliability_bins(steps, 2)] == [2, 8]


def test_bins_have_intervals_over_questions() -> None:
    shared = [judged("+", 0.9, question=f"q{at % 20}") for at in range(40)]
    (found,) = reliability_bins(steps_of(shared))
    assert found.sound.low == pytest.approx(0.8389, abs=5e-5)


# Two judges.


def test_differences_of_two_judges() -> None:
    one, two = (estimate_all(each, resamples=2) for each in (simulated(1), rescored(simulated(1))))
    found = paired_differences(simulated(1), rescored(simulated(1)), resamples=100)
    assert set(found.differences) == {name for name in NAMES if not name.startswith("unscored")}
    for name, each in found.differences.items():
        before, after = one[name].value, two[name].value
        assert before is not None
        assert after is not None
        assert each.value == pytest.approx(after - before, abs=1e-12), name
    assert (found.steps, found.chains) == (len(simulated(1).sound), 40)
    assert all(p is not None and 0 < p <= 1 for p in found.p.values())


def rescored(steps: ScoredSteps) -> ScoredSteps:
    """Nearer to the labels."""
    return replace(steps, score=(steps.score + steps.sound) / 2)


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
    # Both scored 6 steps: all of the first and last chain, one each of the others.
    assert (found.steps, found.chains) == (6, 2)
    assert found.differences["sensitivity"].value == -0.5
    assert found.differences["specificity"].value == -0.25
    # The second chain, that the second judge flags early, is undecided for the first.
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
    # All six questions, swapped in 64 ways: all one way or all the other.
    assert found[0]["sensitivity"] == found[0]["acc_err"] == 2 / 64
    assert found[1] == found[0]


@table("name, value", ("sound", True), ("place", 7), ("first_error", np.inf), ("question", 0))
def test_judges_of_other_steps_are_not_compared(name: str, value: Any) -> None:
    steps = steps_of([judged("+-", 0.9, 0.1), judged("+-", 0.9, 0.1)])
    changed = getattr(steps, name).copy()
    changed[1] = value
    with pytest.raises(ValueError, match=f"differ in {name}"):
        paired_differences(steps, replace(steps, **{name: changed}))


def test_a_judge_of_fewer_steps_is_not_compared() -> None:
    one, two = steps_of([judged("+-", 0.9, 0.1)]), steps_of([judged("+", 0.9)])
    with pytest.raises(ValueError, match="differ in sound"):
        paired_differences(one, two)


# The arrays.


def test_chains_up_to_their_first_errors() -> None:
    chains = [judged("+-+", 1, 0, 0), judged("+-", 1, 0, located=False), judged("++", 1, 1)]
    assert up_to_first_errors(steps_of(chains)).chain.tolist() == [0, 0, 1, 1, 2, 2]


def test_solutions() -> None:
    chains = [
        judged("+-.", 0.9, 0.3, 0.1),
        judged("-", 0.9, located=False),
        judged("++", 0.7, 0.6),
        judged("++", 0.1, None),
        judged("+-+", 0.9, 0.2, 0.8, first_error=None, places=(0, 1, 1), path=(0, 2)),
        judged("..", None, None),
    ]
    found = solutions(steps_of(chains))
    assert found.chain.tolist() == [0, 2, 3, 4]
    assert found.sound.tolist() == [False, True, True, True]
    np.testing.assert_equal(found.score, [0.3, 0.6, np.nan, 0.8])
    assert location_measures(found, 0.65)["acc_ok"].of(np.ones((1, 6))).tolist() == [0.5]


@table(
    "changed, message",
    ({"score": np.zeros(3)}, "arrays of steps"),
    ({"half": np.zeros(3)}, "arrays of chains"),
    ({"chain": np.array([0, 1])}, "not there"),
    ({"chain": np.array([-1, 0])}, "not there"),
    ({"score": np.array([0, np.inf])}, "infinite"),
)
def test_arrays_that_do_not_fit(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(steps_of([judged("+-", 0.9, 0.1)]), **changed)


def test_an_error_without_a_step_is_never_found() -> None:
    """Arrays that others built: the first wrong step is not among them."""
    steps = replace(steps_of([judged("++", 0.9, 0.8)]), first_error=np.array([7.0]))
    assert first_errors(steps).known(0.5).tolist() == [False]


def test_areas_of_many_scores() -> None:
    steps = simulated(9, chains=300, levels=10**9)
    (found,) = auc(steps).of(np.ones((1, 300)))
    assert found == pytest.approx(sk.roc_auc_score(steps.sound, steps.score), abs=1e-12)

"""Measures of a judge on labelled steps: manual values, scikit-learn, brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from lmms_rpts.stats.intervals import Floats
from lmms_rpts.stats.step_labels import ScoredSteps, first_errors
from lmms_rpts.stats.step_measures import step_measures
from tests.support.labelled import (
    Judged,
    assert_figures,
    chains,
    estimate_all,
    judged,
    question_name,
    simulated,
    steps_of,
    values,
)
from tests.support.tables import table

NAMES = (
    *("auc", "auc_within", "macro_f1_fitted", "f1_first_fitted", "macro_f1", "f1_sound"),
    *("f1_wrong", "sensitivity", "specificity", "balanced_accuracy", "mcc", "acc_err", "acc_ok"),
    *("f1_first", "flagged_early", "unscored_chains", "brier", "ece", "unscored"),
)
NOTHING = " ".join(f"{name}=none" for name in NAMES)


def at_once(steps: ScoredSteps, weights: Floats) -> dict[str, Floats]:
    return {name: each.of(weights) for name, each in step_measures(steps).items()}


# Values worked manually. Measures that are not listed may have any value.


@table(
    "why, given, expected",
    ("labels end at the first error: later scores never count", "++-.. .9 .2 .4 .9 .1",
     "auc=.5 sensitivity=1 specificity=.5 acc_err=0 flagged_early=1 unscored=0"),
    # Squares: 0.01, 0.04, 0.04, 0.01, 0.09; gaps by score: 0.2, 0.3, 0.2, 2 * 0.1.
    ("always right", "++- .9 .8 .2; ++ .9 .7",
     "auc=1 auc_within=1 macro_f1=1 sensitivity=1 specificity=1 mcc=1 acc_err=1 acc_ok=1 f1_first=1"
     " flagged_early=0 unscored_chains=0 brier=.038 ece=.18"),
    ("always wrong", "++- .1 .2 .8; ++ .1 .3",
     "auc=0 auc_within=0 macro_f1=0 sensitivity=0 specificity=0 mcc=-1 balanced_accuracy=0"
     " acc_err=0 acc_ok=0 f1_first=0 flagged_early=1"),
    ("0.5 always: by chance, and everything is sound", "+- .5 .5; ++ .5 .5",
     "auc=.5 auc_within=.5 sensitivity=0 specificity=1 balanced_accuracy=.5 mcc=0 f1_wrong=0"
     " f1_sound=6/7 macro_f1=3/7 acc_err=0 acc_ok=1 f1_first=0 brier=.25 ece=.25"
     " macro_f1_fitted=none f1_first_fitted=none"),
    ("every chain has an error", "+- .9 .1; - .7",
     "acc_err=.5 acc_ok=none f1_first=none sensitivity=.5 specificity=1 mcc=.5 auc=1"
     " flagged_early=0"),
    ("no sound step", "- .1; - .7",
     "auc=none auc_within=none f1_sound=none f1_wrong=2/3 macro_f1=none mcc=none specificity=none"
     " balanced_accuracy=none sensitivity=.5 macro_f1_fitted=none acc_err=.5 acc_ok=none"),
    ("no wrong step", "++ .9 .1; + .7",
     "auc=none auc_within=none f1_wrong=none f1_sound=.8 macro_f1=none mcc=none sensitivity=none"
     " balanced_accuracy=none specificity=2/3 macro_f1_fitted=none acc_err=none acc_ok=.5"
     " f1_first=none flagged_early=none"),
    ("ties count half: 0.5 of the pair (0.5, 0.5), 1 of (0.7, 0.5)", "++- .5 .7 .5",
     "auc=.75 auc_within=.75"),
    ("pairs within chains are pooled: 2 of 2, and 0.5 of 1; across, 0.3 beats no other",
     chains("++- .9 .8 .7; -+ .3 .3"),
     "auc=3/4 auc_within=5/6"),
    ("the harmonic mean of 0 and 0", "+- .1 .1; + .1", "acc_err=0 acc_ok=0 f1_first=0"),
    ("the harmonic mean of 1 and 0.5", "+- .9 .1; + .1; + .8", "acc_err=1 acc_ok=.5 f1_first=2/3"),
    ("a score at the threshold is sound", "+- .5 .5",
     "sensitivity=0 specificity=1 acc_err=0 flagged_early=0"),
    ("flagged late only, where steps after the error have labels: a miss that is not early",
     "+-+ .9 .8 .1", "acc_err=0 flagged_early=0 specificity=.5"),
    ("an unscored step before a decision", "+- ? .1; ++ .9 ?; +- .9 ?",
     "acc_err=none acc_ok=none f1_first=none unscored_chains=1 unscored=.5 sensitivity=1"
     " specificity=1"),
    ("an unscored step after a decision", "++- .1 ? .1; ++ .1 ?",
     "acc_err=0 acc_ok=0 flagged_early=1 unscored_chains=0 unscored=.4"),
    ("an unscored step after the first error, found or missed", "+-+ .9 .1 ?; +-+ .9 .9 ?",
     "acc_err=.5 flagged_early=0 unscored_chains=0 unscored=1/3"),
    ("one chain of two is undecided", "+- .9 ?; +- .9 .1; + .9",
     "acc_err=1 acc_ok=1 f1_first=1 unscored_chains=1/3"),
    ("no score at all", "+- ? ?", f"{NOTHING} unscored=1 unscored_chains=1"),
    ("a neutral step never counts, flagged or unscored", "+.- .9 .1 .1; .+ ? .9",
     "acc_err=1 acc_ok=1 specificity=1 unscored=0 unscored_chains=0"),
    ("chains of neutral steps only have no error to find", ".. ? ?", NOTHING),
    ("no chain", "", NOTHING),
    ("chains of one step", "- .1; + .9; + .2",
     "acc_err=1 acc_ok=.5 f1_first=2/3 auc=1 auc_within=none"),
    ("unknown first errors",
     [judged("-", 0.1, located=False), judged("+", 0.9, located=False)],
     "acc_err=none acc_ok=none f1_first=none unscored_chains=none auc=1 macro_f1=1"),
)  # fmt: skip
def test_values_worked_by_hand(why: str, given: str | list[Judged], expected: str) -> None:
    found = values(steps_of(chains(given) if isinstance(given, str) else given))
    assert tuple(found) == NAMES
    assert_figures(found, expected)


def test_the_threshold_can_be_another() -> None:
    found = values(steps_of(chains("+- .9 .7; + .75")), threshold=0.8)
    assert_figures(found, "acc_err=1 acc_ok=0 sensitivity=1 specificity=.5")


ROUNDED = "+ .2; - .1; - .1; - .2; - .2; - .2; - .3"


@table(
    "why, of_first, of_second, thresholds, expected",
    # caught 1, missed 1, alarms 2, passed 2: 2 / 5 and 4 / 7
    ("0.4 overlooks 0.6, 0.9 flags 0.4", "+- .9 .6; + .9", "+- .4 .2; + .4", (0.9, 0.4),
     "macro_f1_fitted=17/35 f1_first_fitted=0"),
    ("0.8 does as well as 0.9 on the first half; 0.9 flags all of the second",
     "+- .9 .3; + .9", "+- .8 .5; + .8", (0.9, 0.8), "macro_f1_fitted=2/3 f1_first_fitted=.5"),
    # From 0.5 on: caught 1, missed 1, alarms 0, passed 2; from 0.8 on, the reverse.
    ("of two equally good thresholds, the lower one", "++ .5 .8; - .2; - .5",
     "++ .5 .8; - .2; - .5", (0.5, 0.5), "macro_f1_fitted=11/15 f1_first_fitted=2/3"),
    # 2 / 8 + 1 / 6 and 5 / 12 are equal, except for the last bit.
    ("of two thresholds that differ only by rounding, the lower one", ROUNDED, ROUNDED, (0.2, 0.2),
     "macro_f1_fitted=5/12 f1_first_fitted=.5"),
    ("a half without wrong steps", "+ .9", "+- .8 .5", (),
     "macro_f1_fitted=none f1_first_fitted=none"),
    ("an empty half", "", "+- .8 .5; + .9", (), "macro_f1_fitted=none f1_first_fitted=none"),
)  # fmt: skip
def test_thresholds_are_chosen_on_the_other_half(
    why: str, of_first: str, of_second: str, thresholds: tuple[float, ...], expected: str
) -> None:
    steps = steps_of([
        replace(each, chain=replace(each.chain, question=question_name(half, 1)))
        for half, text in enumerate((of_first, of_second))
        for each in chains(text)
    ])  # fmt: skip
    assert_figures(values(steps), expected)


# With scikit-learn, and by brute force.


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
    """Steps with each chain repeated the given number of times."""
    old = np.repeat(np.arange(steps.chains), times)
    own = [np.flatnonzero(steps.chain == chain) for chain in old]
    rows = np.concatenate(own)
    chain = np.repeat(np.arange(len(old)), [len(each) for each in own])
    _, question = np.unique(steps.question[old], return_inverse=True)
    by_step = {name: getattr(steps, name)[rows] for name in ("sound", "score", "place")}
    by_chain = {name: getattr(steps, name)[old] for name in ("half", "first_error")}
    return replace(steps, chain=chain, question=question, **by_step, **by_chain)


def slow(steps: ScoredSteps) -> dict[str, float | None]:
    """Some measures, calculated step by step."""
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
    """Whether the chain has an error, and whether the judge is right about it; None: undecided."""
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
    monkeypatch.setattr("lmms_rpts.stats.step_measures._AT_A_TIME", 700)
    assert estimate_all(steps, resamples=50) == whole


# The input arrays.


def test_an_error_without_a_step_is_never_found() -> None:
    """Arrays from other code: the first wrong step is not among them."""
    steps = replace(steps_of(chains("++ .9 .8")), first_error=np.array([7.0]))
    assert first_errors(steps).known(0.5).tolist() == [False]


# Calibration.


def test_the_interval_of_the_calibration_error_holds_its_value() -> None:
    """Resamples are noisier than the data, so their error is larger: here by about half."""
    for seed in range(20):
        score = np.random.default_rng(seed).random(100)
        sound = np.random.default_rng(seed + 20).random(100) < score
        pairs = zip(sound, score.tolist(), strict=True)
        steps = steps_of([judged("+" if label else "-", each) for label, each in pairs])
        found = estimate_all(steps, resamples=100)["ece"]
        assert 0 <= (found.low or 0) < (found.value or 0) < (found.high or 0)

"""Measures of how well a judge separates sound steps from wrong ones, by given labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from lmms_rpts.stats.intervals import SEED, Estimate, Floats, Indices, estimate_mean
from lmms_rpts.stats.measures import (
    MEASURE_RESAMPLES,
    Measure,
    difference,
    divided,
    estimate_measures,
    ratio,
)
from lmms_rpts.stats.permutation import swap_test
from lmms_rpts.stats.score_curves import (
    auc,
    auc_within,
    f1_first_fitted,
    f1_sound,
    f1_wrong,
    harmonic_mean,
    macro_f1,
    macro_f1_fitted,
)
from lmms_rpts.stats.step_labels import ScoredSteps, first_errors

THRESHOLD = 0.5
"""A step is sound from this score on, as in RPTS."""

BINS = 10


def rank_measures(steps: ScoredSteps) -> dict[str, Measure]:
    """Measures that need only the order of scores: for a length, which is no probability."""
    return {
        "auc": auc(steps),
        "auc_within": auc_within(steps),
        "macro_f1_fitted": macro_f1_fitted(steps),
        "f1_first_fitted": f1_first_fitted(steps),
    }


def step_measures(steps: ScoredSteps, threshold: float = THRESHOLD) -> dict[str, Measure]:
    """All measures of a judge, by name.

    Over steps with a score. A step is called wrong, or flagged, if its score is below the
    threshold:

    - ``auc``, ``auc_within``, ``macro_f1_fitted``, ``f1_first_fitted``: see ``score_curves``.
    - ``macro_f1``: the mean of ``f1_sound`` and ``f1_wrong``.
    - ``sensitivity``: the share of wrong steps that are flagged; ``specificity``: the share of
      sound steps that are not; ``balanced_accuracy``: the mean of both.
    - ``mcc``: Matthews' correlation; 0 if all verdicts are the same, as in scikit-learn, but
      undefined if all labels are the same.
    - ``brier``, ``ece``: see the functions.

    Over chains that have a known first error, or are known to have none:

    - ``acc_err``: the share of chains with an error whose first flagged step is the first wrong
      one; ``acc_ok``: the share of chains without one in which nothing is flagged.
    - ``f1_first``: the harmonic mean of both, 0 if both are 0 (ProcessBench's F1).
    - ``flagged_early``: the share of chains with an error in which an earlier step is flagged.
    - ``unscored_chains``: the share of chains that an unscored step leaves undecided. These are
      left out of the four measures above.

    ``unscored`` is the share of all steps without a score. A measure without the labels that it
    needs has no value.
    """
    asked, scored = np.ones(len(steps.sound)), steps.by_chain(steps.scored)
    return {
        **rank_measures(steps),
        **confusion_measures(steps, threshold),
        **location_measures(steps, threshold),
        "brier": brier(steps),
        "ece": ece(steps),
        "unscored": ratio(steps.by_chain(asked) - scored, steps.by_chain(asked)),
    }


def confusion_measures(steps: ScoredSteps, threshold: float = THRESHOLD) -> dict[str, Measure]:
    """Measures of the confusion matrix of sound and wrong steps."""
    flagged = steps.score < threshold
    cells = (~steps.sound & flagged, ~steps.sound, steps.sound & flagged, steps.sound)
    caught, wrong, alarms, sound = (steps.by_chain(each & steps.scored) for each in cells)
    counts = np.column_stack([caught, wrong - caught, alarms, sound - alarms])

    def measure(formula: Callable[..., Floats]) -> Measure:
        return Measure(lambda weights: formula(*(weights @ counts).T), wrong + sound)

    return {
        "macro_f1": measure(macro_f1),
        "f1_sound": measure(f1_sound),
        "f1_wrong": measure(f1_wrong),
        "sensitivity": ratio(caught, wrong),
        "specificity": ratio(sound - alarms, sound),
        "balanced_accuracy": measure(_balanced_accuracy),
        "mcc": measure(_mcc),
    }


def location_measures(steps: ScoredSteps, threshold: float = THRESHOLD) -> dict[str, Measure]:
    """Measures of locating first errors."""
    errors = first_errors(steps)
    known, right = errors.known(threshold), errors.right(threshold)
    acc_err = ratio(right & errors.wrong, known & errors.wrong)
    acc_ok = ratio(right & ~errors.wrong, known & ~errors.wrong)
    return {
        "acc_err": acc_err,
        "acc_ok": acc_ok,
        "f1_first": Measure(
            lambda weights: harmonic_mean(acc_err.of(weights), acc_ok.of(weights)),
            known.astype(float),
        ),
        "flagged_early": ratio(
            errors.early(threshold) & errors.wrong & known, known & errors.wrong
        ),
        "unscored_chains": ratio(errors.located & ~known, errors.located),
    }


@dataclass(frozen=True, slots=True)
class PairedDifferences:
    """Differences of two judges on the steps that both scored.

    Attributes:
        steps: the number of these steps.
        chains: the number of chains in which both judges scored all steps.
        differences: second minus first, by the names of ``step_measures``, with 95% intervals
            from the same resamples of questions for both.
        p: two-sided p-values of the shares and means in ``TESTED``: the judges are swapped, all
            steps of a question at once. None: a test without values.
    """

    steps: int
    chains: int
    differences: Mapping[str, Estimate]
    p: Mapping[str, float | None]


TESTED = ("sensitivity", "specificity", "acc_err", "acc_ok", "brier")


def paired_differences(
    first: ScoredSteps,
    second: ScoredSteps,
    threshold: float = THRESHOLD,
    resamples: int = MEASURE_RESAMPLES,
    seed: int = SEED,
) -> PairedDifferences:
    """The differences of a second judge from a first one on the same steps.

    Chains with a step that either judge did not score are ignored when first errors are located.
    """
    both = first.scored & second.scored
    whole = first.by_chain(~both) == 0
    located = np.where(whole, first.first_error, np.nan)
    one, two = (replace(each, first_error=located).where(both) for each in (first, second))
    measures = [step_measures(each, threshold) for each in (one, two)]
    names = [name for name in measures[0] if not name.startswith("unscored")]
    pairs = {name: difference(measures[0][name], measures[1][name]) for name in names}
    return PairedDifferences(
        steps=int(both.sum()),
        chains=int((whole & (first.by_chain(both) > 0)).sum()),
        differences=estimate_measures(pairs, one.question, resamples, seed),
        p=_p_values(one, two, threshold),
    )


def _p_values(first: ScoredSteps, second: ScoredSteps, threshold: float) -> dict[str, float | None]:
    step_questions = first.question[first.chain]
    clusters = {"acc_err": first.question, "acc_ok": first.question}
    one, two = (_tested_values(each, threshold) for each in (first, second))
    return {
        name: swap_test(one[name], two[name], clusters=clusters.get(name, step_questions))
        for name in TESTED
    }


def _tested_values(steps: ScoredSteps, threshold: float) -> dict[str, Floats]:
    """One value for each step, or chain; NaN if it does not count."""
    flagged, errors = steps.score < threshold, first_errors(steps)
    right, known = errors.right(threshold), errors.known(threshold)
    return {
        "sensitivity": np.where(~steps.sound, flagged, np.nan),
        "specificity": np.where(steps.sound, ~flagged, np.nan),
        "acc_err": np.where(known & errors.wrong, right, np.nan),
        "acc_ok": np.where(known & ~errors.wrong, right, np.nan),
        "brier": (steps.score - steps.sound) ** 2,
    }


def _balanced_accuracy(caught: Floats, missed: Floats, alarms: Floats, passed: Floats) -> Floats:
    return (divided(caught, caught + missed) + divided(passed, passed + alarms)) / 2


def _mcc(caught: Floats, missed: Floats, alarms: Floats, passed: Floats) -> Floats:
    wrong, sound = caught + missed, passed + alarms
    called = (caught + alarms) * (passed + missed)
    both = divided(caught * passed - alarms * missed, np.sqrt(wrong * sound * called))
    return np.where(wrong * sound > 0, np.where(called > 0, both, 0.0), np.nan)


# --- scores read as probabilities


def reliability_bins(steps: ScoredSteps, bins: int = BINS) -> list[tuple[float, Estimate]]:
    """At most ``bins`` bins of about equal size, by score; equal scores share a bin.

    With at most ``bins`` distinct scores, each score has its own bin. Otherwise a score goes to the
    bin that contains the middle of its steps; empty bins are dropped.

    Returns:
        For each bin the mean score, and the share of sound steps with its interval over questions.
    """
    known = steps.scored
    score, sound = steps.score[known], steps.sound[known].astype(float)
    question, bin_of = steps.question[steps.chain[known]], _bins(score, bins)
    found = []
    for number in range(int(bin_of.max(initial=-1)) + 1):
        own = bin_of == number
        share = estimate_mean(sound[own], question[own], share=True)
        found.append((float(score[own].mean()), share))
    return found


def brier(steps: ScoredSteps) -> Measure:
    """The mean squared difference of score and label (Brier 1950); 0.25 if all scores are 0.5."""
    known = steps.scored
    error = np.where(known, (steps.score - steps.sound) ** 2, 0.0)
    return ratio(steps.by_chain(error), steps.by_chain(known), share=False)


def ece(steps: ScoredSteps, bins: int = BINS) -> Measure:
    """Mean distance of score and share of sound steps, weighted by bin size (Naeini 2015).

    Every resample uses the bins of all steps. Noise alone makes the error greater than 0,
    especially with few steps.
    """
    known = steps.scored
    bin_of = _bins(steps.score[known], bins)
    gaps = np.zeros((steps.chains, int(bin_of.max(initial=-1)) + 1))
    np.add.at(gaps, (steps.chain[known], bin_of), steps.score[known] - steps.sound[known])
    counts = steps.by_chain(known)

    def of(weights: Floats) -> Floats:
        return divided(np.abs(weights @ gaps).sum(axis=1), weights @ counts)

    return Measure(of, counts, centred=True)


def _bins(score: Floats, bins: int) -> Indices:
    """The bin of each score, from 0 without gaps, in the order of scores."""
    distinct, at, counts = np.unique(score, return_inverse=True, return_counts=True)
    if len(distinct) <= bins:
        return at
    middle = counts.cumsum() - counts / 2
    _, number = np.unique(np.floor(bins * middle / len(score)), return_inverse=True)
    found: Indices = number[at]
    return found

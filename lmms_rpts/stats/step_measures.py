"""Measures of how well a judge separates sound steps from wrong ones, by given labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from lmms_rpts.stats.intervals import Floats, Indices
from lmms_rpts.stats.measures import Measure, Statistic, divided, ratio
from lmms_rpts.stats.step_labels import ScoredSteps, first_errors

# A step is sound from this score on, as in RPTS.
THRESHOLD = 0.5

# Bins of the calibration error: at most this number, of about equal size.
BINS = 10
_AT_A_TIME = 250_000
_TIED = 1e-12


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

    - ``auc``, ``auc_within``, ``macro_f1_fitted``, ``f1_first_fitted``: see the functions.
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
        "balanced_accuracy": measure(
            lambda caught, missed, alarms, passed: (
                (divided(caught, caught + missed) + divided(passed, passed + alarms)) / 2
            )
        ),
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


def f1_wrong(caught: Floats, missed: Floats, alarms: Floats, passed: Floats) -> Floats:
    """F1 of the wrong steps; NaN if there are none."""
    value = divided(2 * caught, 2 * caught + missed + alarms)
    return np.where(caught + missed > 0, value, np.nan)


def f1_sound(caught: Floats, missed: Floats, alarms: Floats, passed: Floats) -> Floats:
    """F1 of the sound steps; NaN if there are none."""
    return f1_wrong(passed, alarms, missed, caught)


def macro_f1(caught: Floats, missed: Floats, alarms: Floats, passed: Floats) -> Floats:
    """The mean of the F1 of sound and of wrong steps; NaN if either is NaN.

    Args:
        caught: wrong steps that are called wrong; ``missed``: those that are not.
        alarms: sound steps that are called wrong; ``passed``: those that are not.
    """
    counts = (caught, missed, alarms, passed)
    return (f1_wrong(*counts) + f1_sound(*counts)) / 2


def harmonic_mean(one: Floats, two: Floats) -> Floats:
    """The harmonic mean; 0 if both are 0, NaN if either is NaN."""
    total = one + two
    return np.where(total == 0, 0.0, 2 * one * two / np.where(total == 0, 1.0, total))


def _mcc(caught: Floats, missed: Floats, alarms: Floats, passed: Floats) -> Floats:
    wrong, sound = caught + missed, passed + alarms
    called = (caught + alarms) * (passed + missed)
    both = divided(caught * passed - alarms * missed, np.sqrt(wrong * sound * called))
    return np.where(wrong * sound > 0, np.where(called > 0, both, 0.0), np.nan)


# --- ranking, and thresholds fitted to the data


def auc(steps: ScoredSteps) -> Measure:
    """The probability that a sound step has a higher score than a wrong one; ties count half."""
    score, counted = _by_score(steps)

    def of(weights: Floats) -> Floats:
        sound, wrong = counted(weights)
        above = sound.sum(axis=0) - sound.cumsum(axis=0)
        wins = (wrong * (above + sound / 2)).sum(axis=0)
        return divided(wins, sound.sum(axis=0) * wrong.sum(axis=0))

    return Measure(_in_parts(of, len(score)), steps.by_chain(steps.scored))


def _by_score(steps: ScoredSteps) -> tuple[Floats, Callable[[Floats], tuple[Floats, Floats]]]:
    """The d scores that occur, ascending; and a function of (k, m) weights of the chains.

    It returns the numbers of sound and of wrong steps with each score, (d, k) each.
    """
    score, at = np.unique(steps.score[steps.scored], return_inverse=True)
    chain, sound = steps.chain[steps.scored], steps.sound[steps.scored]
    tables = [
        csr_array(
            (np.ones(int(kept.sum())), (at[kept], chain[kept])), shape=(len(score), steps.chains)
        )
        for kept in (sound, ~sound)
    ]

    def counted(weights: Floats) -> tuple[Floats, Floats]:
        across = np.ascontiguousarray(weights.T)
        return tables[0] @ across, tables[1] @ across

    return score, counted


def auc_within(steps: ScoredSteps) -> Measure:
    """The AUC over pairs of steps of the same chain, including alternatives; all pairs are pooled.

    Differences between chains, such as difficulty or length, do not affect it. If labels end at the
    first error, the wrong step is always the last one, and scores that only decrease along the
    chain get 1. ``n``: number of chains with a pair.
    """
    known = steps.scored
    score, rank = np.unique(steps.score[known], return_inverse=True)
    chain, sound = steps.chain[known], steps.sound[known]
    # Sorted by chain, then by score, so that a chain's sound steps are adjacent.
    key = chain * (len(score) + 1) + rank
    ranked = np.sort(key[sound])
    key, chain = key[~sound], chain[~sound]
    start = np.searchsorted(ranked, chain * (len(score) + 1))
    end = np.searchsorted(ranked, (chain + 1) * (len(score) + 1))
    lower, upper = np.searchsorted(ranked, key), np.searchsorted(ranked, key, side="right")
    wins, pairs = (
        np.bincount(chain, values, minlength=steps.chains).astype(float)
        for values in ((end - upper) + (upper - lower) / 2, end - start)
    )
    return replace(ratio(wins, pairs, share=False), counts=(pairs > 0).astype(float))


def fitter(steps: ScoredSteps) -> Callable[[Floats], tuple[Floats, Floats]]:
    """A function that fits thresholds to (k, m) weights, each on one half of the questions.

    A half's threshold is its own score with the best macro F1. Ties go to the lowest score, which
    calls the fewest steps wrong. Steps at or above the threshold count as sound.

    Returns:
        (k, 2), the thresholds of halves 0 and 1, NaN if a half lacks sound or wrong steps; and
        (4, k): caught, missed, alarms, passed (see ``macro_f1``), where the steps of each half are
        classified by the threshold of the other half, NaN if a threshold is NaN.
    """
    score, counted = _by_score(steps)

    def confusions(weights: Floats) -> tuple[Floats, Indices]:
        """The confusion matrix at each score, (4, d, k); and the best score, -1 if undefined."""
        sound, wrong = counted(weights)
        alarms, caught = sound.cumsum(axis=0) - sound, wrong.cumsum(axis=0) - wrong
        cells = np.stack([caught, wrong.sum(axis=0) - caught, alarms, sound.sum(axis=0) - alarms])
        quality = np.where(sound + wrong > 0, macro_f1(*cells), -1.0)
        # The first one that differs from the best only by rounding.
        best = (quality >= quality.max(axis=0, initial=-1.0) - _TIED).argmax(axis=0)
        defined = (sound.sum(axis=0) > 0) & (wrong.sum(axis=0) > 0)
        return cells, np.where(defined, best, -1)

    def fit(weights: Floats) -> tuple[Floats, Floats]:
        if not len(score):
            return np.full((len(weights), 2), np.nan), np.full((4, len(weights)), np.nan)
        (cells, best), (others, other) = (confusions(weights * (steps.half == at)) for at in (0, 1))
        column = np.arange(len(weights))
        confusion = cells[:, other, column] + others[:, best, column]
        confusion[:, (best < 0) | (other < 0)] = np.nan
        return np.append(score, np.nan)[np.column_stack([best, other])], confusion

    return fit


def macro_f1_fitted(steps: ScoredSteps) -> Measure:
    """Macro F1 with the threshold of each half of the questions chosen on the other half."""
    fit, size = fitter(steps), len(np.unique(steps.score[steps.scored]))

    def of(weights: Floats) -> Floats:
        return macro_f1(*fit(weights)[1])

    return Measure(_in_parts(of, size), steps.by_chain(steps.scored))


def f1_first_fitted(steps: ScoredSteps) -> Measure:
    """F1 of first errors with the thresholds that were chosen for macro F1."""
    fit, errors = fitter(steps), first_errors(steps)
    size = len(np.unique(steps.score[steps.scored])) + steps.chains
    wrong = errors.wrong.astype(float)
    columns = np.column_stack([wrong, 1 - wrong])

    def of(weights: Floats) -> Floats:
        other = fit(weights)[0][:, ::-1]
        threshold = other[:, steps.half]
        right = (weights * errors.right(threshold)) @ columns
        known = (weights * errors.known(threshold)) @ columns
        both = harmonic_mean(*divided(right, known).T)
        return np.where(np.isnan(other).any(axis=1), np.nan, both)

    return Measure(_in_parts(of, size), errors.located.astype(float))


def _in_parts(statistic: Statistic, size: int) -> Statistic:
    """The statistic, computed in batches of weightings, since each needs arrays of ``size``."""
    rows = max(1, _AT_A_TIME // max(1, size))

    def of(weights: Floats) -> Floats:
        starts = range(0, len(weights), rows)
        return np.concatenate([statistic(weights[start : start + rows]) for start in starts])

    return of


# --- scores read as probabilities


def brier(steps: ScoredSteps) -> Measure:
    """The mean squared difference of score and label (Brier 1950); 0.25 if all scores are 0.5."""
    known = steps.scored
    error = np.where(known, (steps.score - steps.sound) ** 2, 0.0)
    return ratio(steps.by_chain(error), steps.by_chain(known), share=False)


def ece(steps: ScoredSteps) -> Measure:
    """Mean distance of score and share of sound steps, weighted by bin size (Naeini 2015).

    Every resample uses the bins of all steps. Noise alone makes the error greater than 0,
    especially with few steps.
    """
    known = steps.scored
    bin_of = _bins(steps.score[known])
    gaps = np.zeros((steps.chains, int(bin_of.max(initial=-1)) + 1))
    np.add.at(gaps, (steps.chain[known], bin_of), steps.score[known] - steps.sound[known])
    counts = steps.by_chain(known)

    def of(weights: Floats) -> Floats:
        return divided(np.abs(weights @ gaps).sum(axis=1), weights @ counts)

    return Measure(of, counts, centred=True)


def _bins(score: Floats) -> Indices:
    """The bin of each score, from 0 without gaps, in the order of scores; equal scores share one.

    With at most ``BINS`` distinct scores, each score has its own bin. Otherwise a score goes to the
    bin that contains the middle of its steps.
    """
    distinct, at, counts = np.unique(score, return_inverse=True, return_counts=True)
    if len(distinct) <= BINS:
        return at
    middle = counts.cumsum() - counts / 2
    _, number = np.unique(np.floor(BINS * middle / len(score)), return_inverse=True)
    found: Indices = number[at]
    return found

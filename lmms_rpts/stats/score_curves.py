"""Areas under ROC curves, and thresholds fitted to the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lmms_rpts.stats.intervals import Floats, Indices
from lmms_rpts.stats.measures import Measure, Statistic, divided, ratio
from lmms_rpts.stats.step_labels import ScoredSteps, first_errors

_AT_A_TIME = 250_000
_TIED = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """Number of sound and wrong steps of each of m chains with each of d scores.

    ``score``: (d,), ascending; ``sound``, ``wrong``: (d, m), sparse.
    """

    score: Floats
    sound: Any
    wrong: Any

    def of(self, chains: Any) -> Histograms:
        """Histograms of some of the chains, at the scores of all chains."""
        return Histograms(self.score, self.sound[:, chains], self.wrong[:, chains])

    def weighted(self, weights: Floats) -> tuple[Floats, Floats]:
        """Numbers of sound and wrong steps at each score, (d, k) each, for (k, m) weights."""
        across = np.ascontiguousarray(weights.T)
        return self.sound @ across, self.wrong @ across


def histograms(steps: ScoredSteps) -> Histograms:
    """Histograms of the steps with a score."""
    score, at = np.unique(steps.score[steps.scored], return_inverse=True)
    chain, sound = steps.chain[steps.scored], steps.sound[steps.scored]

    def counted(kept: Any) -> Any:
        ones, shape = np.ones(int(kept.sum())), (len(score), steps.chains)
        return csr_array((ones, (at[kept], chain[kept])), shape=shape)

    return Histograms(score, counted(sound), counted(~sound))


def auc(steps: ScoredSteps) -> Measure:
    """The probability that a sound step has a higher score than a wrong one; ties count half."""
    counted = histograms(steps)

    def of(weights: Floats) -> Floats:
        sound, wrong = counted.weighted(weights)
        above = sound.sum(axis=0) - sound.cumsum(axis=0)
        wins = (wrong * (above + sound / 2)).sum(axis=0)
        return divided(wins, sound.sum(axis=0) * wrong.sum(axis=0))

    return Measure(_in_parts(of, len(counted.score)), steps.by_chain(steps.scored))


def auc_within(steps: ScoredSteps) -> Measure:
    """The AUC over pairs of steps of the same chain, including alternatives; all pairs are pooled.

    Differences between chains, such as difficulty or length, do not affect it. If labels end at the
    first error, the wrong step is always the last one, and scores that only decrease along the
    chain get 1. ``n``: number of chains with a pair.
    """
    wins, pairs = _pairs_within(steps)
    return Measure(ratio(wins, pairs).of, (pairs > 0).astype(float))


def _pairs_within(steps: ScoredSteps) -> tuple[Floats, Floats]:
    """Correctly ordered pairs (ties count half) and all pairs of each chain, (m,) each."""
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
    wins = (end - upper) + (upper - lower) / 2
    wrong = steps.where(known & ~steps.sound)
    return wrong.by_chain(wins), wrong.by_chain((end - start).astype(float))


def fitter(steps: ScoredSteps) -> Callable[[Floats], tuple[Floats, Floats]]:
    """A function that fits thresholds to (k, m) weights, each on one half of the questions.

    A half's threshold is its own score with the best macro F1. Ties go to the lowest score, which
    calls the fewest steps wrong. Steps at or above the threshold count as sound.

    Returns:
        (k, 2), the thresholds of halves 0 and 1, NaN if a half lacks sound or wrong steps; and
        (4, k): caught, missed, alarms, passed (see ``macro_f1``), where the steps of each half are
        classified by the threshold of the other half, NaN if a threshold is NaN.
    """
    counted = histograms(steps)
    chains = [np.flatnonzero(steps.half == half) for half in (0, 1)]
    halves = [counted.of(own) for own in chains]

    def fit(weights: Floats) -> tuple[Floats, Floats]:
        below = []
        for own, half in zip(chains, halves, strict=True):
            sound, wrong = half.weighted(weights[:, own])
            below.append(_Below.of(sound, wrong))
        best = [each.best() for each in below]
        there = [at >= 0 for at in best]
        score = np.append(counted.score, np.nan)
        confusion = below[0].confusion(best[1]) + below[1].confusion(best[0])
        confusion[:, ~(there[0] & there[1])] = np.nan
        return np.column_stack([score[at] for at in best]), confusion

    return fit


@dataclass(frozen=True, slots=True, eq=False)
class _Below:
    """Number of steps of one half below each of d scores, (d, k), totals, and scores that occur.

    Steps below a threshold are called wrong: ``alarms`` are sound steps, ``caught`` wrong ones.
    """

    alarms: Floats
    caught: Floats
    sound: Floats
    wrong: Floats
    there: Any

    @classmethod
    def of(cls, sound: Floats, wrong: Floats) -> _Below:
        alarms, caught = sound.cumsum(axis=0), wrong.cumsum(axis=0)
        totals = sound.sum(axis=0), wrong.sum(axis=0)
        alarms -= sound
        caught -= wrong
        return cls(alarms, caught, *totals, (sound + wrong) > 0)

    def best(self) -> Indices:
        """Index of the score that is the best threshold, (k,); -1 if there is none."""
        defined = (self.sound > 0) & (self.wrong > 0)
        if not len(self.caught):
            return np.full(len(defined), -1)
        called = self.caught + self.alarms
        with np.errstate(divide="ignore", invalid="ignore"):
            # As macro_f1, but without its factor and its handling of undefined values.
            quality = self.caught / (called + self.wrong)
            quality += (self.sound - self.alarms) / (2 * self.sound + self.wrong - called)
        quality[~self.there] = -1.0
        # The first one that differs from the best only by rounding.
        first: Indices = (quality >= quality.max(axis=0) - _TIED).argmax(axis=0)
        return np.where(defined, first, -1)

    def confusion(self, at: Indices) -> Floats:
        """Caught, missed, alarms and passed at one threshold for each weighting: (4, k)."""
        if not len(self.caught):
            return np.zeros((4, len(at)))
        column = np.arange(len(at))
        caught, alarms = self.caught[at, column], self.alarms[at, column]
        return np.stack([caught, self.wrong - caught, alarms, self.sound - alarms])


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


def fitted_thresholds(steps: ScoredSteps) -> tuple[float, ...]:
    """The thresholds of halves 0 and 1; none if a half has no sound or no wrong step."""
    (found,) = fitter(steps)(np.ones((1, steps.chains)))[0].tolist()
    return () if np.isnan(found).any() else tuple(found)


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


def _in_parts(statistic: Statistic, size: int) -> Statistic:
    """The statistic, computed in batches of weightings, since each needs arrays of ``size``."""
    rows = max(1, _AT_A_TIME // max(1, size))

    def of(weights: Floats) -> Floats:
        starts = range(0, len(weights), rows)
        return np.concatenate([statistic(weights[start : start + rows]) for start in starts])

    return of

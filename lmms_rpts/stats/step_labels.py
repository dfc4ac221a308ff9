"""Labelled steps with a judge's scores, as arrays; and the location of first errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lmms_rpts.stats.intervals import Flags, Floats, Indices
from lmms_rpts.stats.measures import Counts


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSteps:
    """n labelled steps of m chains. Steps without a label are not included.

    Attributes:
        sound: (n,), the labels.
        score: (n,), from the judge, higher for sounder; NaN: unscored.
        chain: (n,), the chain of each step, from 0.
        place: (n,), its index in the chain; steps without a label leave gaps.
        question: (m,), the question of each chain, from 0 without gaps; questions are resampled.
        half: (m,), 0 or 1: thresholds are chosen on one half of the questions for the other.
        first_error: (m,), the place of the first wrong step; inf: there is none; NaN: unknown.
    """

    sound: Flags
    score: Floats
    chain: Indices
    place: Indices
    question: Indices
    half: Indices
    first_error: Floats

    @property
    def chains(self) -> int:
        """The number of chains."""
        return len(self.question)

    @property
    def scored(self) -> Flags:
        """(n,), whether a step has a score."""
        known: Flags = ~np.isnan(self.score)
        return known

    def by_chain(self, values: Counts) -> Floats:
        """(m,), the sums over the steps of each chain."""
        return np.bincount(self.chain, values, minlength=self.chains).astype(float)


@dataclass(frozen=True, slots=True, eq=False)
class FirstErrors:
    """Scores that decide whether a threshold finds the first error of each of m chains.

    Attributes:
        located: (m,), whether the data say where the error is, or that there is none.
        wrong: (m,), whether there is an error.
        before: (m,), the lowest score before the error (of all steps if there is no error), up to
            the first unscored step; inf if there is no such step.
        at: (m,), the score of the first wrong step; NaN: unscored; -inf: no error.
        gap: (m,), whether a step up to the error is unscored.
    """

    located: Flags
    wrong: Flags
    before: Floats
    at: Floats
    gap: Flags

    def early(self, threshold: float | Floats) -> Flags:
        """Chains with a flagged step before the error (no error: with any flagged step)."""
        found: Flags = self.located & (self.before < threshold)
        return found

    def known(self, threshold: float | Floats) -> Flags:
        """Chains whose result does not depend on an unscored step.

        A flagged step before any unscored one decides; steps after the first wrong one do not
        matter.
        """
        found: Flags = self.located & ~(self.gap & (self.before >= threshold))
        return found

    def right(self, threshold: float | Floats) -> Flags:
        """Chains whose first flagged step is the first wrong one (no error: no flagged step)."""
        found: Flags = self.known(threshold) & (self.before >= threshold) & (self.at < threshold)
        return found


def first_errors(steps: ScoredSteps) -> FirstErrors:
    """The first errors, and the scores of steps up to them."""
    last = steps.first_error[steps.chain]
    upto = steps.place <= last
    chain, place, score = steps.chain[upto], steps.place[upto], steps.score[upto]
    at_error = place == last[upto]

    gap_place = np.full(steps.chains, np.inf)
    unscored = np.isnan(score)
    np.minimum.at(gap_place, chain[unscored], place[unscored])
    ahead = ~at_error & (place < gap_place[chain])
    before = np.full(steps.chains, np.inf)
    np.minimum.at(before, chain[ahead], score[ahead])

    wrong = np.isfinite(steps.first_error)
    at = np.where(wrong, np.nan, -np.inf)
    at[chain[at_error]] = score[at_error]
    # Without a labelled step, a judge could not have found anything.
    labelled = np.bincount(chain, minlength=steps.chains) > 0
    return FirstErrors(
        located=~np.isnan(steps.first_error) & labelled,
        wrong=wrong,
        before=before,
        at=at,
        gap=np.isfinite(gap_place) | np.isnan(at),
    )

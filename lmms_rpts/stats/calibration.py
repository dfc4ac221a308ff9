"""Calibration of scores: reliability bins, Brier score, expected calibration error."""

from __future__ import annotations

import numpy as np

from lmms_rpts.stats.intervals import Estimate, Floats, Indices, estimate_mean
from lmms_rpts.stats.measures import Measure, divided, ratio
from lmms_rpts.stats.step_labels import ScoredSteps

BINS = 10


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

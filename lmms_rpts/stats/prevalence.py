"""Corrected share of wrong steps: the Rogan-Gladen estimator with a bootstrap interval.

A judge that calls a share p of all steps wrong misses some wrong steps and flags some sound ones.
With its sensitivity and specificity, the true share is
(p + specificity - 1) / (sensitivity + specificity - 1), kept within 0 and 1 (Rogan and Gladen 1978,
American Journal of Epidemiology 107, 71-76).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lmms_rpts.stats.intervals import (
    RESAMPLES,
    SEED,
    Flags,
    Floats,
    Indices,
    bootstrap,
    interval,
    numbered,
)
from lmms_rpts.stats.measures import divided

# A judge calls a step wrong if its score is below this threshold.
THRESHOLD = 0.5

# No correction is made if the formula is more than ``FAR`` outside of 0 to 1, and more than a
# share ``OUTSIDE`` of the resamples is on the same side: this is not chance, but shows that the
# judge has other error rates on the run.
FAR, OUTSIDE = 0.5, 0.975

# No correction is made up to this sum of sensitivity and specificity; at 1, a judge only guesses.
LEAST = 1.1


@dataclass(frozen=True)
class Tally:
    """Number of hits among the steps of each cluster.

    Attributes:
        hits: (n,), hits per cluster; ``sizes``: (n,), steps per cluster.
    """

    hits: Floats
    sizes: Floats

    @classmethod
    def of(cls, clusters: Indices, hits: Flags, among: Flags) -> Tally:
        """Count the hits among some of the steps; the arrays have one entry per step."""
        count = int(clusters.max(initial=-1)) + 1
        counts = (np.bincount(clusters, each, minlength=count) for each in (hits & among, among))
        return cls(*(each.astype(float) for each in counts))

    @property
    def share(self) -> float | None:
        """The share of hits among all steps; None if there are no steps."""
        steps = float(self.sizes.sum())
        return float(self.hits.sum()) / steps if steps else None

    @property
    def clusters(self) -> int:
        """The number of clusters with a step."""
        return int((self.sizes > 0).sum())


@dataclass(frozen=True)
class Rates:
    """Error rates of a judge on labelled steps; the clusters are questions.

    Attributes:
        found: the wrong steps of each question; a hit is one that the judge calls wrong.
        passed: the sound steps of each question; a hit is one that the judge calls sound.
        resamples: number of bootstrap resamples of questions.
    """

    found: Tally
    passed: Tally
    resamples: int = RESAMPLES

    @property
    def questions(self) -> int:
        """The number of questions with a labelled step."""
        return len(self.found.sizes)

    @cached_property
    def drawn(self) -> Floats:
        """Sensitivity and specificity in each resample of the questions, (resamples, 2)."""
        return _drawn((self.found, self.passed), self.resamples, SEED)


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected share with its 95% interval, each None if undefined.

    Attributes:
        sensitivity: the sensitivity that was used; ``specificity``: likewise.
        refused: why there is no value; None if there is one.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    sensitivity: float | None = None
    specificity: float | None = None
    refused: str | None = None


def tally(clusters: Sequence[Hashable], hits: Sequence[bool]) -> Tally:
    """Count hits by cluster: one entry per step."""
    hit = np.asarray(hits, dtype=bool)
    return Tally.of(numbered(clusters), hit, np.ones_like(hit))


def rates(
    questions: Sequence[Hashable],
    sound: Sequence[bool],
    scores: Sequence[float],
    resamples: int = RESAMPLES,
) -> Rates:
    """Count the right verdicts of a judge: one entry per labelled step with a score.

    Args:
        scores: the judge's scores, in [0, 1].
    """
    numbers, label = numbered(questions), np.asarray(sound, dtype=bool)
    wrong = np.asarray(scores, dtype=float) < THRESHOLD
    return Rates(Tally.of(numbers, wrong, ~label), Tally.of(numbers, ~wrong, label), resamples)


def rogan_gladen(share: Any, sensitivity: Any, specificity: Any) -> Any:
    """The true share of wrong steps if a judge calls ``share`` of all steps wrong.

    It is outside of 0 to 1 if the error rates do not hold for these steps.
    """
    return (share + specificity - 1) / (sensitivity + specificity - 1)


def corrected(called: Tally, known: Rates) -> Corrected:
    """Correct the share of steps that a judge calls wrong.

    The interval resamples the clusters of ``called`` and, independently, the questions of
    ``known`` (Efron and Tibshirani 1993, expanded percentiles of Hesterberg 2015 for the smaller
    number of the two). A resample in which the judge is not better than a guess is uninformative:
    it counts half as 0 and half as 1, and widens the interval. There is no interval for fewer than
    two clusters or questions.

    Args:
        called: the steps of each cluster that the judge calls wrong.
        known: the judge's error rates on labelled steps.
    """
    share, sensitivity, specificity = called.share, known.found.share, known.passed.share
    if share is None:
        return Corrected(None, refused="no step was scored")
    if sensitivity is None or specificity is None:
        which = "wrong" if sensitivity is None else "sound"
        return Corrected(None, refused=f"the set has no {which} step with a score")
    known_rates = Corrected(None, sensitivity=sensitivity, specificity=specificity)
    if round(sensitivity + specificity, 9) <= LEAST:
        reason = (
            f"sensitivity + specificity is {sensitivity + specificity:.2f}; the correction "
            f"is reliable only above {LEAST:g}"
        )
        return replace(known_rates, refused=reason)
    # Another seed: otherwise, equal numbers of clusters and questions would get the same draws.
    shares = _drawn((called,), known.resamples, SEED + 1)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = np.clip(rogan_gladen(shares, *known.drawn.T), 0.0, 1.0)
    # Not those where no wrong or no sound step was drawn: their rates are NaN.
    uninformative = ~(known.drawn.sum(axis=1) > 1) | np.isnan(shares)
    draws[uninformative] = np.arange(int(uninformative.sum())) % 2
    raw = rogan_gladen(share, sensitivity, specificity)
    value = min(1.0, max(0.0, raw))
    if abs(raw - value) > FAR and np.mean(draws == value) > OUTSIDE:
        reason = (
            f"the formula gives {raw:.2f}, outside of 0 to 1: the judge's error rates on this set "
            "do not hold for the run"
        )
        return replace(known_rates, refused=reason)
    clusters = min(called.clusters, known.questions)
    low, high = interval(draws, clusters) if clusters > 1 else (None, None)
    return replace(known_rates, value=value, low=low, high=high)


def _drawn(tallies: Sequence[Tally], resamples: int, seed: int) -> Floats:
    """The share of hits in each resample of the clusters, (resamples, tallies)."""
    hits = np.stack([each.hits for each in tallies], axis=1)
    sizes = np.stack([each.sizes for each in tallies], axis=1)

    draws: Floats = bootstrap(
        lambda weights: divided(weights @ hits, weights @ sizes), len(sizes), resamples, seed
    )[1].T
    return draws

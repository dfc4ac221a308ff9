"""The figures of a judge on one set, and of baselines without a judge."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lmms_rpts.runs.validity import Interval
from lmms_rpts.stats.intervals import numbered
from lmms_rpts.stats.measures import Measure, estimate_measures
from lmms_rpts.stats.step_labels import ScoredSteps
from lmms_rpts.stats.step_measures import rank_measures, step_measures
from lmms_rpts.validation.chains import LabelledChain

Scores = Sequence[Sequence[float | None]]
"""By chain and step; None: not judged, or no score."""

RANKINGS: Mapping[str, Callable[[LabelledChain, int], float]] = {
    "shortness": lambda chain, step: -float(len(chain.steps[step])),
    "place": lambda chain, step: -float(step),
}
"""Baselines that score steps without a judge: from a chain and the number of a step."""

COUNTED = ("unscored", "unscored_chains")
"""Metrics that are counts, so that they have no interval."""

_DIGITS = 12
"""Scores that differ only by floating-point error, as means of several answers may, are ties."""


def figures_of(
    chains: Sequence[LabelledChain], scores: Scores, judges: Mapping[str, Scores]
) -> dict[str, Any]:
    """The computed fields of ``ValidatedSet``, by name.

    Args:
        scores: scores of the judge.
        judges: scores of the other judges that serve as baselines, by name.
    """
    steps = scored_steps(chains, scores)
    baselines = {}
    for name, rank in RANKINGS.items():
        ranks = [[rank(chain, at) for at in range(len(chain.steps))] for chain in chains]
        by_rank = scored_steps(chains, ranks)
        baselines[name] = _intervals(rank_measures(by_rank), steps)
    others = {"always_sound": [[1.0] * len(chain.steps) for chain in chains], **judges}
    for name, own in others.items():
        baselines[name] = _intervals(step_measures(scored_steps(chains, own)), steps)
    return {"metrics": _intervals(step_measures(steps), steps), "baselines": baselines}


def _intervals(measures: Mapping[str, Measure], steps: ScoredSteps) -> dict[str, Interval]:
    return {
        name: Interval(value=each.value)
        if name in COUNTED
        else Interval(value=each.value, low=each.low, high=each.high)
        for name, each in estimate_measures(measures, steps.question).items()
    }


def scored_steps(chains: Sequence[LabelledChain], scores: Scores) -> ScoredSteps:
    """The labelled steps of chains as arrays.

    Args:
        chains: the chains.
        scores: for each chain, by step; None: not judged, or no score. Scores of unlabelled steps
            are ignored.
    """
    rows = [
        (at, step, chain.labels[step], scores[at][step])
        for at, chain in enumerate(chains)
        for step in chain.asked
    ]
    every = [math.nan if score is None else float(score) for *_, score in rows]
    return ScoredSteps(
        sound=np.array([label for *_, label, _ in rows], dtype=bool),
        score=np.round(np.array(every, dtype=float), _DIGITS),
        chain=np.array([at for at, *_ in rows], dtype=np.intp),
        place=np.array([step for _, step, *_ in rows], dtype=np.intp),
        question=numbered([chain.question for chain in chains]),
        half=np.array([half_of(chain.question) for chain in chains], dtype=np.intp),
        first_error=np.array([_first_error(chain) for chain in chains], dtype=float),
    )


def half_of(question: str) -> int:
    """0 or 1, from the id of the question only: the same in each sample of a set."""
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[0] & 1


def _first_error(chain: LabelledChain) -> float:
    """Number of the first wrong step; inf: there is none; NaN: unknown."""
    if not chain.located:
        return math.nan
    return math.inf if chain.first_error is None else float(chain.first_error)

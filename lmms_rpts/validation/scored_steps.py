"""Labelled chains and the scores of their steps, as arrays for the measures."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from lmms_rpts.stats.intervals import numbered
from lmms_rpts.stats.step_labels import ScoredSteps
from lmms_rpts.validation.chains import LabelledChain

_DIGITS = 12
"""Scores that differ only by floating-point error, as means of several answers may, are ties."""


def scored_steps(
    chains: Sequence[LabelledChain], scores: Sequence[Sequence[float | None]]
) -> ScoredSteps:
    """The labelled steps of chains.

    Args:
        scores: for each chain, by step; None: not judged, or no score. Scores of unlabelled steps
            are ignored.

    Raises:
        ValueError: the number of scores of a chain differs from its number of steps.
    """
    rows = [
        (at, step, chain, score)
        for at, (chain, own) in enumerate(zip(chains, scores, strict=True))
        for step, score in _labelled(chain, own)
    ]
    paths = [frozenset(chain.on_path) for chain in chains]
    every = [math.nan if score is None else float(score) for _, _, _, score in rows]
    return ScoredSteps(
        sound=np.array([chain.labels[step] for _, step, chain, _ in rows], dtype=bool),
        score=np.round(np.array(every, dtype=float), _DIGITS),
        chain=np.array([at for at, _, _, _ in rows], dtype=np.intp),
        place=np.array([chain.place(step) for _, step, chain, _ in rows], dtype=np.intp),
        on_path=np.array([step in paths[at] for at, step, _, _ in rows], dtype=bool),
        inherited=np.array([step in chain.inherited for _, step, chain, _ in rows], dtype=bool),
        question=numbered([chain.question for chain in chains]),
        stratum=numbered([chain.stratum for chain in chains]),
        half=np.array([half_of(chain.question) for chain in chains], dtype=np.intp),
        first_error=np.array([_first_error(chain) for chain in chains], dtype=float),
    )


def half_of(question: str) -> int:
    """0 or 1, from the id of the question only: the same in each sample of a set."""
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[0] & 1


def _labelled(
    chain: LabelledChain, scores: Sequence[float | None]
) -> list[tuple[int, float | None]]:
    if len(scores) != len(chain.steps):
        raise ValueError(f"{chain.id!r} has {len(chain.steps)} steps, but {len(scores)} scores")
    return [(step, scores[step]) for step in chain.asked]


def _first_error(chain: LabelledChain) -> float:
    """Position of the first error; inf: no error; NaN: unknown, or at a step that is not judged."""
    if not chain.located:
        return math.nan
    if chain.first_error is None:
        return math.inf
    asked = chain.labels[chain.first_error] is not None and chain.first_error in chain.on_path
    return float(chain.place(chain.first_error)) if asked else math.nan

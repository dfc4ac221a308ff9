"""Labelled chains with scores, written shortly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import Any

from lmms_rpts.stats.step_labels import ScoredSteps
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.scored_steps import half_of, scored_steps

LABELS = {"+": True, "-": False, ".": None}


@dataclass(frozen=True)
class Judged:
    """A chain and the scores of its steps."""

    chain: LabelledChain
    scores: tuple[float | None, ...]


def judged(
    labels: str,
    *scores: float | None,
    question: str = "",
    stratum: str = "",
    id: str = "",
    **more: Any,
) -> Judged:
    """A chain of steps with labels such as ``++-..``; a dot is a step without one.

    Its first error is the first minus. Without a name it has a question of its own.
    """
    first = labels.find("-")
    chain = LabelledChain(
        id=id,
        question=question,
        stratum=stratum,
        language="en",
        context="",
        steps=tuple(f"step {at}" for at in range(len(labels))),
        labels=tuple(LABELS[each] for each in labels),
        **{"first_error": None if first < 0 else first, **more},
    )
    return Judged(chain, scores)


def steps_of(chains: Sequence[Judged]) -> ScoredSteps:
    """The arrays of chains; those without a question have one each, of both halves in turn."""
    named = [
        each.chain
        if each.chain.question
        else replace(each.chain, question=question_name(at % 2, at))
        for at, each in enumerate(chains)
    ]
    return scored_steps(named, [each.scores for each in chains])


@cache
def question_name(half: int, number: int) -> str:
    """A name whose question is in that half."""
    names = (f"{number}-{at}" for at in count())
    return next(name for name in names if half_of(name) == half)

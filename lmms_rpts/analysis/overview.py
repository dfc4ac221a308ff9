"""Overview of a run: metrics with intervals, outcomes, first errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lmms_rpts.analysis.summary import summarize
from lmms_rpts.reasoning.tree import RIGHT_REASON, Modality, is_sound
from lmms_rpts.runs.rounds import Figure
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord

Outcome = Literal[
    "right_unsound", "right_sound", "wrong_sound", "wrong_unsound", "no_steps", "unjudged"
]

_APART = 0.3
"""The RPTS of two responses differ if the difference is larger than this."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Summary of a run.

    Attributes:
        documents: number of documents.
        metrics: each metric over all documents, with its 95% interval.
        outcomes: number of responses by outcome.
        origins: number of responses by height and modality of their first error; responses
            without a wrong step are not counted.
        unbroken: scored responses that have steps, none of them wrong.
        stepless: scored responses without a readable step.
    """

    documents: int
    metrics: Mapping[str, Figure]
    outcomes: Mapping[Outcome, int]
    origins: Mapping[tuple[int, Modality], int]
    unbroken: int
    stepless: int


def outcome(response: RptsRecord) -> Outcome:
    """The outcome of a response; sound means an RPTS of at least the threshold."""
    if response.rpts is None or response.answer.correct is None:
        return "unjudged"
    if response.outcome == "no_steps":
        return "no_steps"
    sound = is_sound(response.rpts, response.settings.threshold)
    if response.answer.correct:
        return "right_sound" if sound else "right_unsound"
    return "wrong_sound" if sound else "wrong_unsound"


def overview_of(run: Run) -> Overview:
    """Summarise a run; the metrics are the numbers in lmms-eval's table."""
    scored = [each for each in run.responses if each.rpts is not None]
    (figures,) = summarize([run]).models
    return Overview(
        documents=figures.documents,
        metrics=figures.metrics,
        outcomes=Counter(map(outcome, run.responses)),
        origins=Counter(
            (each.first_error.height, each.first_error.modality)
            for each in scored
            if each.first_error is not None
        ),
        unbroken=sum(each.first_error is None and bool(each.steps) for each in scored),
        stepless=sum(not each.steps for each in scored),
    )


def differing_in(records: Sequence[RptsRecord]) -> tuple[str, ...]:
    """In what responses of several runs to one instance differ.

    Any of ``answer``, ``soundness`` and ``rpts``. Unscored responses and ungraded answers are
    ignored.
    """
    right = {each.answer.correct for each in records} - {None}
    scores = [each.rpts for each in records if each.rpts is not None]
    spread = max(scores) - min(scores) if scores else 0.0
    threshold = records[0].settings.threshold if records else RIGHT_REASON
    found = {
        "answer": len(right) > 1,
        "soundness": len({is_sound(each, threshold) for each in scores}) > 1,
        "rpts": round(spread, 9) > _APART,
    }
    return tuple(name for name, differs in found.items() if differs)

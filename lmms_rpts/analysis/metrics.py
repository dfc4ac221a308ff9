"""Groups of the RPTS metrics, and how to read their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from lmms_rpts.filters.record import DIAGNOSTICS, RptsRecord
from lmms_rpts.filters.responses import undecided_note
from lmms_rpts.runs.rounds import document_means, there
from lmms_rpts.tasks.rpts_eval.results import LOWER_IS_BETTER

__all__ = [
    "COUNTS",
    "GROUPS",
    "LOWER_IS_BETTER",
    "NEITHER_IS_BETTER",
    "UNJUDGED",
    "undecided_notes",
]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "as published": (
        "rpts",
        "accuracy",
        "accuracy_rpts",
        "right_for_wrong_reason",
        "rpts_visual",
        "rpts_textual",
        "parse_rate",
        "judge_coverage",
    ),
    "guarded": (
        "rpts_guarded",
        "accuracy_guarded",
        "right_for_wrong_reason_guarded",
        "root_bears",
        "guarded_coverage",
    ),
    "diagnostics of the chains": DIAGNOSTICS,
}
"""All metrics, the headline of each group first."""

NEITHER_IS_BETTER = frozenset({"steps", "judge_coverage", "guarded_coverage"})
UNJUDGED = frozenset({"accuracy", "parse_rate"})
"""Metrics that need no judge."""

COUNTS = frozenset({"missing_references", "steps"})
"""Metrics without an upper bound; all others are in [0, 1]."""


def undecided_notes(label: str, responses: Sequence[RptsRecord]) -> Iterator[str]:
    """The range of a run's accuracy, if its model stated answers that nobody could decide."""
    undecided = [each.undecided for each in responses]
    if not any(undecided):
        return

    def accuracy(otherwise: float) -> float:
        filled = (
            (each.instance.key, otherwise if each.undecided else each.metrics["accuracy"])
            for each in responses
        )
        return fmean(there(document_means(filled)))

    note = undecided_note(sum(undecided), len(responses), accuracy(0.0), accuracy(1.0))
    yield f"{label}: {note}"

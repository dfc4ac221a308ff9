"""Groups of the RPTS metrics, and how to read their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.filters.responses import undecided_note
from lmms_rpts.runs.rounds import document_means, there

_TITLES = {
    "published": "as published",
    "guarded": "guarded",
    "diagnostic": "diagnostics of the chains",
}
GROUPS: Mapping[str, tuple[str, ...]] = {
    title: tuple(each.name for each in METRICS if each.group == group)
    for group, title in _TITLES.items()
}
"""All metrics, the headline of each group first."""

NEITHER_IS_BETTER = frozenset(each.name for each in METRICS if each.better == "neither")
UNJUDGED = frozenset({"accuracy", "parse_rate"})
"""Metrics that need no judge."""


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

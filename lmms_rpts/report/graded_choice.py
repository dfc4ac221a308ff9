"""Choice of the graded questions that a report shows, and the outcome of each answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lmms_rpts.tasks.grade_types import Grading

Graded = Literal["wrong", "unscored", "partial", "value", "right"]
"""How an answer was graded: ``value`` is a score that is neither right nor wrong."""

URGENCY: tuple[Graded, ...] = ("wrong", "unscored", "partial", "value", "right")
"""Outcomes in the order in which answers should be checked."""


@dataclass(frozen=True)
class Case:
    """The answers to one question, before they are prepared.

    Attributes:
        task: its task.
        key: identifies the question.
        answers: for each answer, the index of the run and the record.
        rank: lower ranks are shown first.
    """

    task: str
    key: tuple[object, ...]
    answers: tuple[tuple[int, Any], ...]
    rank: tuple[float, ...]


def identity(record: Any) -> tuple[object, ...]:
    """The task and question of a record, with the id, since other data number questions anew."""
    return (*record.instance.key, str(getattr(record.instance, "id", "")))


def score_of(grading: Grading, record: Any) -> float | None:
    """The value of the first metric, which says whether an answer is scored."""
    found = next(iter(grading.metrics.values()))(record)
    return None if found is None else float(found)


def outcome_of(grading: Grading, record: Any) -> Graded:
    """How an answer was graded."""
    score = score_of(grading, record)
    if score is None:
        return "unscored"
    if grading.display.scale(record):
        return "value"
    return "right" if score >= 1 else "partial" if score > 0 else "wrong"


def flags_of(grading: Grading, record: Any) -> tuple[str, ...]:
    """The lists of the benchmark that contain an answer."""
    return tuple(name for name, listing in grading.lists.items() if listing.wanted(record))


def rank_of(grading: Grading, record: Any) -> tuple[float, ...]:
    """The rank of an answer: lower ranks are shown first."""
    score = score_of(grading, record)
    order = URGENCY.index(outcome_of(grading, record))
    return (order, not flags_of(grading, record), 1.0 if score is None else score)


def choose(cases: Sequence[Case], limit: int | None) -> list[Case]:
    """The cases to show, by urgency, then by task and question.

    Args:
        limit: maximum number of cases, taken from the tasks in turn; None: all.
    """
    ordered = sorted(cases, key=lambda case: (case.rank, *map(_sortable, case.key)))
    if limit is None or len(ordered) <= limit:
        return ordered
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for place, case in enumerate(ordered):
        turns.append((seen[case.task], place))
        seen[case.task] += 1
    return [ordered[place] for place in sorted(place for _, place in sorted(turns)[:limit])]


def _sortable(part: object) -> tuple[int, str]:
    return (part, "") if isinstance(part, int) else (0, str(part))

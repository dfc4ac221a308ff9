"""Summary of runs that RPTS scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from statistics import fmean

from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.filters.record import RptsRecord, Scoring
from lmms_rpts.filters.responses import undecided_note
from lmms_rpts.runs.rounds import document_means, there
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.tasks.grade_types import (
    Column,
    Display,
    Figures,
    Grading,
    ShownAnswer,
    usual_question,
)
from lmms_rpts.tasks.graded import by_field, summarize_grades
from lmms_rpts.tasks.rpts_eval.results import LOWER_IS_BETTER
from lmms_rpts.tasks.sheets import metric_column

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
_HEADLINE = ("rpts", "rpts_guarded", "accuracy", "right_for_wrong_reason", "judge_coverage")
_UNJUDGED = frozenset({"accuracy", "parse_rate"})
"""Metrics that need no judge."""


def best(name: str, models: Sequence[Figures]) -> frozenset[str]:
    """The models with the best value of a metric, to the three digits that tables show.

    Empty if all are equal, if a higher value is not better, or if different shares of the responses
    were judged.
    """
    if name in NEITHER_IS_BETTER or (name not in _UNJUDGED and not _equally_judged(name, models)):
        return frozenset()
    values = {
        each.model: round(value, 3)
        for each in models
        if (value := each.metrics[name].value) is not None
    }
    if len(set(values.values())) < 2:
        return frozenset()
    top = min(values.values()) if name in LOWER_IS_BETTER else max(values.values())
    return frozenset(model for model, value in values.items() if value == top)


def _equally_judged(name: str, models: Sequence[Figures]) -> bool:
    coverage = "guarded_coverage" if name in GROUPS["guarded"] else "judge_coverage"
    shares = {each.metrics[coverage].value for each in models}
    return len({None if share is None else round(share, 3) for share in shares}) < 2


def undecided_notes(run: AnyRun) -> Iterator[str]:
    """The range of a run's accuracy, if its model stated answers that nobody could decide."""
    responses: Sequence[RptsRecord] = run.responses
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
    yield f"{run.label}: {note}"


def _root_error(record: RptsRecord) -> str | None:
    """Why a scored response has no guarded score; None if it has one, or can have none."""
    if record.rpts is None or record.root is None or record.root.score is not None:
        return None
    return next((each.error for each in record.root.questions if each.error), "no reason given")


def _cached(name: str) -> Callable[[RptsRecord], float | None]:
    return lambda record: record.metrics[name]


def _columns(names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(metric_column(name)._replace(best=partial(best, name)) for name in names)


GRADING = Grading(
    title="RPTS",
    metrics={each.name: _cached(each.name) for each in METRICS},
    lower=LOWER_IS_BETTER,
    neither=NEITHER_IS_BETTER,
    untested=(*GROUPS[_TITLES["diagnostic"]], "guarded_coverage"),
    kinds={each.name: each.kind for each in METRICS},
    breakdowns={
        "task": by_field("instance.task"),
        "language": by_field("instance.language"),
        "relation": by_field("instance.relation"),
        "ability": attrgetter("instance.abilities"),
    },
    first="task",
    questions="documents",
    # ``comparable`` follows from the judge.
    settings=tuple(name for name in Scoring.model_fields if name != "comparable"),
    asked={"whether the evidence leads to the answer (rpts_guarded)": _root_error},
    notes=undecided_notes,
    columns=_columns(_HEADLINE),
    groups={title: _columns(names) for title, names in GROUPS.items()},
    display=Display(
        question=lambda record: replace(usual_question(record), images=record.instance.visual_clue),
        answer=lambda record: ShownAnswer(final=record.answer.value),
    ),
    explained="n: documents. tokens: per response. [ ]: 95% interval over documents, for a single "
    "round. ±: sample standard deviation over rounds.",
)

summarize = partial(summarize_grades, GRADING)
"""Compares runs, with the tables of further breakdowns: see ``summarize_grades``."""

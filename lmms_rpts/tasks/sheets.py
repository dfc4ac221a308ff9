"""Tables of texts that show the grades of a benchmark, before rendering."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lmms_rpts.escaping import columns, printable, shorten
from lmms_rpts.runs.rounds import NONE, figure_text, token_text
from lmms_rpts.tasks.grade_types import Breakdown, Column, Figures, Group
from lmms_rpts.tasks.graded import GradeSummary

NOT_GIVEN = "(not given)"
"""The name of a group without a value in the data."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, which are untrusted.

    Attributes:
        heads: headings of the columns.
        texts: number of text columns; the others, to their right, have numbers.
        sections: rows that belong together.
    """

    title: str
    heads: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]


def summary_sheets(summary: GradeSummary) -> list[Sheet]:
    """The tables of a summary: the default breakdown, its related tables, then the others.

    Columns that are uninformative for all models are left out.
    """
    grading = summary.grading
    shown = _Columns(summary)
    others = list(summary.tables)
    first = others.pop(0) if grading.first else Breakdown("", ())
    further = grading.sheets(summary.models) if grading.sheets else ()
    return [shown.sheet(first, summary.overall), *further, *map(shown.sheet, others)]


def listing_sheet(summary: GradeSummary, option: str, most: int) -> Sheet | None:
    """The first entries of a list; None if there are none."""
    listing, found = summary.grading.lists[option], summary.lists[option]
    if not found:
        return None
    rows = [listing.cells(entry) for entry in found[:most]]
    texts = listing.texts
    if "task" in rows[0] and len({entry["task"] for entry in found}) == 1:
        texts -= 1
        rows = [{head: text for head, text in row.items() if head != "task"} for row in rows]
    title = f"{len(rows)} of {len(found)} {listing.what}"
    cells = [[shorten(text, 60) for text in row.values()] for row in rows]
    return Sheet(title, list(rows[0]), texts, [cells])


def explanation(summary: GradeSummary) -> str:
    """What the shown columns mean."""
    hidden = tuple(f"{each.head}: " for each in _Columns(summary).hidden)
    sentences = re.split(r"(?<=\.) (?=[^.:]{1,40}: )", summary.grading.explained)
    return " ".join(each for each in sentences if not each.startswith(hidden))


class _Columns:
    """The columns of the tables of a summary; ``hidden``: columns without a value for any model."""

    def __init__(self, summary: GradeSummary) -> None:
        self._grading = summary.grading
        self._tasks = len({each.task for each in summary.models}) > 1
        self._models = len({each.model for each in summary.models}) > 1
        columns = (
            Column("n", lambda each: str(each.questions)),
            *self._grading.columns,
            Column(
                "tokens",
                lambda each: token_text(each.tokens),
                lambda each: each.tokens.value is not None,
            ),
            Column("unscored", lambda each: str(each.unscored), lambda each: bool(each.unscored)),
        )
        self._numbers = [each for each in columns if any(map(each.speaks, summary.models))]
        self.hidden = [each for each in columns if each not in self._numbers]

    def sheet(self, table: Breakdown, overall: Group | None = None) -> Sheet:
        """A breakdown as texts, with the rows over all questions at the end."""
        tasks = self._tasks and table.by != "task"
        names = [table.by or self._grading.questions, *["task"] * tasks, *["model"] * self._models]
        groups = [*table.groups, *([overall] if overall else [])]
        sections = []
        for group in groups:
            value = NOT_GIVEN if group.value is None else shorten(group.value, 40)
            rows = [self._row(each, tasks) for each in group.models]
            rows[0][0] = f"all {self._grading.questions}" if group is overall else value
            sections.append(rows)
        by = f" by {table.by}" if table.by else ""
        heads = [*names, *(each.head for each in self._numbers)]
        return Sheet(f"{self._grading.title}{by}", heads, len(names), sections)

    def _row(self, figures: Figures, tasks: bool) -> list[str]:
        names = [figures.task] * tasks + [figures.model] * self._models
        numbers = (each.text(figures) for each in self._numbers)
        return ["", *(shorten(name, 40) for name in names), *numbers]


def metric_column(metric: str, head: str = "") -> Column:
    """A column of a metric with its interval or deviation, shown if any model has a value."""
    return Column(
        head or metric,
        lambda each: figure_text(each.metrics[metric]),
        lambda each: bool(each.metrics[metric].n),
    )


def share_text(metric: str) -> Callable[[Figures], str]:
    """The text of a metric's value only."""

    def text(figures: Figures) -> str:
        value = figures.metrics[metric].value
        return NONE if value is None else f"{value:.3f}"

    return text


def subject_names(figures: Figures) -> list[str]:
    """The first cells of a row: task and model."""
    return [shorten(figures.task, 40), shorten(figures.model, 40)]


def end_of(answer: str, width: int = 60) -> str:
    """The end of an answer, which has the graded part; ``width`` columns at most."""
    plain = printable(answer)
    if columns(plain) <= width:
        return plain
    end = plain[-width:]
    while columns(end) >= width:
        end = end[1:]
    return f"…{end}"

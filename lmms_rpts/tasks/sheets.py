"""Tables of texts that show the grades of a benchmark, before rendering."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import shorten
from lmms_rpts.runs.rounds import figure_text, token_text
from lmms_rpts.stats.figures import figure
from lmms_rpts.tasks.grade_types import Best, Breakdown, Column, Figures, Grading, Group, Sheet
from lmms_rpts.tasks.graded import GradeSummary

NOT_GIVEN = "(not given)"
"""The name of a group without a value in the data."""


def summary_sheets(
    summary: GradeSummary, wanted: Sequence[str] = (), every: bool = False
) -> list[Sheet]:
    """The tables of a summary: the default breakdown, its related tables, then the others.

    Columns that are uninformative for all models are left out.

    Args:
        wanted: headings of the columns to show, in this order; empty: the benchmark's.
        every: all metrics, in one table for each of the benchmark's groups.
    """
    grading = summary.grading
    others = list(summary.tables)
    first = others.pop(0) if grading.first else Breakdown("", ())
    title = grading.title
    if summary.overall and len(first.groups) == 1:
        title += f" of {shorten(first.groups[0].value or NOT_GIVEN, 40)}"
        first = Breakdown("", ())
    further = grading.sheets(summary.models) if grading.sheets else ()
    sets = {"": _chosen(summary, wanted) if wanted else _shown(summary, grading.columns)}
    if every and grading.groups and not wanted:
        sets = {
            f": {of}": _shown(summary, names)
            for of, names in grading.groups_in(summary.models).items()
        }
    tables = [(first, summary.overall), *((each, None) for each in others)]
    made = [
        _sheet(summary, columns, table, overall, f"{title}{of}")
        for table, overall in tables
        for of, columns in sets.items()
    ]
    return [*made[: len(sets)], *further, *made[len(sets) :]]


def explanation(summary: GradeSummary, sheets: Sequence[Sheet] = ()) -> str:
    """What the columns mean that the sheets show; without sheets, those of ``summary_sheets``."""
    grading = summary.grading
    shown = {head for sheet in sheets or summary_sheets(summary) for head in sheet.heads}
    known = {each.head: each.words for each in _known(summary)}
    meant = {"n": grading.questions} | {
        head: words for head, words in known.items() if words and head in shown
    }
    # Marks such as ± and headings of further tables are always explained.
    meant |= {
        head: words
        for head, words in grading.explained.items()
        if head in shown or head not in known
    }
    return " ".join(f"{head}: {words}." for head, words in meant.items())


_N = Column("n", lambda each: str(each.questions))
_ROUNDS = Column("rounds", lambda each: str(each.rounds), lambda each: each.rounds > 1)
_TOKENS = Column(
    "tokens", lambda each: token_text(each.tokens), lambda each: each.tokens.value is not None
)
_UNSCORED = Column("unscored", lambda each: str(each.unscored), lambda each: bool(each.unscored))


def _known(summary: GradeSummary) -> list[Column]:
    """All columns that can be shown: the benchmark's, then its other metrics."""
    grading = summary.grading
    others = [name for name in grading.metrics if name not in grading.columns]
    return _columns(grading, [*grading.columns, *others])


def _columns(grading: Grading, names: Sequence[str | Column]) -> list[Column]:
    """These columns, between those that all benchmarks have."""
    chosen = (metric_column(grading, each) if isinstance(each, str) else each for each in names)
    return [_N, _ROUNDS, *chosen, _TOKENS, _UNSCORED]


def _shown(summary: GradeSummary, names: Sequence[str | Column]) -> list[Column]:
    """The informative columns of a table."""
    return [
        each
        for each in _columns(summary.grading, names)
        if any(map(each.informative, summary.models))
    ]


def _chosen(summary: GradeSummary, wanted: Sequence[str]) -> list[Column]:
    known = {each.head: each for each in _known(summary)}
    if unknown := next((name for name in wanted if name not in known), None):
        raise UserError(f"Unknown column {unknown!r}; columns: {', '.join(known)}")
    return [known[name] for name in wanted]


def _sheet(
    summary: GradeSummary,
    columns: Sequence[Column],
    table: Breakdown,
    overall: Group | None,
    title: str,
) -> Sheet:
    """A breakdown as texts, with the rows over all questions at the end."""
    grading = summary.grading
    tasks = table.by != "task" and len({each.task for each in summary.models}) > 1
    groups = [*table.groups, *([overall] if overall else [])]
    # The only group needs no name.
    named = len(groups) > 1 or bool(table.by)
    models = not named or len({each.model for each in summary.models}) > 1
    sections = []
    for group in groups:
        value = NOT_GIVEN if group.value is None else shorten(group.value, 40)
        name = f"all {grading.questions}" if group is overall else value
        rows = [
            [
                *[name if at == 0 else ""] * named,
                *[shorten(each.task, 40)] * tasks,
                *[shorten(each.model, 40)] * models,
                *(_cell(column, each, group) for column in columns),
            ]
            for at, each in enumerate(group.models)
        ]
        sections.append(rows)
    names = [*[table.by or grading.questions] * named, *["task"] * tasks, *["model"] * models]
    by = f" by {table.by}" if table.by else ""
    heads = [*names, *(each.head for each in columns)]
    return Sheet(f"{title}{by}", heads, len(names), sections)


def _cell(column: Column, figures: Figures, group: Group) -> str:
    text = column.text(figures)
    return Best(text) if figures.model in column.best(group.models) else text


def metric_column(grading: Grading, name: str) -> Column:
    """The column of a metric, shown if any model has a value."""
    metric = grading.metrics[name]

    def text(figures: Figures) -> str:
        found = figures.metrics[name]
        return figure_text(found) if metric.interval else figure(found.value)

    return Column(
        metric.title,
        text,
        lambda each: each.metrics[name].value is not None,
        partial(grading.best, name) if grading.best else (lambda models: ()),
        metric.explained,
    )


def subject_names(figures: Figures) -> list[str]:
    """The first cells of a row: task and model."""
    return [shorten(figures.task, 40), shorten(figures.model, 40)]

"""Tables of texts that show a summary, before rendering."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import shorten
from lmms_rpts.runs.metrics import Metric
from lmms_rpts.runs.rounds import figure_text, token_text
from lmms_rpts.stats.figures import figure

if TYPE_CHECKING:
    from lmms_rpts.analysis.summary import Breakdown, Figures, Summary

NOT_GIVEN = "(not given)"
"""The name of a group without a value in the data."""

_LEGEND = {"n": "documents", "tokens": "per response"}
_MARKS = {
    "[ ]": "95% interval over documents, for a single round",
    "±": "sample standard deviation over rounds",
}
_UNJUDGED = frozenset({"accuracy", "parse_rate"})
"""Metrics of RPTS that need no judge."""


class Best(str):
    """The text of a cell with the best value of its column."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, which are untrusted.

    Attributes:
        title: empty: none is shown.
        heads: headings of the columns.
        texts: number of text columns; the others, to their right, have numbers.
        sections: rows that belong together.
    """

    title: str
    heads: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]

    @staticmethod
    def is_best(cell: str) -> bool:
        """Whether a cell is emphasized."""
        return isinstance(cell, Best)


class Column(NamedTuple):
    """A column of numbers: its heading, a model's text, and whether it is informative.

    ``metric``: the metric that it shows; None: a count.
    """

    head: str
    text: Callable[[Figures], str]
    informative: Callable[[Figures], bool] = lambda figures: True
    metric: Metric | None = None


def summary_sheets(
    summary: Summary, wanted: Sequence[str] = (), every: bool = False
) -> list[Sheet]:
    """The tables of a summary: the breakdown that is always shown, related tables, the others.

    Columns that are uninformative for all models are left out.

    Args:
        wanted: headings of the columns to show, in this order; empty: the benchmark's.
        every: all metrics, in one table for each of their groups.
    """
    benchmark = summary.benchmark
    metrics = [*benchmark.metrics.values()]
    default = [benchmark.metrics[name] for name in benchmark.columns]
    asked = [each for each in metrics if each.group and (each.over or each.optional)]
    sets = {"": _columns(summary, default)}
    further = {of: _columns(summary, each) for of, each in by_group(asked).items()}
    if wanted:
        sets[""] = _chosen(_every_column(metrics), wanted)
    elif every:
        sets = {of: _columns(summary, each) for of, each in by_group(metrics).items()}
        further = {}
    title, breakdowns = _titled(summary)
    tables = [
        _sheet(summary, f"{title}{f': {of}' * bool(of)}{f' by {by}' * bool(by)}", by, rows, columns)
        for by, rows in breakdowns
        for of, columns in sets.items()
    ]
    related = []
    for of, columns in further.items():
        shown = [each for each in columns if each.metric]
        models = [it for it in summary.models if any(each.informative(it) for each in shown)]
        related += [_sheet(summary, of, "", [("", models)], columns)] * bool(models)
    if summary.dimensions:
        related += summary.dimensions.dimension_sheets(summary.models)
    return [*tables[: len(sets)], *related, *tables[len(sets) :]]


def explanation(summary: Summary, sheets: Sequence[Sheet] = ()) -> str:
    """What the columns mean that the sheets show; without sheets, those of ``summary_sheets``."""
    shown = {head for sheet in sheets or summary_sheets(summary) for head in sheet.heads}
    words = _LEGEND | {each.title: each.explained for each in summary.benchmark.metrics.values()}
    meant = {head: words[head] for head in words if words[head] and head in shown} | _MARKS
    return " ".join(f"{head}: {words}." for head, words in meant.items())


def best(metric: Metric, models: Sequence[Figures]) -> frozenset[str]:
    """The models with the best value of a metric, to the three digits that tables show.

    Empty if all are equal, if a higher value is not better, or if different shares of the responses
    have a score, unless the metric needs none.
    """
    unscored = {round(each.unscored / each.responses, 3) for each in models}
    if metric.higher_is_better is None or (len(unscored) > 1 and metric.name not in _UNJUDGED):
        return frozenset()
    values = {
        each.model: round(value, 3)
        for each in models
        if (value := each.metrics[metric.name].value) is not None
    }
    if len(set(values.values())) < 2:
        return frozenset()
    top = max(values.values()) if metric.higher_is_better else min(values.values())
    return frozenset(model for model, value in values.items() if value == top)


Rows = list[tuple[str, Sequence["Figures"]]]
"""The models of each group, with its name."""


def _titled(summary: Summary) -> tuple[str, list[tuple[str, Rows]]]:
    """The title of the tables, and the rows of each breakdown.

    The first one ends with the rows over all documents; with a single group, these are all.
    """
    title = summary.benchmark.record.BENCHMARK
    breakdowns = [(table.by, _rows(table)) for table in summary.tables]
    _, first = breakdowns[0]
    if summary.overall and len(first) == 1:
        title += f" of {first[0][0]}"
        breakdowns[0] = ("", [("", summary.overall.models)])
    elif summary.overall:
        first.append(("all documents", summary.overall.models))
    return title, breakdowns


def _rows(table: Breakdown) -> Rows:
    return [
        (NOT_GIVEN if group.value is None else shorten(group.value, 40), group.models)
        for group in table.groups
    ]


def by_group(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """The metrics by the title of their group."""
    found: dict[str, list[Metric]] = {}
    for each in metrics:
        found.setdefault(each.group, []).append(each)
    return found


def _columns(summary: Summary, metrics: Iterable[Metric]) -> list[Column]:
    """The informative columns of these metrics, and of the counts."""
    return [each for each in _every_column(metrics) if any(map(each.informative, summary.models))]


def _every_column(metrics: Iterable[Metric]) -> list[Column]:
    """The columns of these metrics, between those that all tables have."""
    return [
        Column("n", lambda each: str(each.documents)),
        Column("rounds", lambda each: str(each.rounds), lambda each: each.rounds > 1),
        *map(metric_column, metrics),
        Column("tokens", lambda it: token_text(it.tokens), lambda it: it.tokens.value is not None),
        Column("unscored", lambda each: str(each.unscored), lambda each: bool(each.unscored)),
    ]


def metric_column(metric: Metric) -> Column:
    """The column of a metric, which is informative for models with a value."""

    def text(figures: Figures) -> str:
        found = figures.metrics[metric.name]
        return figure_text(found) if metric.interval else figure(found.value)

    def has_value(figures: Figures) -> bool:
        return figures.metrics[metric.name].value is not None

    return Column(metric.title, text, has_value, metric)


def _chosen(known: Iterable[Column], wanted: Sequence[str]) -> list[Column]:
    by_head = {each.head: each for each in known}
    if unknown := next((name for name in wanted if name not in by_head), None):
        raise UserError(f"Unknown column {unknown!r}; columns: {', '.join(by_head)}")
    return [by_head[name] for name in wanted]


def _sheet(summary: Summary, title: str, by: str, rows: Rows, columns: Sequence[Column]) -> Sheet:
    """The models of groups as texts; the names of tasks and models stand where there are several.

    ``by``: the heading of the groups; empty: there is one, without a name.
    """
    tasks = by != "task" and len({each.task for each in summary.models}) > 1
    models = not by or len({each.model for each in summary.models}) > 1
    heads = [*[by] * bool(by), *["task"] * tasks, *["model"] * models]
    sections = []
    for name, figures in rows:
        section = []
        for at, each in enumerate(figures):
            texts = [*["" if at else name] * bool(by), *[shorten(each.task, 40)] * tasks]
            texts += [shorten(each.model, 40)] * models
            section.append([*texts, *(_cell(column, each, figures) for column in columns)])
        sections.append(section)
    return Sheet(title, [*heads, *(each.head for each in columns)], len(heads), sections)


def _cell(column: Column, figures: Figures, models: Sequence[Figures]) -> str:
    """A cell; the best of the models on one task is emphasized."""
    text, tasks = column.text(figures), {each.task for each in models}
    if column.metric and len(tasks) == 1 and figures.model in best(column.metric, models):
        return Best(text)
    return text

"""Tables of texts that show a summary, before rendering."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import shorten
from lmms_rpts.runs.metrics import Metric
from lmms_rpts.runs.rounds import NONE, figure_text, token_text
from lmms_rpts.stats.figures import figure

if TYPE_CHECKING:
    from lmms_rpts.analysis.summary import Figures, Summary

NOT_GIVEN = "(not given)"
"""The name of a group without a value in the data."""

_EXPLAINED = {"n": "documents", "tokens": "per response"}
_MARKS = {
    "[ ]": "95% interval over documents, for a single round",
    "±": "sample standard deviation over rounds",
}
_UNINFORMATIVE = {"n": "", "rounds": "1", "unscored": "0"}
"""The text of a column that is not worth showing; of others, that of a missing value."""
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


Columns = Mapping[str, Callable[["Figures"], str]]
"""Columns of numbers: the text of a row by the heading."""


def summary_sheets(
    summary: Summary, wanted: Sequence[str] = (), every: bool = False
) -> list[Sheet]:
    """The tables of a summary: the breakdown that is always shown, related tables, the others.

    Columns that are uninformative for all models are left out.

    Args:
        wanted: headings of the columns to show, in this order; empty: the benchmark's.
        every: all metrics, in one table for each of their groups.
    """
    benchmark, metrics = summary.benchmark, [*summary.benchmark.metrics.values()]
    asked = [each for each in metrics if each.group and (each.over or each.optional)]
    further = by_group(asked)
    sets = {"": _columns(summary, [benchmark.metrics[name] for name in benchmark.columns])}
    if wanted:
        known = _every_column(metrics)
        if unknown := next((name for name in wanted if name not in known), None):
            raise UserError(f"Unknown column {unknown!r}; columns: {', '.join(known)}")
        sets[""] = {name: known[name] for name in wanted}
    elif every:
        sets = {of: _columns(summary, each) for of, each in by_group(metrics).items()}
        further = {}
    related = []
    for of, members in further.items():
        rows = [
            it
            for it in summary.models
            if any(it.metrics[each.name].value is not None for each in members)
        ]
        related += [_sheet(summary, of, "", rows, _columns(summary, members))] * bool(rows)
    if summary.dimensions:
        related += summary.dimensions.dimension_sheets(summary.models)
    title = benchmark.record.BENCHMARK
    tables = [(by, summary.of(by)) for by in dict.fromkeys(it.by for it in summary.rows) if by]
    groups = {row.group for row in tables[0][1]}
    if len(groups) == 1 and not benchmark.by_task:  # it has all documents
        title += f" of {_name(tables[0][1][0])}"
        tables[0] = ("", summary.models)
    elif not benchmark.by_task:
        tables[0][1].extend(summary.models)
    sheets = [
        _sheet(summary, f"{title}{f': {of}' * bool(of)}{f' by {by}' * bool(by)}", by, rows, columns)
        for by, rows in tables
        for of, columns in sets.items()
    ]
    return [*sheets[: len(sets)], *related, *sheets[len(sets) :]]


def explanation(summary: Summary, sheets: Sequence[Sheet] = ()) -> str:
    """What the columns mean that the sheets show; without sheets, those of ``summary_sheets``."""
    shown = {head for sheet in sheets or summary_sheets(summary) for head in sheet.heads}
    words = _EXPLAINED | {each.title: each.explained for each in summary.benchmark.metrics.values()}
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


def by_group(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """The metrics by the title of their group."""
    found: dict[str, list[Metric]] = {}
    for each in metrics:
        found.setdefault(each.group, []).append(each)
    return found


def _columns(summary: Summary, metrics: Iterable[Metric]) -> Columns:
    """The informative columns of these metrics, and of the counts."""
    return {
        head: text
        for head, text in _every_column(metrics).items()
        if any(text(row) != _UNINFORMATIVE.get(head, NONE) for row in summary.models)
    }


def _every_column(metrics: Iterable[Metric]) -> Columns:
    """The columns of these metrics, between those that all tables have."""
    return {
        "n": lambda row: str(row.documents),
        "rounds": lambda row: str(row.rounds),
        **{each.title: partial(_text, each) for each in metrics},
        "tokens": lambda row: token_text(row.tokens),
        "unscored": lambda row: str(row.unscored),
    }


def _text(metric: Metric, row: Figures) -> str:
    found = row.metrics[metric.name]
    return figure_text(found) if metric.interval else figure(found.value)


def _name(row: Figures) -> str:
    """The name of a row's group."""
    if not row.by:
        return "all documents"
    return NOT_GIVEN if row.group is None else shorten(row.group, 40)


def _sheet(
    summary: Summary, title: str, by: str, rows: Sequence[Figures], columns: Columns
) -> Sheet:
    """Rows as texts, by group; the names of tasks and models stand where there are several.

    ``by``: the heading of the groups; empty: there is one, without a name.
    """
    tasks = by != "task" and len({each.task for each in summary.models}) > 1
    models = not by or len({each.model for each in summary.models}) > 1
    heads = [*[by] * bool(by), *["task"] * tasks, *["model"] * models]
    metrics = {each.title: each for each in summary.benchmark.metrics.values()}
    sections = []
    for _, group in groupby(rows, lambda row: (row.by, row.group)):
        section: list[list[str]] = []
        found = [*group]
        for row in found:
            texts = [*["" if section else _name(row)] * bool(by), *[shorten(row.task, 40)] * tasks]
            texts += [shorten(row.model, 40)] * models
            rivals = [each for each in found if each.task == row.task]
            for head, text in columns.items():
                is_best = head in metrics and row.model in best(metrics[head], rivals)
                texts.append(Best(text(row)) if is_best else text(row))
            section.append(texts)
        sections.append(section)
    return Sheet(title, [*heads, *columns], len(heads), sections)

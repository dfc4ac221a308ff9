"""Tables of a validation: for the terminal, Markdown and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.escaping import (
    cut_middle,
    escape_markdown,
    listed,
    markdown_table,
    printable,
    shorten,
)
from lmms_rpts.runs.validity import BUILT_IN, Figures, Interval, Usage, ValidatedSet, Validity
from lmms_rpts.validation import terms
from lmms_rpts.validation.run import Validation

if TYPE_CHECKING:
    import pandas as pd

FRAME_TYPES: Mapping[str, str] = {
    "set": "string",
    "metric": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "source": "string",
}
"""Columns of ``frame_of``; ``source``: judge, own, or the name of a baseline."""

_SHOWN = (
    "auc",
    "auc_within",
    "sensitivity",
    "specificity",
    "macro_f1",
    "acc_err",
    "acc_ok",
    "f1_first",
    "brier",
    "ece",
    "unscored",
)
_BASELINES = ("shortness", "place", "lexical")
_HEADS = ("metric", "judge", "95% interval", *_BASELINES)
_NAME, _TITLE = 40, 90
_ANCHORS = 5
_NOTES = (
    "AUC: chance that a sound step scores higher than a wrong one; 0.5 is a guess. Compare it "
    "with the baselines shortness (shorter steps score higher), place (earlier steps score higher) "
    "and lexical (word overlap). A judge that is not better than shortness gives no evidence that "
    "it can judge reasoning.",
    "Steps count as sound from 0.5. Sensitivity: share of the wrong steps found. Specificity: "
    "share of the sound steps scored as sound. Brier score, ECE: lower is better. Intervals are "
    "over questions. If only first errors are labelled, the wrong step is always the last one "
    "counted, so the AUC within chains of the baseline place is 1.",
)
_PUBLIC = "These texts are public: models may have been trained on them."
_OURS = (BUILT_IN, "ratings")


def show(validation: Validation, console: Console) -> None:
    """Print the metrics of all data sets next to the baselines, with warnings."""
    validity = validation.validity
    console.print(Text(_heading(validity)))
    if validation.stopped is not None:
        said = f"Judging stopped early: {printable(validation.stopped)}"
        console.print(Text(said, style="yellow"))
    for each in validity.sets:
        console.print()
        console.print(Text(shorten(each.name, _TITLE), style="bold"))
        console.print(Text(printable(_about(each))))
        console.print(_table(each))
        for line in _below(each):
            console.print(Text(printable(line)))
        for doubt in terms.doubts(each):
            console.print(Text(f"Warning: {doubt}", style="yellow"))
    console.print()
    for note in _notes(validity):
        console.print(Text(note))


def markdown_of(validity: Validity) -> str:
    """The same tables as Markdown."""
    blocks = [escape_markdown(_heading(validity))]
    for each in validity.sets:
        blocks += [f"### {escape_markdown(each.name)}", escape_markdown(_about(each))]
        rows = [[escape_markdown(cell) for cell in row] for row in _rows(each)]
        blocks.append("\n".join(markdown_table(_HEADS, rows)))
        blocks += map(escape_markdown, _below(each))
        blocks += [f"**Warning:** {escape_markdown(doubt)}" for doubt in terms.doubts(each)]
    blocks += map(escape_markdown, _notes(validity))
    return "\n\n".join(blocks) + "\n"


def frame_of(validity: Validity) -> pd.DataFrame:
    """One row per set, source and metric; the columns are those of ``FRAME_TYPES``."""
    from lmms_rpts.analysis.dataframes import typed

    rows = [
        {
            "set": each.name,
            "metric": metric,
            "value": figure.value,
            "low": figure.low,
            "high": figure.high,
            "source": source,
        }
        for each in validity.sets
        for source, figures in _sources(each)
        for metric, figure in figures.items()
    ]
    return typed(rows, FRAME_TYPES)


def _notes(validity: Validity) -> tuple[str, ...]:
    if not validity.sets:
        return ("No data set was validated.",)
    public = any(each.layout not in _OURS for each in validity.sets)
    return (*_NOTES, _PUBLIC) if public else _NOTES


def _sources(found: ValidatedSet) -> Iterator[tuple[str, Figures]]:
    yield "judge", found.metrics
    yield "own", found.own_metrics
    yield from found.baselines.items()


def _heading(validity: Validity) -> str:
    parts = {
        "prompts": validity.prompt_version,
        "replies per request": str(validity.judge_samples) * (validity.judge_samples != 1),
        "date": validity.created,
        "seed": str(validity.seed),
    }
    said = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
    return printable(f"Judge {validity.judge} ({said})")


def _about(found: ValidatedSet) -> str:
    """What the judge was asked about a data set, and what was left out."""
    parts = [terms.counted(found)]
    if found.available > found.n_chains:
        parts.append(f"sampled from {found.available:,} chains")
    if found.premises == "given":
        parts.append("premises of the data set")
    if found.blind:
        parts.append("text-only: without its images")
    return "; ".join(parts)


def _table(found: ValidatedSet) -> Table:
    table = Table(box=box.SIMPLE, show_edge=False, padding=(0, 1))
    for at, head in enumerate(_HEADS):
        table.add_column(head, justify="right" if at else "left", no_wrap=bool(at))
    for row in _rows(found):
        table.add_row(*(Text(cell) for cell in row))
    return table


def _rows(found: ValidatedSet) -> list[tuple[str, ...]]:
    """The metrics of the table; those of the data set's authors come last."""
    shown = [name for name in _SHOWN if name in found.metrics]
    baselines = [found.baselines.get(each, {}) for each in _BASELINES]
    rows = []
    for name in shown:
        beside = [_value(each, name) for each in baselines]
        rows.append((*_judged(name, terms.title_of(name), found.metrics[name], found), *beside))
    for name, figure in found.own_metrics.items():
        title = f"{cut_middle(printable(name), _NAME)} (its authors')"
        rows.append((*_judged(name, title, figure, found), "", "", ""))
    return rows


def _judged(name: str, title: str, figure: Interval, found: ValidatedSet) -> tuple[str, str, str]:
    """Cells of the judge; a metric without a value shows why."""
    if figure.value is None:
        reason = terms.why_missing(name, found)
        return f"{title}: {reason}" if reason else title, terms.NONE, ""
    interval = ""
    if figure.low is not None and figure.high is not None:
        interval = f"{terms.number(figure.low, 2)} to {terms.number(figure.high, 2)}"
    return title, terms.number(figure.value), interval


def _value(figures: Figures, name: str) -> str:
    return terms.number(figures[name].value) if name in figures else ""


def _below(found: ValidatedSet) -> Iterator[str]:
    """Notes below a table: usage, published figures, rows that were not used."""
    if found.usage is not None:
        yield _used(found.usage)
    if found.published:
        said = [
            f"{cut_middle(each.judge, _NAME)} {cut_middle(each.metric, _NAME)} "
            f"{terms.number(each.value)}"
            for each in found.published
        ]
        more = f" and {len(said) - _ANCHORS} more" * (len(said) > _ANCHORS)
        yield f"Published by others with another protocol: {'; '.join(said[:_ANCHORS])}{more}."
    for what, counts in (("are invalid", found.skipped), ("were left out", found.left_out)):
        if counts:
            reasons = [f"{cut_middle(each, 60)} ({count:,})" for each, count in counts.items()]
            yield f"Rows that {what} ({sum(counts.values()):,}): {listed(reasons)}."
    if found.shortened:
        yield f"Requests whose oldest premises were left out for length: {found.shortened:,}."


def _used(usage: Usage) -> str:
    parts = [
        f"{usage.calls:,} call{'s' * (usage.calls != 1)}",
        f"{usage.input_tokens:,} input tokens, {usage.output_tokens:,} output tokens",
    ]
    if usage.cost is not None:
        parts.append(f"cost {terms.cost(usage.cost)}")
    if usage.found:
        parts.append(f"{usage.found:,} replies from the cache")
    return f"Usage: {'; '.join(parts)}."

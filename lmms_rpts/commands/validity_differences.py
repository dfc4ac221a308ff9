"""Tables of two judges on the same labelled steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.escaping import escape_markdown, markdown_table, printable, shorten
from lmms_rpts.validation import terms

if TYPE_CHECKING:
    import pandas as pd

    from lmms_rpts.validation.comparison import JudgeComparison, SetComparison

HEADS = ("metric", "difference", "95% interval", "p")
_WIDEST = 60
_NOTE = (
    "Higher is better, except for Brier score, ECE and flagged early. p: two-sided permutation "
    "test that swaps the judges for all steps of a question, not adjusted for multiple tests; AUC "
    "and F1 have intervals only."
)


def show_differences(compared: JudgeComparison, console: Console) -> None:
    """Print the paired differences of two judges for each data set."""
    console.print(Text(_heading(compared)))
    for each in compared.sets:
        console.print()
        console.print(Text(_title(each), style="bold"))
        table = Table(box=box.SIMPLE, show_edge=False, padding=(0, 1))
        for at, head in enumerate(HEADS):
            table.add_column(head, justify="right" if at else "left", no_wrap=bool(at))
        for row in _rows(each):
            table.add_row(*row)
        console.print(table)
        console.print(Text(verdict_of(each, compared)))
    console.print()
    console.print(Text(_NOTE))
    for note in notes_of(compared):
        console.print(Text(f"Note: {note}", style="yellow"))


def differences_markdown(compared: JudgeComparison) -> str:
    """The same as Markdown."""
    lines = [escape_markdown(_heading(compared)), ""]
    for each in compared.sets:
        rows = [[escape_markdown(cell) for cell in row] for row in _rows(each)]
        lines += [f"### {escape_markdown(_title(each))}", "", *markdown_table(HEADS, rows), ""]
        lines += [escape_markdown(verdict_of(each, compared)), ""]
    lines += [_NOTE, "", *(f"- {escape_markdown(note)}" for note in notes_of(compared))]
    return "\n".join(lines) + "\n"


def differences_frame(compared: JudgeComparison) -> pd.DataFrame:
    """One row per data set and metric: ``set``, ``metric``, ``difference``, ``low``, ``high``,
    ``p``.
    """
    import pandas as pd

    frame: pd.DataFrame = pd.DataFrame(
        _plain_rows(compared), columns=["set", "metric", "difference", "low", "high", "p"]
    )
    return frame


def differences_json(compared: JudgeComparison) -> str:
    """The same as JSON, with the notes."""
    content = {
        "judges": [compared.first.judge, compared.second.judge],
        "steps": {each.name: each.found.steps for each in compared.sets},
        "differences": _plain_rows(compared),
        "notes": notes_of(compared),
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def notes_of(compared: JudgeComparison) -> list[str]:
    """Notes on the two files."""
    notes = [printable(f"{each.name}: {note}") for each in compared.sets for note in each.notes]
    notes += [
        printable(f"{each.name}: {each.only:,} chains are in only one file and are left out")
        for each in compared.sets
        if each.only
    ]
    if compared.missing:
        notes.append(
            printable(f"data sets that are in only one of the files: {', '.join(compared.missing)}")
        )
    if compared.first.judge == compared.second.judge:
        notes.append("both files are from the same judge")
    return notes


def _heading(compared: JudgeComparison) -> str:
    first, second = (shorten(each.judge, _WIDEST) for each in (compared.first, compared.second))
    return f"Differences: {second} minus {first}"


def verdict_of(each: SetComparison, compared: JudgeComparison) -> str:
    """Which judge ranks the steps better, by the interval of the AUC."""
    auc = each.found.differences.get("auc")
    if auc is None or auc.value is None:
        return "AUC is not defined here, so the judges cannot be compared."
    if auc.low is None or auc.high is None or auc.low <= 0 <= auc.high:
        return f"AUC differs by {auc.value:+.3f}: no clear difference between the judges."
    better = compared.second if auc.value > 0 else compared.first
    return f"AUC differs by {auc.value:+.3f}: {shorten(better.judge, _WIDEST)} ranks steps better."


def _title(each: SetComparison) -> str:
    return (
        f"{shorten(each.name, _WIDEST)}: {each.found.steps:,} steps scored by both judges, "
        f"{each.chains:,} chains"
    )


def _rows(each: SetComparison) -> Iterator[tuple[str, ...]]:
    for name, estimate in each.found.differences.items():
        if estimate.value is None:
            continue
        bounds = terms.NONE
        if estimate.low is not None and estimate.high is not None:
            bounds = f"{estimate.low:+.3f} to {estimate.high:+.3f}"
        p = each.found.p.get(name)
        value = f"{estimate.value + 0.0:+.3f}"
        tested = "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
        yield terms.title_of(name), value, bounds, tested


def _plain_rows(compared: JudgeComparison) -> list[dict[str, Any]]:
    return [
        {
            "set": each.name,
            "metric": name,
            "difference": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "p": each.found.p.get(name),
        }
        for each in compared.sets
        for name, estimate in each.found.differences.items()
    ]

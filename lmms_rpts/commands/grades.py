"""The tables of ``lmms-rpts summarize`` for graded answers, of any benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.commands.common import csv_of, fail, told, write_text
from lmms_rpts.escaping import escape_markdown, markdown_table, printable

if TYPE_CHECKING:
    from lmms_rpts.runs.run import AnyRun
    from lmms_rpts.tasks.benchmark import Benchmark
    from lmms_rpts.tasks.grade_types import Grading
    from lmms_rpts.tasks.graded import GradeSummary
    from lmms_rpts.tasks.sheets import Sheet

SUFFIXES = (".csv", ".json", ".md")
"""The files that a summary can be written to."""

_ROOMY = 120
_SPREAD = re.compile(r"(?<=\d) (?=[\[±])")


def show_grades(
    benchmark: Benchmark,
    runs: Sequence[AnyRun],
    by: Sequence[str],
    files: Sequence[Path],
    lists: Mapping[str, int],
    depth: int,
) -> None:
    """Show and write the grades of a benchmark.

    Args:
        benchmark: one with graded answers.
        runs: its runs.
        by: further breakdowns.
        files: files to write.
        lists: number of answers to list, by option.
        depth: levels of the tree; 0: none.
    """
    from lmms_rpts.tasks.graded import summarize_grades
    from lmms_rpts.tasks.sheets import listing_sheet, summary_sheets

    grading: Grading = resolve_name(str(benchmark.grades))
    lacking = [option for option, most in lists.items() if most and option not in grading.lists]
    lacking += ["tree"] if depth and grading.tree_sheets is None else []
    if lacking:
        fail(f"{benchmark.title} does not support --{lacking[0]}")
    with told():
        summary = summarize_grades(grading, runs, by)
    sheets = summary_sheets(summary)
    if depth and grading.tree_sheets:
        sheets += grading.tree_sheets(summary.trees, depth)
    for path in files:
        # Written before anything is printed: a pipe may be closed (| head).
        write_text(path, _file_text(summary, sheets, path.suffix.lower()))
    console = Console()
    for sheet in sheets:
        _draw(sheet, console)
    _show_notes(summary, console)
    for option, most in lists.items():
        listed = listing_sheet(summary, option, most) if most else None
        if listed is not None:
            _draw(listed, console)


def _file_text(summary: GradeSummary, sheets: Sequence[Sheet], suffix: str) -> str:
    """The content of a file with this suffix."""
    if suffix == ".csv":
        return csv_of(summary.frame())
    if suffix == ".json":
        numbers = summary.to_dict()
        return json.dumps(numbers, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    lines = [line for sheet in sheets for line in _sheet_markdown(sheet)]
    return "\n".join([*lines, *_notes_markdown(summary)])


def _sentences(summary: GradeSummary) -> list[str]:
    say = summary.grading.sentence
    return [say(each) for each in summary.models] if say else []


def _draw(sheet: Sheet, console: Console) -> None:
    """Show a sheet."""
    roomy = console.width >= _ROOMY
    table = Table(box=box.SIMPLE, show_edge=False, padding=(0, int(roomy)))
    for at, head in enumerate(sheet.heads):
        if at < sheet.texts:
            table.add_column(Text(printable(head)), overflow="fold")
        else:
            table.add_column(Text(printable(head)), justify="right", no_wrap=True)
    for rows in sheet.sections:
        for cells in rows:
            numbers = cells[sheet.texts :]
            # On a narrow terminal, intervals and deviations are below their values.
            shown = numbers if roomy else [_SPREAD.sub("\n", cell) for cell in numbers]
            table.add_row(*map(Text, (*cells[: sheet.texts], *shown)))
        table.add_section()
    # Not as the table's own title, which would be folded to its width.
    console.print(
        Text(printable(sheet.title), style="table.title"), soft_wrap=not console.is_terminal
    )
    console.print(table, "")


def _sheet_markdown(sheet: Sheet) -> Iterator[str]:
    """A sheet as lines of Markdown."""
    yield f"### {escape_markdown(sheet.title)}"
    yield ""
    every = (sheet.heads, *chain.from_iterable(sheet.sections))
    heads, *rows = [[escape_markdown(cell) for cell in cells] for cells in every]
    yield from markdown_table(heads, rows)
    yield ""


def _notes_markdown(summary: GradeSummary) -> Iterator[str]:
    """The notes below the sheets, as lines of Markdown."""
    from lmms_rpts.tasks.sheets import explanation

    yield escape_markdown(explanation(summary))
    yield ""
    for line in (*_sentences(summary), *summary.warnings):
        yield f"- {escape_markdown(line)}"
    yield ""


def _show_notes(summary: GradeSummary, console: Console) -> None:
    """Show the notes below the sheets."""
    from lmms_rpts.tasks.sheets import explanation

    console.print(
        explanation(summary), soft_wrap=not console.is_terminal, markup=False, highlight=False
    )
    for line in _sentences(summary):
        console.print(Text(printable(line)), soft_wrap=not console.is_terminal)
    for warning in summary.warnings:
        console.print(
            Text(f"Note: {printable(warning)}", style="yellow"), soft_wrap=not console.is_terminal
        )

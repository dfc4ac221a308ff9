"""A table as text for the terminal, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.escaping import escape_latex, escape_markdown, markdown_table, printable

if TYPE_CHECKING:
    from lmms_rpts.tasks.sheets import Sheet

_ROOMY = 120
_SPREAD = re.compile(r"(?<=\d) (?=[\[±])")
_HEAD = re.compile(r"\w{5,14}_(?=\w{5})")  # "right_for_" and "wrong_reason"
_TEXT = 16
"""Columns of texts may be folded to this width."""


def draw(sheet: Sheet, console: Console) -> None:
    """Show a sheet; on a narrow terminal, intervals and deviations are below their values.

    Columns that do not fit are shown in further tables below.
    """
    roomy = console.width >= _ROOMY
    # Not as the table's own title, which would be folded to its width.
    say(console, sheet.title, style="table.title")
    for columns in _parts(sheet, console.width, roomy):
        table = Table(box=box.SIMPLE, show_edge=False, padding=(0, int(roomy)))
        for at in columns:
            head = Text(_below(printable(sheet.heads[at]), _HEAD, roomy))
            if at < sheet.texts:
                table.add_column(head, overflow="fold")
            else:
                table.add_column(head, justify="right", no_wrap=True)
        for rows in sheet.sections:
            for cells in rows:
                texts = (_below(cells[at], _SPREAD, roomy or at < sheet.texts) for at in columns)
                best = ("bold" if sheet.is_best(cells[at]) else "" for at in columns)
                table.add_row(*map(Text, texts, best))
            table.add_section()
        console.print(table, "")


def _below(text: str, mark: re.Pattern[str], roomy: bool) -> str:
    """The text in lines, unless there is room for one."""
    return text if roomy else mark.sub(lambda found: found[0].rstrip() + "\n", text)


def _parts(sheet: Sheet, width: int, roomy: bool) -> Iterator[list[int]]:
    """The columns of each table that fits the width, which begins with the columns of texts."""
    texts = list(range(sheet.texts))

    def room(at: int) -> int:
        cells = [_below(row[at], _SPREAD, roomy) for row in chain(*sheet.sections)]
        cells.append(_below(sheet.heads[at], _HEAD, roomy))
        needed = max(cell_len(line) for cell in cells for line in cell.split("\n"))
        return (min(needed, _TEXT) if at < sheet.texts else needed) + (3 if roomy else 1)

    left = start = width - sum(map(room, texts))
    part = list(texts)
    for at in range(sheet.texts, len(sheet.heads)):
        if room(at) > left and len(part) > len(texts):
            yield part
            part, left = list(texts), start
        part.append(at)
        left -= room(at)
    yield part


def say(console: Console, line: str, style: str = "") -> None:
    """Print one line of text as it is; only a terminal folds it."""
    console.print(Text(printable(line), style=style), soft_wrap=not console.is_terminal)


def sheet_markdown(sheet: Sheet) -> Iterator[str]:
    """A sheet as lines of Markdown."""

    def text(cell: str) -> str:
        if not sheet.is_best(cell):
            return escape_markdown(cell)
        value, *spread = _SPREAD.split(cell)
        return " ".join([f"**{value}**", *map(escape_markdown, spread)])

    yield f"### {escape_markdown(sheet.title)}"
    yield ""
    heads, *rows = [list(map(text, cells)) for cells in (sheet.heads, *chain(*sheet.sections))]
    yield from markdown_table(heads, rows)
    yield ""


def sheet_latex(sheet: Sheet) -> Iterator[str]:
    """A sheet as lines of LaTeX (booktabs); intervals and deviations are a small second line."""
    numbers = len(sheet.heads) - sheet.texts
    # LaTeX ignores a comment up to the end of its line, and a title is one line.
    yield f"% {printable(sheet.title)}"
    yield f"\\begin{{tabular}}{{@{{}}{'l' * sheet.texts}{'c' * numbers}@{{}}}}"
    yield "\\toprule"
    yield _latex_row(map(escape_latex, sheet.heads))
    for rows in sheet.sections:
        yield "\\midrule"
        for cells in rows:
            parts = [[cell] for cell in cells[: sheet.texts]]
            parts += [_SPREAD.split(cell) for cell in cells[sheet.texts :]]
            values = (_latex(value).replace("–", "--") for value, *_ in parts)
            yield _latex_row(
                f"\\textbf{{{value}}}" if sheet.is_best(cell) else value
                for value, cell in zip(values, cells, strict=True)
            )
            spreads = [f"{{\\tiny {_latex(part[1])}}}" if part[1:] else "" for part in parts]
            if any(spreads):
                yield _latex_row(spreads)
    yield "\\bottomrule"
    yield "\\end{tabular}"
    yield ""


def _latex(text: str) -> str:
    return escape_latex(text).replace("± ", "$\\pm$")


def _latex_row(cells: Iterator[str] | Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"

"""Texts and tables that a command shows on the terminal and writes to files."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.commands.common import csv_of, write_text
from lmms_rpts.escaping import escape_markdown, markdown_table, printable

if TYPE_CHECKING:
    import pandas as pd

_STYLES = {"text": "", "title": "bold", "Warning": "yellow", "Note": "yellow"}
_WIDE = 90
"""From this width, columns of numbers are two blanks apart."""


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph; its text is untrusted."""

    text: str
    kind: Literal["text", "title", "Warning", "Note"] = "text"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; its cells are untrusted, and may have two lines.

    ``texts``: columns that are wrapped and left-aligned; the others have numbers.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Collection[int] = (0,)


Block = Line | Grid


def show(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks; lines are wrapped only on a terminal."""
    for at, block in enumerate(blocks):
        if isinstance(block, Grid):
            console.print("", _table(block, console.width), "", sep="\n")
            continue
        if block.kind == "title" and at:
            console.print()
        start = f"{block.kind}: " if block.kind in ("Warning", "Note") else ""
        text = Text(start + printable(block.text), style=_STYLES[block.kind])
        console.print(text, soft_wrap=not console.is_terminal)


def _table(grid: Grid, width: int) -> Table:
    padding = (0, int(width >= _WIDE), 0, 0)
    table = Table(box=box.SIMPLE, padding=padding, pad_edge=False, show_edge=False)
    for at, head in enumerate(grid.heads):
        wrapped = at in grid.texts
        table.add_column(Text(head), justify="left" if wrapped else "right", no_wrap=not wrapped)
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def markdown_of(blocks: Iterable[Block]) -> str:
    """Blocks as Markdown."""
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Grid):
        heads, *rows = ([_cell(each) for each in row] for row in (block.heads, *block.rows))
        return "\n".join(markdown_table(heads, rows))
    start = {"text": "", "title": "### "}.get(block.kind, f"**{block.kind}:** ")
    return start + escape_markdown(block.text)


def _cell(text: str) -> str:
    return escape_markdown(text.replace("\n[", " [").replace("\n", " / "))


def write_files(
    files: Iterable[Path],
    blocks: Sequence[Block],
    frame: Callable[[], pd.DataFrame],
    plain: Callable[[], Any],
) -> None:
    """Write the blocks to .md files, the frame to .csv and the plain values to .json files."""
    for path in files:
        match path.suffix.lower():
            case ".md":
                write_text(path, markdown_of(blocks))
            case ".csv":
                write_text(path, csv_of(frame()))
            case _:
                text = json.dumps(plain(), ensure_ascii=False, indent=1, allow_nan=False)
                write_text(path, text + "\n")

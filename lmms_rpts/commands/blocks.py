"""Texts and tables that a command shows on the terminal and writes to files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.analysis.tables import Sheet
from lmms_rpts.base.escaping import printable
from lmms_rpts.commands.common import PLOTS, write_file

if TYPE_CHECKING:
    import pandas as pd

    from lmms_rpts.analysis.measured import Measured

_STYLES = {"title": "bold", "Warning": "yellow", "Note": "yellow"}
_ROOMY = 120
# The space in "0.877 [0.75, 0.96]" and "0.500 ± 0.250", where a cell is broken into two lines.
_SPREAD = re.compile(r"(?<=\d) (?=[\[±])")
_HEAD = re.compile(r"\w{5,14}_(?=\w{5})")  # "right_for_" and "wrong_reason"
_TEXT = 16
"""Columns of texts may be folded to this width."""
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # At the start of a row, LaTeX reads these two as arguments of the previous row.
        "[": "{[}",
        "*": "{*}",
        **{each: f"\\{each}" for each in "&%$#_{}"},
    }
)
_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", **{each: f"\\{each}" for each in "\\`*_{}[]#|~$!"}}
)


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph; its text is untrusted."""

    text: str
    kind: Literal["text", "title", "Warning", "Note", "Judge", "Published"] = "text"

    def __str__(self) -> str:
        start = "" if self.kind in ("text", "title") else f"{self.kind}: "
        return start + printable(self.text)


Block = Line | Sheet


def show(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks; lines are wrapped only on a terminal.

    On a narrow terminal, intervals and deviations are below their values, and columns that do not
    fit are shown in further tables.
    """
    for at, block in enumerate(blocks):
        if isinstance(block, Line):
            if block.kind == "title" and at:
                console.print()
            _say(console, str(block), _STYLES.get(block.kind, ""))
            continue
        # Not as the table's own title, which would be folded to its width.
        _say(console, printable(block.title), "table.title")
        roomy = console.width >= _ROOMY
        for columns in _parts(block, console.width, roomy):
            console.print(_table(block, columns, roomy), "")


def _say(console: Console, text: str, style: str) -> None:
    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)


def _table(sheet: Sheet, columns: Sequence[int], roomy: bool) -> Table:
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
    return table


def _below(text: str, mark: re.Pattern[str], roomy: bool) -> str:
    """The text in lines, unless there is room for one."""
    return text if roomy else mark.sub(lambda found: found[0].rstrip() + "\n", text)


def _parts(sheet: Sheet, width: int, roomy: bool) -> Iterator[list[int]]:
    """The columns of each table that fits the width, which begins with the columns of texts."""
    texts = range(sheet.texts)

    def room(at: int) -> int:
        cells = [_below(row[at], _SPREAD, roomy) for row in chain(*sheet.sections)]
        cells.append(_below(sheet.heads[at], _HEAD, roomy))
        needed = max(cell_len(line) for cell in cells for line in cell.split("\n"))
        return (min(needed, _TEXT) if at in texts else needed) + (3 if roomy else 1)

    left = start = width - sum(map(room, texts))
    part = list(texts)
    for at in range(sheet.texts, len(sheet.heads)):
        needed = room(at)
        if needed > left and len(part) > len(texts):
            yield part
            part, left = list(texts), start
        part.append(at)
        left -= needed
    yield part


@dataclass(frozen=True, slots=True)
class Output:
    """What a command found, in each form in which it is shown or written.

    Attributes:
        blocks: texts and tables for the terminal, .md and .tex files.
        frame: the table of .csv files.
        plain: the value of .json files.
        draw: draws a plot, given its format.
        details: further blocks, for the terminal only.
    """

    blocks: Sequence[Block]
    frame: Callable[[], pd.DataFrame]
    plain: Callable[[], Any]
    draw: Callable[[str], bytes] | None = None
    details: Sequence[Block] = ()

    def deliver(self, files: Iterable[Path]) -> None:
        """Write the files, then show everything.

        Printing is last, since a pipe may be closed (| head). Plots are written after the tables,
        which a failing plot must not prevent.
        """
        for path in sorted(files, key=lambda path: path.suffix.lower() in PLOTS):
            write_file(path, self._content(path.suffix.lower()))
        show([*self.blocks, *self.details], Console())

    def _content(self, suffix: str) -> str | bytes:
        match suffix:
            case ".md":
                return markdown_of(self.blocks)
            case ".tex":
                return latex_of(self.blocks)
            case ".csv":
                from lmms_rpts.commands.tables import for_spreadsheets

                return str(for_spreadsheets(self.frame()).to_csv(index=False))
            case ".json":
                plain = self.plain()
                return json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        assert self.draw is not None, suffix
        return self.draw(suffix[1:])


def measured(found: Measured, **more: Any) -> Output:
    """Tables of measures; ``more``: further arguments of `Output`."""
    blocks: list[Block] = [*map(Line, found.lines), *found.sheets(), *map(Line, found.notes)]
    return Output(blocks, found.frame, lambda: asdict(found), **more)


def markdown_of(blocks: Iterable[Block]) -> str:
    """Blocks as Markdown."""
    return "\n\n".join(chain.from_iterable(map(_markdown, blocks))) + "\n"


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Line):
        start = {"text": "", "title": "### "}.get(block.kind, f"**{block.kind}:** ")
        yield start + escape_markdown(block.text)
        return

    def text(cell: str) -> str:
        if not block.is_best(cell):
            return escape_markdown(cell)
        value, *spread = _SPREAD.split(cell)
        return " ".join([f"**{escape_markdown(value)}**", *map(escape_markdown, spread)])

    if block.title:
        yield f"### {escape_markdown(block.title)}"
    heads, *rows = [list(map(text, cells)) for cells in (block.heads, *chain(*block.sections))]
    yield "\n".join(markdown_table(heads, rows))


def latex_of(blocks: Iterable[Block]) -> str:
    """Blocks as LaTeX (booktabs); lines are comments, which end with their line."""
    lines = ["% Needs \\usepackage{booktabs}."]
    for block in blocks:
        lines += [f"% {block}"] if isinstance(block, Line) else _latex(block)
    return "\n".join([*lines, ""])


def _latex(sheet: Sheet) -> Iterator[str]:
    """A sheet as lines of LaTeX; intervals and deviations are a small second line of their row."""
    numbers = len(sheet.heads) - sheet.texts
    yield f"% {printable(sheet.title)}"
    yield f"\\begin{{tabular}}{{@{{}}{'l' * sheet.texts}{'c' * numbers}@{{}}}}"
    yield "\\toprule"
    yield _latex_row(map(escape_latex, sheet.heads))
    for rows in sheet.sections:
        yield "\\midrule"
        for cells in rows:
            parts = [[cell] for cell in cells[: sheet.texts]]
            parts += [_SPREAD.split(cell) for cell in cells[sheet.texts :]]
            values = (_latex_text(value).replace("–", "--") for value, *_ in parts)
            yield _latex_row(
                f"\\textbf{{{value}}}" if sheet.is_best(cell) else value
                for value, cell in zip(values, cells, strict=True)
            )
            spreads = [f"{{\\tiny {_latex_text(part[1])}}}" if part[1:] else "" for part in parts]
            if any(spreads):
                yield _latex_row(spreads)
    yield "\\bottomrule"
    yield "\\end{tabular}"
    yield ""


def _latex_text(text: str) -> str:
    return escape_latex(text).replace("± ", "$\\pm$")


def _latex_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def escape_latex(label: str) -> str:
    """A label escaped for LaTeX."""
    return printable(label).translate(_LATEX)


def escape_markdown(label: str) -> str:
    """A label escaped for Markdown, inside and outside tables."""
    return printable(label).translate(_MARKDOWN)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, names left-aligned; cells must be escaped already."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]

"""Tables that commands show on the terminal and write to files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from lmms_rpts.analysis.frames import plain_frame
from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.commands.common import PLOTS, write_file
from lmms_rpts.stats.figures import Interval, figure

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".json", ".md", ".tex")
"""Suffixes of the files that hold tables."""

_ROOMY = 120
_HEAD, _TEXT, _LONGEST = 14, 16, 80
# Characters that make a spreadsheet run a cell as a formula, with full-width forms (OWASP).
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
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
        "±": r"$\pm$",
        "–": "--",
        **{char: f"\\{char}" for char in "&%$#_{}"},
    }
)
_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", **{char: f"\\{char}" for char in "\\`*_{}[]#|~$!"}}
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its texts are untrusted.

    Attributes:
        frame: cells are texts, numbers, `Interval`s or None.
        forms: format of the numbers of a column; default: three digits.
        heads: heading of a column; default: its name.
        best: positions (row, column name) of the cells that are emphasized.
        rows: number of rows that the terminal shows; None: all.
        only: the one place that shows it, ``terminal`` or ``json``; empty: all.
    """

    frame: pd.DataFrame
    title: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    best: frozenset[tuple[int, str]] = frozenset()
    rows: int | None = None
    only: Literal["", "terminal", "json"] = ""

    def head(self, name: str) -> str:
        """The heading of a column."""
        return self.heads.get(name, name.replace("_", " "))

    def cell(self, row: int, name: str) -> tuple[str, str]:
        """A cell as text: its value, and its interval or deviation (may be empty)."""
        cell = self.frame[name].iloc[row]
        if name == "metric":
            cell = cell.replace("_", " ")
        return _text(cell, self.forms.get(name, ".3f"))

    def is_text(self, name: str) -> bool:
        """Whether a column has texts."""
        return any(isinstance(cell, str) for cell in self.frame[name])


def _text(cell: Any, form: str) -> tuple[str, str]:
    if isinstance(cell, Interval):
        ends = form if "+" in form else form.replace("3f", "2f")
        value = figure(cell.value, form)
        if cell.sd is not None:
            return value, f"± {figure(cell.sd, form.lstrip('+'))}"
        if cell.low is None or cell.high is None:
            return value, ""
        return value, f"[{figure(cell.low, ends)}, {figure(cell.high, ends)}]"
    if isinstance(cell, str):
        return shorten(cell, _LONGEST), ""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return figure(None), ""
    return (figure(cell, form), "") if isinstance(cell, float) else (f"{cell:,}", "")


def deliver(
    tables: Sequence[Table],
    notes: Sequence[str] = (),
    files: Sequence[Path] = (),
    *,
    before: Sequence[str] = (),
    draw: Callable[[str], bytes] | None = None,
) -> None:
    """Write the files, then show lines, tables and notes.

    Printing is last, since a pipe may be closed (| head). Plots are written after the tables,
    which a failing plot must not prevent.

    Args:
        files: .csv, .json, .md, .tex, or, with ``draw``, .svg and .pdf.
        draw: draws a plot, given its format.
    """
    writers = {".csv": _csv, ".json": _json, ".md": _markdown, ".tex": _latex}
    for path in sorted(files, key=lambda path: path.suffix.lower() in PLOTS):
        suffix = path.suffix.lower()
        if suffix in writers:
            write_file(path, writers[suffix](tables, [*before, *notes]))
        elif draw is not None:
            write_file(path, draw(suffix[1:]))
    console = Console()
    for line in before:
        _say(console, line)
    for table in (table for table in tables if table.only != "json"):
        _say(console, table.title, "bold")
        for columns in _parts(table, console.width):
            console.print(_rich(table, columns, console.width >= _ROOMY))
    for line in notes:
        _say(console, line, "yellow" if line.startswith(("Warning", "Note")) else "")


def _say(console: Console, line: str, style: str = "") -> None:
    if line:
        console.print(Text(printable(line), style=style), soft_wrap=not console.is_terminal)


# --- terminal


def _shown(table: Table) -> range:
    total = len(table.frame)
    return range(total if table.rows is None else min(total, table.rows))


def _rich(table: Table, columns: Sequence[str], roomy: bool) -> RichTable:
    drawn = RichTable(box=box.SIMPLE, show_edge=False, padding=(0, int(roomy)))
    texts = {name for name in columns if table.is_text(name)}
    for name in columns:
        head = Text(fill(printable(table.head(name)), _HEAD))
        if name in texts:
            drawn.add_column(head, overflow="fold")
        else:
            drawn.add_column(head, justify="right", no_wrap=True)
    for row in _shown(table):
        cells = []
        for name in columns:
            separator = " " if roomy else "\n"
            cell = separator.join(filter(None, table.cell(row, name)))
            cells.append(Text(cell, "bold" if (row, name) in table.best else ""))
        drawn.add_row(*cells)
    return drawn


def _parts(table: Table, width: int) -> Iterator[list[str]]:
    """The columns of each table that fits the width; all begin with the columns of texts."""
    roomy = width >= _ROOMY
    names = list(table.frame.columns)
    texts = [name for name in names if table.is_text(name)]

    def room(name: str) -> int:
        lines = fill(table.head(name), _HEAD).split("\n")
        for row in _shown(table):
            cell = table.cell(row, name)
            lines += [" ".join(cell)] if roomy else list(cell)
        needed = max(map(cell_len, lines))
        return (min(needed, _TEXT) if name in texts else needed) + (3 if roomy else 1)

    start = width - sum(map(room, texts))
    part, left = list(texts), start
    for name in names:
        if name in texts:
            continue
        needed = room(name)
        if needed > left and len(part) > len(texts):
            yield part
            part, left = list(texts), start
        part.append(name)
        left -= needed
    yield part


# --- files


def _csv(tables: Sequence[Table], _notes: Sequence[str]) -> str:
    import pandas as pd

    frames = {table.title: plain_frame(table.frame) for table in tables if not table.only}
    for title, frame in frames.items() if len(frames) > 1 else ():
        frame.insert(0, "table", title)
    return str(for_spreadsheets(pd.concat(frames.values())).to_csv(index=False))


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy for CSV: texts that a spreadsheet would read as formulas start with an apostrophe."""

    def safe(cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        cell = cell.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return f"'{cell}" if cell.lstrip("'")[:1] in _FORMULA else cell

    copy: pd.DataFrame = frame.apply(lambda column: column.map(safe))
    return copy


def _json(tables: Sequence[Table], notes: Sequence[str]) -> str:
    content: dict[str, Any] = {"tables": [], "notes": list(notes)}
    for table in (table for table in tables if table.only != "terminal"):
        rows = plain_frame(table.frame).to_json(orient="records", double_precision=15)
        content["tables"].append({"title": table.title, "rows": json.loads(rows)})
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _markdown(tables: Sequence[Table], notes: Sequence[str]) -> str:
    blocks = []
    for table in (table for table in tables if not table.only):
        names = list(table.frame.columns)
        rule = ["---" if table.is_text(name) else "---:" for name in names]
        rows = [[escape_markdown(table.head(name)) for name in names], rule]
        for row in range(len(table.frame)):
            cells = []
            for name in names:
                value, spread = map(escape_markdown, table.cell(row, name))
                value = f"**{value}**" if (row, name) in table.best else value
                cells.append(f"{value} {spread}".strip())
            rows.append(cells)
        lines = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
        blocks += [f"### {escape_markdown(table.title)}", lines] if table.title else [lines]
    return "\n\n".join([*blocks, *map(escape_markdown, notes)]) + "\n"


def _latex(tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Tables for booktabs; intervals and deviations are small."""
    lines = ["% Needs \\usepackage{booktabs}."]
    for table in (table for table in tables if not table.only):
        names = list(table.frame.columns)
        kinds = "".join("l" if table.is_text(name) else "c" for name in names)
        heads = " & ".join(escape_latex(table.head(name)) for name in names)
        lines += [f"% {printable(table.title)}"] if table.title else []
        lines += [f"\\begin{{tabular}}{{@{{}}{kinds}@{{}}}}", "\\toprule"]
        lines += [f"{heads} \\\\", "\\midrule"]
        for row in range(len(table.frame)):
            cells = []
            for name in names:
                value, spread = map(escape_latex, table.cell(row, name))
                value = f"\\textbf{{{value}}}" if (row, name) in table.best else value
                cells.append(f"{value} {{\\tiny {spread}}}" if spread else value)
            lines.append(f"{' & '.join(cells)} \\\\")
        lines += ["\\bottomrule", "\\end{tabular}", ""]
    # Comments end with their line.
    return "\n".join([*lines, *(f"% {printable(note)}" for note in notes), ""])


def escape_latex(label: str) -> str:
    """A label escaped for LaTeX."""
    return printable(label).translate(_LATEX)


def escape_markdown(label: str) -> str:
    """A label escaped for Markdown, inside and outside tables."""
    return printable(label).translate(_MARKDOWN)

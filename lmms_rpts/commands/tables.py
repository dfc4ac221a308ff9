"""Tables that commands show on the terminal and write to files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from lmms_rpts.analysis.frames import plain_frame
from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.commands.common import PLOTS, fail_to_write
from lmms_rpts.runs.files import draft_of
from lmms_rpts.stats.figures import Interval, figure

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".json", ".md", ".tex")  # of files that hold tables

_ROOMY = 120
_HEAD, _TEXT, _LONGEST = 14, 16, 80
# Characters that make a spreadsheet run a cell as a formula, with full-width forms (OWASP).
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
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
        rows: number of rows that the terminal shows; None: all.
    """

    frame: pd.DataFrame
    title: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None

    def head(self, name: Any) -> str:
        """The heading of a column."""
        return self.heads.get(name, name.replace("_", " "))

    def is_text(self, name: Any) -> bool:
        """Whether a column has texts."""
        return any(isinstance(cell, str) for cell in self.frame[name])

    def filled(self, fill: Callable[[str, str], Any]) -> pd.DataFrame:
        """Each cell made from its value as text, and its interval or deviation, else empty."""
        columns = {}
        for name in map(str, self.frame):
            column = self.frame[name]
            if name == "metric":
                column = column.str.replace("_", " ")
            form = self.forms.get(name, ".3f")
            columns[name] = [fill(*_text(cell, form)) for cell in column]
        texts: pd.DataFrame = self.frame.assign(**columns)
        return texts


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
    draw: Callable[[str], bytes] | None = None,
) -> None:
    """Write the files, then show tables and notes.

    Printing is last, since a pipe may be closed (| head). Plots are written after the tables,
    which a failing plot must not prevent.

    Args:
        files: .csv, .json, .md, .tex, or, with ``draw``, .svg and .pdf.
        draw: draws a plot, given its format.
    """
    writers = {".csv": _csv, ".json": _json, ".md": _markdown, ".tex": _latex}
    for path in sorted(files, key=lambda path: path.suffix.lower() in PLOTS):
        suffix = path.suffix.lower()
        if draw and suffix in PLOTS:
            content = draw(suffix[1:])
        else:
            text = writers[suffix](tables, notes)
            content = text.encode("utf-8", errors="replace")
        try:
            with draft_of(path) as draft:
                draft.write_bytes(content)
        except OSError as error:
            fail_to_write(path, error)
        typer.echo(f"Written: {path}", err=True)
    console = Console()
    for table in tables:
        _say(console, table.title, "bold")
        _draw(console, table)
    for line in notes:
        _say(console, line, "yellow" if line.startswith(("Warning", "Note")) else "")


def _say(console: Console, line: str, style: str = "") -> None:
    if line:
        console.print(Text(printable(line), style=style), soft_wrap=not console.is_terminal)


def _draw(console: Console, table: Table) -> None:
    """Show a table, in parts that fit the width; all begin with the columns of texts."""
    roomy = console.width >= _ROOMY
    separator, margin = (" ", 3) if roomy else ("\n", 1)

    def cell(value: str, spread: str) -> Text:
        return Text(separator.join(filter(None, (value, spread))))

    cells = table.filled(cell).iloc[: table.rows]
    heads = {name: Text(fill(printable(table.head(name)), _HEAD)) for name in cells}
    labels = [name for name in cells if table.is_text(name)]
    widths = {}
    for name in cells:
        lines = [line for text in (heads[name], *cells[name]) for line in text.plain.split("\n")]
        widest = max(map(cell_len, lines))
        widths[name] = margin + (min(widest, _TEXT) if name in labels else widest)
    start = console.width - sum(widths[name] for name in labels)
    parts, left = [labels.copy()], start
    for name in cells.columns.difference(labels, sort=False):
        if widths[name] > left and len(parts[-1]) > len(labels):
            parts.append(labels.copy())
            left = start
        parts[-1].append(name)
        left -= widths[name]
    for part in parts:
        drawn = RichTable(box=box.SIMPLE, show_edge=False, padding=(0, int(roomy)))
        for name in part:
            if name in labels:
                drawn.add_column(heads[name], overflow="fold")
            else:
                drawn.add_column(heads[name], justify="right", no_wrap=True)
        for row in cells[part].itertuples(index=False):
            drawn.add_row(*row)
        console.print(drawn)


# --- files


def _csv(tables: Sequence[Table], _notes: Sequence[str]) -> str:
    import pandas as pd

    frames = {table.title: plain_frame(table.frame) for table in tables}
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
    for table in tables:
        rows = plain_frame(table.frame).to_json(orient="records", double_precision=15)
        content["tables"].append({"title": table.title, "rows": json.loads(rows)})
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _markdown(tables: Sequence[Table], notes: Sequence[str]) -> str:
    def cell(value: str, spread: str) -> str:
        return f"{escape_markdown(value)} {escape_markdown(spread)}".strip()

    blocks = []
    for table in tables:
        heads = [escape_markdown(table.head(name)) for name in table.frame]
        rule = ["---" if table.is_text(name) else "---:" for name in table.frame]
        rows = [heads, rule, *table.filled(cell).itertuples(index=False)]
        blocks += [f"### {escape_markdown(table.title)}"] if table.title else []
        blocks.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join([*blocks, *map(escape_markdown, notes)]) + "\n"


def _latex(tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Tables for booktabs."""
    lines = ["% Needs \\usepackage{booktabs}."]
    for table in tables:
        kinds = "".join("l" if table.is_text(name) else "c" for name in table.frame)
        cells = table.filled(lambda value, spread: printable(f"{value} {spread}".strip()))
        cells.columns = [printable(table.head(name)) for name in table.frame]
        lines += [f"% {printable(table.title)}"] if table.title else []
        # At the start of a row, LaTeX would read these as arguments of the previous one.
        text = cells.to_latex(index=False, escape=True, column_format=f"@{{}}{kinds}@{{}}")
        lines.append(re.sub(r"(?m)^([\[*])", r"{\1}", text))
    # Comments end with their line.
    return "\n".join([*lines, *(f"% {printable(note)}" for note in notes), ""])


def escape_markdown(label: str) -> str:
    """A label escaped for Markdown, inside and outside tables."""
    return printable(label).translate(_MARKDOWN)

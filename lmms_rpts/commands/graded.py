"""Tables of graded answers that ``rome`` and ``cmmath`` share, for terminals and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.report.escaping import (
    columns,
    escape_markdown,
    markdown_row,
    markdown_rule,
    printable,
)

if TYPE_CHECKING:
    from lmms_rpts.runs.rounds import Figure

SUFFIXES = (".csv", ".json", ".md")
"""The files that a summary can be written to."""

NONE = "–"
"""What stands for a number that isn't there."""

_ROOMY = 120
_SPREAD = re.compile(r"(?<=\d) (?=[\[±])")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, which may be anyone's.

    Attributes:
        heads: of its columns.
        texts: how many of these hold texts; the others, to their right, hold numbers.
        sections: rows that belong together.
    """

    title: str
    heads: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]


def draw(sheet: Sheet, console: Console) -> None:
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
            shown = numbers if roomy else _folded(numbers)
            table.add_row(*map(Text, (*cells[: sheet.texts], *shown)))
        table.add_section()
    # Not as the table's own title, which would be folded to its width.
    console.print(Text(printable(sheet.title), style="table.title"), soft_wrap=True)
    console.print(table, "")


def sheet_markdown(sheet: Sheet) -> Iterator[str]:
    """A sheet as lines of Markdown."""
    yield f"### {escape_markdown(sheet.title)}"
    yield ""
    yield markdown_row([escape_markdown(head) for head in sheet.heads])
    yield markdown_rule(len(sheet.heads))
    for rows in sheet.sections:
        for cells in rows:
            yield markdown_row([escape_markdown(cell) for cell in cells])
    yield ""


def notes_markdown(explained: str, lines: Iterable[str]) -> Iterator[str]:
    """What stands below the sheets, as lines of Markdown."""
    yield escape_markdown(explained)
    yield ""
    for line in lines:
        yield f"- {escape_markdown(line)}"
    yield ""


def show_notes(
    explained: str, counts: Iterable[str], warnings: Iterable[str], console: Console
) -> None:
    """Show what stands below the sheets."""
    console.print(explained, soft_wrap=True, markup=False, highlight=False)
    for line in counts:
        console.print(Text(printable(line)), soft_wrap=True)
    for warning in warnings:
        console.print(Text(f"Note: {printable(warning)}", style="yellow"), soft_wrap=True)


def summary_text(summary: Any, suffix: str, page: Iterable[str]) -> str:
    """What a file of this suffix holds.

    Args:
        summary: a dataclass with a method ``frame``.
        page: its lines of Markdown.
    """
    if suffix == ".csv":
        return str(summary.frame().to_csv(index=False))
    if suffix == ".json":
        return json.dumps(asdict(summary), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return "\n".join(page)


def figure_text(figure: Figure) -> str:
    """A share with its spread."""
    if figure.value is None:
        return NONE
    if figure.sd is not None:
        return f"{figure.value:.3f} ± {figure.sd:.3f}"
    if figure.low is not None and figure.high is not None:
        return f"{figure.value:.3f} [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.3f}"


def token_text(figure: Figure) -> str:
    """A number of tokens with its deviation."""
    if figure.value is None:
        return NONE
    spread = "" if figure.sd is None else f" ± {figure.sd:,.0f}"
    return f"{figure.value:,.0f}{spread}"


def end_of(answer: str, width: int = 60) -> str:
    """The end of an answer, where what is graded stands; ``width`` columns at most."""
    plain = printable(answer)
    if columns(plain) <= width:
        return plain
    end = plain[-width:]
    while columns(end) >= width:
        end = end[1:]
    return f"…{end}"


def _folded(cells: Sequence[str]) -> list[str]:
    """Cells for a narrow screen: the spread stands below its value."""
    return [_SPREAD.sub("\n", cell) for cell in cells]

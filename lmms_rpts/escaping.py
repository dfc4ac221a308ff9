"""Escaping of foreign text for terminals, plots, Markdown and LaTeX."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # At the start of a row these two would be taken for arguments of the row before.
        "[": "{[}",
        "*": "{*}",
        **{each: f"\\{each}" for each in "&%$#_{}"},
    }
)
_MARKDOWN = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        **{each: f"\\{each}" for each in "\\`*_{}[]#|~$!"},
    }
)

# What makes a spreadsheet run a cell as a formula (OWASP, "CSV Injection"), wide forms included.
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
GUARD = "'"
_LISTED = 5


def storable(text: str) -> str:
    """``text`` without lone surrogates, which a model may emit but no file and no server takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def escape_formula(text: str) -> str:
    """A cell of CSV that no spreadsheet takes for a formula: then an apostrophe stands in front."""
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return GUARD + text if text.lstrip(GUARD)[:1] in _FORMULA else text


def printable(label: str) -> str:
    """A label in one line that XML, a terminal and a table can hold."""
    return visible(" ".join(label.split()))


def visible(line: str) -> str:
    """A line without control characters: what a model or a file name holds may steer a terminal."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)


def count(number: int, noun: str) -> str:
    """A number of things, as in ``1 step`` and ``2 steps``."""
    return f"{number} {noun}" + "s" * (number != 1)


def shorten(label: str, width: int = 40) -> str:
    """The beginning of a label that takes up ``width`` columns at most."""
    label = printable(label)[: width + 1]  # each takes up a column at least
    if columns(label) <= width:
        return label
    while columns(label) >= width:
        label = label[:-1]
    return f"{label}…"


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """The first names, and how many more there are."""
    more = len(names) - _LISTED
    return separator.join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def cut_middle(label: str, length: int) -> str:
    """At most ``length`` characters: checkpoints and rounds stand at a label's end."""
    if len(label) <= length:
        return label
    head = (length - 1) // 2
    return f"{label[:head]}…{label[head + 1 - length :]}"


def columns(label: str) -> int:
    """How many columns of a terminal a label takes up: two for a wide character."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in label)


def escape_latex(label: str) -> str:
    """A label as LaTeX text."""
    return printable(label).translate(_LATEX)


def escape_markdown(label: str) -> str:
    """A label as Markdown text, in a table or out of it."""
    return printable(label).translate(_MARKDOWN)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, names to the left; the cells are escaped already."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]

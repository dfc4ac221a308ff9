"""Names and labels in messages; what is untrusted loses its control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_LISTED = 5


def storable(text: str) -> str:
    """``text`` without lone surrogates, which models emit but files and servers reject."""
    return text.encode("utf-8", "replace").decode("utf-8")


def printable(label: str) -> str:
    """A label on one line, safe for XML, terminals and tables."""
    return visible(" ".join(label.split()))


def visible(line: str) -> str:
    """A line without control characters, which could manipulate the terminal."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)


def count(number: int, noun: str) -> str:
    """A number with its noun, in singular or plural: ``1 step``, ``2 steps``."""
    return f"{number} {noun}" + "s" * (number != 1)


def shorten(label: str, width: int = 40) -> str:
    """The beginning of a label, at most ``width`` terminal columns wide."""
    label = printable(label)[: width + 1]  # each takes at least one column
    if columns(label) <= width:
        return label
    while columns(label) >= width:
        label = label[:-1]
    return f"{label}…"


def listed(names: Iterable[str], separator: str = ", ", total: int | None = None) -> str:
    """The first names and the number of further ones: ``a, b and 3 more``.

    With ``total``, their number, only the first names are read.
    """
    if total is None:
        names = [*names]
        total = len(names)
    first = [*islice(names, _LISTED)]
    more = total - len(first)
    return separator.join(first) + (f" and {more} more" if more > 0 else "")


def did_you_mean(name: str, known: Iterable[str], ending: str = "") -> str:
    """A sentence with the nearest known name, after a space; empty if none is near.

    ``ending`` is appended to that name.
    """
    near = get_close_matches(name, [*known], n=1)
    return f" Did you mean {near[0]}{ending}?" if near else ""


def cut_middle(label: str, length: int) -> str:
    """A label cut in the middle to ``length`` characters, since its end names the checkpoint."""
    if len(label) <= length:
        return label
    head = (length - 1) // 2
    return f"{label[:head]}…{label[head + 1 - length :]}"


def columns(label: str) -> int:
    """The number of terminal columns that a label takes: two for a wide character."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in label)

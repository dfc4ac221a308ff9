"""Names and labels in messages; what is untrusted loses its control characters."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from rich.cells import cell_len, chop_cells

_LISTED = 5


def storable(text: str) -> str:
    """``text`` without lone surrogates, which models emit but files and servers reject."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # By UTF-16: both halves of a character are joined. "?" instead would change an answer.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


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
    label = printable(label)[: width + 1]
    return label if cell_len(label) <= width else f"{chop_cells(label, width - 1)[0]}…"


def listed(names: Iterable[str], separator: str = ", ") -> str:
    """The first names and the number of further ones: ``a, b and 3 more``."""
    names = [*names]
    more = len(names) - _LISTED
    return separator.join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known name, after a space; empty if none is near."""
    near = get_close_matches(name, [*known], n=1)
    return f" Did you mean {near[0]}?" if near else ""


# re.IGNORECASE lets three letters beyond ASCII match ASCII letters: "(İmage 0)", "concluſion",
# "dısagree". str.lower keeps them, or turns one into two characters, so a look-up would fail.
_ASCII = str.maketrans({"ſ": "s", "İ": "i", "ı": "i"})


def lower(text: str) -> str:
    """Lower-case ``text`` with the ASCII equivalences of ``re.IGNORECASE``; same length."""
    return text.translate(_ASCII).lower()

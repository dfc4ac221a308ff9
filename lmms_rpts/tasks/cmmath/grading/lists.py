"""Comparison of lists of things, whatever their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

Joiner = Literal["list", "or", "and"]
Item = TypeVar("Item")

LONGEST = 2000
"""Characters of a text that is read as a list; a longer one is none."""
MOST = 16
"""Members of a list at most."""
_DEEPEST = 40
_MOST_UNTOLD = 6

_TOKEN = re.compile(
    r"(?P<list>[,;、\n]|以及|还有|和|与|及|(?<![A-Za-z\\])and(?![A-Za-z]))"
    r"|(?P<or>或者|或是|或|[∪∨]|(?<![A-Za-z\\])or(?![A-Za-z]))"
    r"|(?P<and>并且|而且|同时|且|[∩∧])"
    r"|(?P<bracket>[()\[\]{}❴❵])"
)
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3}){1,9}(?![\d,])")
_CLOSING = {"(": ")]", "[": ")]", "{": "}", "❴": "❵"}  # an interval may be half open
_EDGES = " .。"
_SIGN = re.compile("[±∓]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A member of a list, and what stands between it and the one before: nothing for the first."""

    text: str
    joined: frozenset[Joiner]


def pieces(text: str, *, thousands: bool = True) -> tuple[Piece, ...] | None:
    """The members of a list; what stands in brackets stays together.

    Args:
        text: cleaned text.
        thousands: whether the comma of ``1,000`` belongs to the number.

    Returns:
        None for brackets that don't match or lie deeper than 40, a list that starts or ends with
        "or" or "and", an empty text, one above 2000 characters or of more than 16 members.
    """
    cuts = _cuts(text, thousands) if len(text) <= LONGEST else None
    if cuts is None:
        return None
    found: list[Piece] = []
    joined: set[Joiner] = set()
    start = 0
    for first, after, kind in [*cuts, (len(text), len(text), "list")]:
        member = text[start:first].strip(_EDGES)
        if member:
            found.append(Piece(member, frozenset(joined)))
            joined = set()
        joined.add(cast(Joiner, kind))
        start = after
    dangling = joined != {"list"} or (found and found[0].joined)
    return tuple(found) if 0 < len(found) <= MOST and not dangling else None


def _cuts(text: str, thousands: bool) -> list[tuple[int, int, str]] | None:
    """Where the text is cut, and by which kind of joiner; None for brackets that don't match."""
    numbers = _THOUSANDS.finditer(text) if thousands else ()
    kept = {at for number in numbers for at in range(*number.span())}
    closers: list[str] = []
    cuts = []
    for token in _TOKEN.finditer(text):
        if token.lastgroup != "bracket":
            if not closers and token.start() not in kept:
                cuts.append((token.start(), token.end(), str(token.lastgroup)))
        elif token[0] in _CLOSING:
            closers.append(_CLOSING[token[0]])
            if len(closers) > _DEEPEST:
                return None
        elif not closers or token[0] not in closers.pop():
            return None
    return None if closers else cuts


def signed(text: str) -> tuple[str, ...] | None:
    """A text with + and with - in place of its ±; itself where it has none.

    None for more than one ±: whether the signs go together is not told.
    """
    found = len(_SIGN.findall(text))
    if found == 0:
        return (text,)
    if found > 1:
        return None
    plus, minus = ("+", "-") if "±" in text else ("-", "+")
    return _SIGN.sub(plus, text), _SIGN.sub(minus, text)


def same_items(
    one: Sequence[Item],
    other: Sequence[Item],
    same: Callable[[Item, Item], bool | None],
) -> bool | None:
    """Whether the items of two lists can be paired off, equal with equal, in any order.

    Args:
        one: some items.
        other: others.
        same: whether two are equal; None where that can't be told.

    Returns:
        None where that depends on pairs that can't be told.
    """
    if len(one) != len(other):
        return False
    table = _table(one, other, same)
    if table is None:
        return None
    if _pairs_off([[cell is True for cell in row] for row in table]):
        return True
    return None if _pairs_off([[cell is not False for cell in row] for row in table]) else False


def same_members(
    one: Sequence[Item],
    other: Sequence[Item],
    same: Callable[[Item, Item], bool | None],
) -> bool | None:
    """As ``same_items``, for sets: an item that is there twice is there."""
    if not (one and other):
        return not (one or other)
    table = _table(one, other, same)
    if table is None:
        return None
    lines = [*table, *map(list, zip(*table, strict=True))]
    if all(True in line for line in lines):
        return True
    return None if all(True in line or None in line for line in lines) else False


def _table(
    one: Sequence[Item],
    other: Sequence[Item],
    same: Callable[[Item, Item], bool | None],
) -> list[list[bool | None]] | None:
    """Each compared with each; None where too many pairs can't be told, as such take long."""
    table: list[list[bool | None]] = []
    for left in one:
        table.append([])
        for right in other:
            table[-1].append(same(left, right))
            if sum(row.count(None) for row in table) > _MOST_UNTOLD:
                return None
    return table


def _pairs_off(table: list[list[bool]]) -> bool:
    """Whether each row can have a column of its own (Kuhn's augmenting paths)."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, fits in enumerate(table[row]):
            if fits and column not in seen:
                seen.add(column)
                if column not in taken or place(taken[column], seen):
                    taken[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(table)))

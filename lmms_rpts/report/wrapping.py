"""Text wrapping by estimated widths, for drawings whose fonts are not known in advance.

Widths are those of Helvetica and the fonts of the same metrics (Arial, Liberation Sans, Arimo,
Nimbus Sans), with a margin for others.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from lmms_rpts.base.escaping import printable

# Advance widths in em, by the characters that have them; those of signs are rounded up.
_WIDTHS = {
    0.28: " !,./:;I[\\]ft|'ijl",
    0.34: '()-`r"{}',
    0.41: "*‘’",
    0.56: "#$0123456789?L_abdeghnopqucksvxyzJ^–",
    0.59: "+<=>~",
    0.67: "&ABEKPSVXYFTZ",
    0.73: "CDHNRUw",
    0.78: "GOQ",
    0.84: "Mm",
    0.95: "%W",
    1.02: "@",
}
_KNOWN = {char: width for width, chars in _WIDTHS.items() for char in chars}
_MARGIN = 1.05
_BOLD = 1.08
_NOT_FIRST = frozenset("、。，．：；！？）」』】》〉〕｝”’…％、ー々)]},.;:!?%")
_NOT_LAST = frozenset("（「『【《〈〔｛“‘([{")
_BREAK_AFTER = frozenset(" -/")
ELLIPSIS = "…"
# Maximum number of characters of a text in a drawing, including hidden ones.
LONGEST = 4000


class Wrapped(NamedTuple):
    """Lines of a text, with the spaces at their ends; ``cut``: whether the text is truncated."""

    lines: tuple[str, ...]
    cut: bool


def clean(text: str, longest: int = LONGEST) -> str:
    """A text that XML and HTML can hold, in one line of at most ``longest`` characters.

    Control characters, direction overrides and the like become U+FFFD.
    """
    begun = text.lstrip()
    line = printable(begun[: longest + 1])
    return line if len(begun) <= longest else f"{line[: longest - 1]}{ELLIPSIS}"


def width_of(text: str, size: float, bold: bool = False) -> float:
    """Estimated width of a clean text in a font of ``size`` pixels."""
    return sum(map(_advance, text)) * size * _MARGIN * (_BOLD if bold else 1)


def wrap(text: str, width: float, size: float, most: int, bold: bool = False) -> Wrapped:
    """Break a clean text into at most ``most`` lines of ``width`` pixels; the rest is cut off."""
    room = width / (size * _MARGIN * (_BOLD if bold else 1))
    parts = [(part, _width(part)) for part in _clusters(text)]
    lines: list[str] = []
    at = 0
    while at < len(parts) and len(lines) < most:
        end = _line_end(parts, at, room)
        lines.append("".join(part for part, _ in parts[at:end]))
        at = end
    if at < len(parts):
        lines[-1] = _with_ellipsis(lines[-1], room)
    return Wrapped(tuple(lines), at < len(parts))


def _clusters(text: str) -> list[str]:
    """The letters, each with its accents."""
    inner = (unicodedata.category(char).startswith("M") for char in text)
    starts = [at for at, is_inner in enumerate(inner) if at == 0 or not is_inner]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _line_end(parts: Sequence[tuple[str, float]], start: int, room: float) -> int:
    """End of the line that begins at ``start``: the last break that fits, if there is one."""
    used = 0.0
    for at in range(start, len(parts)):
        part, width = parts[at]
        used += width
        # A space at the end of a line takes up no room.
        if used > room and part != " " and at > start:
            places = range(at, start, -1)
            breaks = (it for it in places if _may_break(parts[it - 1][0], parts[it][0]))
            return next(breaks, at)
    return len(parts)


def _may_break(before: str, after: str) -> bool:
    if after == " " or after in _NOT_FIRST or before in _NOT_LAST:
        return False
    return before in _BREAK_AFTER or _is_wide(before) or _is_wide(after)


def _with_ellipsis(line: str, room: float) -> str:
    parts = _clusters(line.rstrip())
    while parts and _width("".join(parts)) > room - _advance(ELLIPSIS):
        parts.pop()
    return "".join(parts).rstrip() + ELLIPSIS


def _is_wide(cluster: str) -> bool:
    return unicodedata.east_asian_width(cluster[0]) in "WF"


@lru_cache(maxsize=4096)
def _width(cluster: str) -> float:
    return sum(map(_advance, cluster))


def _advance(char: str) -> float:
    known = _KNOWN.get(char)
    if known is not None:
        return known
    kind = unicodedata.category(char)
    if kind in ("Mn", "Me", "Cf"):
        return 0.0
    if _is_wide(char):
        return 1.35 if kind == "So" else 1.0  # emoji
    return 1.0 if kind.startswith("P") else 0.85

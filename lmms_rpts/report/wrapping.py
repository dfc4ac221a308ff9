"""Text wrapping by estimated widths, for drawings whose fonts are not known in advance.

Widths are those of Helvetica and the fonts of the same metrics (Arial, Liberation Sans, Arimo,
Nimbus Sans), with a margin for others.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

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
"""Advance widths in em, by the characters that have them; those of signs are rounded up."""
_KNOWN = {char: width for width, chars in _WIDTHS.items() for char in chars}
_MARGIN = 1.05
_BOLD = 1.08
_JOINERS = "\u200d\ufe0e\ufe0f"
_TONES = range(0x1F3FB, 0x1F400)
_NOT_FIRST = frozenset("、。，．：；！？）」』】》〉〕｝”’…％、ー々)]},.;:!?%")
_NOT_LAST = frozenset("（「『【《〈〔｛“‘([{")
_BREAK_AFTER = frozenset(" -/")
# Direction controls: a line that ends inside an override would not be closed.
_DROPPED = frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\xad\ufeff\ufff9\ufffa\ufffb"
)
_TAGS = range(0xE0000, 0xE0080)
_MOST_MARKS = 4
ELLIPSIS = "…"
LONGEST = 4000
"""Maximum number of characters of a text in a drawing, including hidden ones."""


class Wrapped(NamedTuple):
    """Lines of a text, with the spaces at their ends; ``cut``: whether the text is truncated."""

    lines: tuple[str, ...]
    cut: bool


def clean(text: str, longest: int = LONGEST) -> str:
    """A text that XML, HTML and a plot can hold, in one line of at most ``longest`` characters.

    Control characters, lone surrogates and noncharacters become U+FFFD. Direction overrides are
    left out, and so are stacked accents after the fourth.
    """
    begun = text.lstrip()
    line = " ".join(begun[: longest + 1].split())
    if not (line.isascii() and line.isprintable()):
        line = _without_invalid(line)
    return line if len(begun) <= longest else f"{line[: longest - 1]}{ELLIPSIS}"


def _without_invalid(line: str) -> str:
    kept: list[str] = []
    marks = 0
    for char in line:
        kind, code = unicodedata.category(char), ord(char)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if char not in _DROPPED and code not in _TAGS and marks <= _MOST_MARKS:
            # In Unicode, the last two of each plane and 32 others are no characters.
            is_none = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
            kept.append("\N{REPLACEMENT CHARACTER}" if kind in ("Cc", "Cs") or is_none else char)
    return "".join(kept)


def is_rightward(text: str) -> bool:
    """Whether the first letter with a direction is read from left to right; True without one."""
    directions = (unicodedata.bidirectional(char) for char in text)
    return next((each for each in directions if each in ("L", "R", "AL")), "L") == "L"


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


def _clusters(text: str) -> Iterator[str]:
    """Characters that belong together: a letter with its accents, an emoji with its parts."""
    if text.isascii():
        yield from text
        return
    start = 0
    for at, (before, char) in enumerate(pairwise(text), 1):
        joined = char in _JOINERS or before == "\u200d" or ord(char) in _TONES
        if not joined and not unicodedata.category(char).startswith("M"):
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


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
    parts = list(_clusters(line.rstrip()))
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

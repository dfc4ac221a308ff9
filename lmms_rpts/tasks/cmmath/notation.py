"""Conversion of the publishers' notation to the one that models use.

A question or answer of CMMaTH is text with ``$$mathematics$$``, ``\\underline{}`` for a blank,
``$#`` and ``#$`` around a table, and remains of HTML. Every step takes time linear in the text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

BLANK = "____"
"""The sign of a blank in a readable text."""

_MARK = "$$"
# "$#| 等级| 优|\n#$"
_TABLE = re.compile(r"\$#(?=\s{0,10}\|)((?:[^#$]|#(?!\$)|\$(?!#))*)#\$")
# A blank: "\underline{}", "\underline{\quad\ ~}"; "\underline{AB}" is none.
_UNDERLINE = re.compile(r"\\underline ?\{(?:\s|~|\\quad|\\qquad|\\[ ,;:!]|\{\})*\}")
_TAG = re.compile(r"</?(?:img|span|div|font|input)\b[^<>]*>", re.IGNORECASE)
_LINE_BREAK = re.compile(r"<br[^<>a-z]{0,9}>", re.IGNORECASE)
# "（       ）"
_SPACES = re.compile(r"[ \t\u00a0\u3000]{2,}")
_PIPE = re.compile(r" ?\| ?")
_BLANK_LINES = re.compile(r"\n{3,}")
# The publishers separate "<" from the text after it, so that it is not read as a tag: "-4<{}x".
_COMPARISON = re.compile(r"([<>])\{\}")
# "45{}^\circ"; the text after an exponent must not begin another one: "x^2{}^\circ".
_DEGREE = re.compile(r"(?<![\^_])([0-9A-Za-z)])\{\}(?=\s?\^)")
# "{c}{{{m}}^{2}}": square centimetres
_CUBED = re.compile(r"\{([cdkm])\}\{\{\{m\}\}\^(\{[23]\}|\{\{[23]\}\})\}")
# "1{kg}" or "{cm}" alone, but not "\frac1{kg}"
_UNIT_NAMES = r"\{(mm|cm|dm|km|kg|mL|min)\}"
_UNIT = re.compile(rf"(?<=[0-9)])(?<!frac[0-9]){_UNIT_NAMES}|^{_UNIT_NAMES}$")
_RIGHT_ANGLED = re.compile(r"\{Rt\}(?=\\triangle|\\Delta)")
# "{{90}^{{}^\circ }}"
_GROUPED_DEGREE = re.compile(r"\{\{(\d{1,9})\}\^\{\{\}\^\\circ ?\}\}")
# "{}^\circ" after a blank
_ONLY_DEGREE = re.compile(r"(?:\{\}\s?)?\^\s?(?:\\circ|\{\s?\\circ\s?\})")
_HALF_AND_FULL = str.maketrans(
    {0xFEE0 + ord(half): half for half in string.ascii_letters + string.digits}
    | {"､": "、", "｡": "。"}
)
"""Full-width letters and digits, half-width punctuation; other signs are Chinese."""


def readable(text: str) -> str:
    """The text with ``$mathematics$``, ``____`` for blanks, and markdown tables.

    The mathematics is unchanged, except for braces that only separate characters. Anything unclear,
    such as an unpaired ``$$``, is left unchanged.
    """
    parts, done = list[str](), 0
    for table in _TABLE.finditer(text):
        parts += [_passage(text[done : table.start()]), _table(table[1])]
        done = table.end()
    lines = "".join([*parts, _passage(text[done:])]).split("\n")
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()


def blanks(text: str) -> int:
    """How many blanks a text in the publishers' notation has."""
    return len(_UNDERLINE.findall(text))


def _table(body: str) -> str:
    """The rows of a table in markdown."""
    pieces = [
        f"${piece.strip()}$" if within else _SPACES.sub(" ", _PIPE.sub(" | ", _words(piece, " ")))
        for piece, within in _mathematics_apart(body)
    ]
    rows = (row.strip() for row in "".join(pieces).split("\n"))
    return "\n" + "\n".join(row for row in rows if row) + "\n"


def _passage(text: str) -> str:
    pieces = _mathematics_apart(text)
    return "".join(_formula(piece) if within else _words(piece) for piece, within in pieces)


def _mathematics_apart(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of the text, and whether each is between two ``$$``.

    If a ``$$`` is unpaired, the lines are parsed one by one.
    """
    whole = text.count(_MARK) % 2 == 0
    for passage in [text] if whole else text.splitlines(keepends=True):
        pieces = passage.split(_MARK)
        if len(pieces) % 2:
            yield from ((piece, at % 2 == 1) for at, piece in enumerate(pieces))
        else:
            yield passage, False


def _words(text: str, line_break: str = "\n") -> str:
    """Text between the mathematics."""
    text = _LINE_BREAK.sub(line_break, _TAG.sub("", text.translate(_HALF_AND_FULL)))
    return _SPACES.sub(" ", _UNDERLINE.sub(BLANK, text))


def _formula(text: str) -> str:
    """Mathematics; blanks in it are moved outside, and the text around them becomes formulas."""
    if "$" in text or "\n" in text:
        return f"{_MARK}{text}{_MARK}"
    if _UNDERLINE.search(text) is None:
        return _inline(text)
    parts = _UNDERLINE.split(text)
    if not all(map(_is_whole, parts)):
        return _inline(_UNDERLINE.sub(rf"\\text{{{BLANK}}}", text))
    return f" {BLANK} ".join(map(_inline, parts)).strip()


def _inline(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    if _ONLY_DEGREE.fullmatch(text):
        return "°"
    text = _GROUPED_DEGREE.sub(r"{\1^\\circ}", _COMPARISON.sub(r"\1", text))
    text = _UNIT.sub(lambda unit: rf"\text{{{unit[1] or unit[2]}}}", _DEGREE.sub(r"\1", text))
    text = _CUBED.sub(r"\\text{\1m}^\2", _RIGHT_ANGLED.sub(r"\\text{Rt}", text))
    return f"${text}$"


def _is_whole(text: str) -> bool:
    """Whether a piece of mathematics can stand alone: its groups are closed."""
    depth = 0
    for sign in re.findall(r"\\.|[{}]", text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            return False
    pairs = (("\\left", "\\right"), ("\\begin", "\\end"))
    return depth == 0 and all(text.count(one) == text.count(other) for one, other in pairs)

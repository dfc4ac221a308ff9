"""Tokenizer of formulas in plain notation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

LONGEST = 2_000
"""Characters of a formula; a longer text is none."""
_LONGEST_NUMBER = 400
_LARGEST_EXPONENT = 400
_MOST_NAMES = 40


class NotAFormulaError(Exception):
    """The text is not, or not wholly, a formula."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a formula.

    Attributes:
        kind: number, name, function, command, the name of an application ("call"), or the sign
            itself.
        text: as it is told apart from others of its kind.
        value: of a number.
        plain: a whole number, written in digits alone.
    """

    kind: str
    text: str
    value: Fraction | None = None
    plain: bool = False


_GROUPED = r"[1-9]\d{0,2}(?:(?:,\d{3}){1,90}|(?: \d{3}){1,90})(?![\d])"
PLAIN_NUMBER = re.compile(
    rf"(?:{_GROUPED}|\d{{1,400}}|(?=\.\d))(?:\.(\d{{1,400}}))?(?!\d)", re.ASCII
)
"""A number in digits, thousands apart or not; its first group has the decimals."""

_SCIENTIFIC = re.compile(
    r"(\d{1,50}\.\d{1,50})[eE]([+-]?\d{1,9})(?![\d.])|(\d{1,50})[eE](\d{1,9})(?![\d.])", re.ASCII
)
_MIXED = re.compile(r"(\d{1,50}) {1,3}(\d{1,50})/(\d{1,50})(?![\d.A-Za-z(\[\\π√^])", re.ASCII)
_SUBSCRIPT = r"(?:_\{(?:[^{}]|\{[^{}]{0,30}\}){1,30}\}|'){0,4}"
_CAPITALS = re.compile(rf"(?:[A-Z]{_SUBSCRIPT}){{1,12}}(?![A-Z])")
_POINTS = re.compile(rf"[A-Z]{_SUBSCRIPT}")
_LETTER = re.compile(rf"[a-zα-ωΑ-Ωϕϵ]{_SUBSCRIPT}")
_NUMBERED = re.compile(r"(?<![A-Z])([A-Za-z])(\d{1,3})(?![\d.,%^(]|\\frac)")
_ANGLE = re.compile(rf"[∠△] ?((?:[A-Z]{_SUBSCRIPT}){{1,8}}|[1-9a-zα-ω](?![a-z\d]))|△")
_CALL = re.compile(r"(?:[fgF]\((?:[a-zα-ω]|-?\d{1,4})\)|[PED]\([A-Z]\))")
_CHOOSE = re.compile(r"([CAP])_\{(\d{1,4})\}\^\{(\d{1,4})\}")
_SPLIT_FUNCTION = re.compile(r"arc(?:sin|cos|tan)|sin|cos|tan|cot|sec|csc|exp|log|ln|lg")
_NO_WORDS = re.compile(rf"\\[A-Za-z]{{1,20}}|_\{{[^{{}}]{{0,30}}\}}|{_SPLIT_FUNCTION.pattern}")
_COMMAND = re.compile(r"\\(frac|sqrt)(?![A-Za-z])")
_RUN = re.compile(r"[A-Za-z]+")
_SIGNS = dict(zip("+-×*÷/^_()[]{}|%°:π", "+-××÷/^_()[]{}|%°:π", strict=True))
_WORDS = frozenset({
    "and", "or", "not", "no", "yes", "the", "is", "are", "if", "of", "in", "on", "to", "so", "do",
    "it", "its", "all", "any", "none", "true", "false", "left", "right", "even", "odd", "both",
    "one", "two", "three", "four", "five", "six", "seven", "nine", "ten", "zero", "half", "min",
    "max", "gcd", "lcm", "rt", "can", "than", "then", "with",
})  # fmt: skip
_UNITS = frozenset({"cm", "mm", "km", "dm", "nm", "kg", "mg", "ml", "mL", "min"})


def tokenize(text: str) -> list[Token]:
    """The pieces of a text.

    Raises:
        NotAFormulaError: it has words, or signs that belong to no formula.
    """
    if len(text) > LONGEST:
        raise NotAFormulaError("too long")
    _refuse_words(text)
    tokens = list(_tokens(text))
    if len({token.text for token in tokens if token.kind == "name"}) > _MOST_NAMES:
        raise NotAFormulaError("too many names")
    return tokens


def _refuse_words(text: str) -> None:
    """Words are no products of their letters, and a number with a unit is no formula."""
    bare = _NO_WORDS.sub("+", text)
    runs = [(found[0], found.start(), found.end()) for found in _RUN.finditer(bare)]
    for run, _, _ in runs:
        if run.lower() in _WORDS or re.search(r"[a-z]{6}|^[A-Z][a-z]{2}", run):
            raise NotAFormulaError("a word")
    for (one, _, end), (other, start, _) in pairwise(runs):
        if len(one) > 1 < len(other) and bare[end:start].isspace() and one[0].islower():
            raise NotAFormulaError("words")
    letters = "".join(run for run, _, _ in runs)
    for run, start, _ in runs:
        others = letters.replace(run, "", 1)
        if run in _UNITS and bare[:start].rstrip()[-1:].isdigit() and not set(run) & set(others):
            raise NotAFormulaError("a unit")  # 8km beside m and k is a product


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        for read in _READERS:
            found = read(text, at)
            if found is not None:
                tokens, at = found
                yield from tokens
                break
        else:
            raise NotAFormulaError(f"{text[at]!r} belongs to no formula")


_Read = tuple[list[Token], int]


def _number(text: str, at: int) -> _Read | None:
    if not (text[at].isascii() and (text[at].isdigit() or text[at] == ".")):
        return None
    for read in (_mixed, _scientific, _plain):
        found = read(text, at)
        if found is not None:
            return found
    raise NotAFormulaError("no number")


def _mixed(text: str, at: int) -> _Read | None:
    found = _MIXED.match(text, at)
    if found is None:
        return None
    whole, above, below = (int(group) for group in found.groups())
    if not above < below or PLAIN_NUMBER.fullmatch(f"{found[1]} {found[2]}"):
        raise NotAFormulaError("two numbers")
    return [Token("number", found[0], whole + Fraction(above, below))], found.end()


def _scientific(text: str, at: int) -> _Read | None:
    found = _SCIENTIFIC.match(text, at)
    if found is None:
        return None
    exponent = int(found[2] or found[4])
    if abs(exponent) > _LARGEST_EXPONENT:
        raise NotAFormulaError("too large")
    value = Fraction(found[1] or found[3]) * Fraction(10) ** exponent
    return [Token("number", found[0], value)], found.end()


def _plain(text: str, at: int) -> _Read | None:
    found = PLAIN_NUMBER.match(text, at)
    if found is None or not found[0]:
        return None
    digits = found[0].replace(",", "").replace(" ", "")
    if len(digits) < len(found[0]) and _in_brackets(text[:at]):
        raise NotAFormulaError("a number, or an interval or a point")
    if len(digits) > _LONGEST_NUMBER:
        raise NotAFormulaError("too long a number")
    token = Token("number", found[0], Fraction(digits), plain=digits.isdigit())
    return [token], found.end()


def _in_brackets(before: str) -> bool:
    return any(before.count(opening) > before.count(closing) for opening, closing in ("()", "[]"))


def _function(text: str, at: int) -> _Read | None:
    found = _SPLIT_FUNCTION.match(text, at)
    return ([Token("function", found[0])], found.end()) if found else None


def _command(text: str, at: int) -> _Read | None:
    found = _COMMAND.match(text, at)
    return ([Token("command", found[1])], found.end()) if found else None


def _call(text: str, at: int) -> _Read | None:
    """``f(x)``, ``P(A)``: one name, as f is no factor."""
    found = _CALL.match(text, at)
    if found:
        return [Token("name", found[0])], found.end()
    if text[at] in "fg" and text[at + 1 : at + 2] == "(":
        raise NotAFormulaError("a function that isn't known")
    return None


def _choose(text: str, at: int) -> _Read | None:
    r"""``C_{5}^{2}`` is a number of choices, not a square."""
    found = _CHOOSE.match(text, at)
    if found is None:
        return None
    many, few = int(found[2]), int(found[3])
    if not few <= many <= 200:
        raise NotAFormulaError("a number of choices, or a power")
    value = 1
    for index in range(few):
        value *= many - index
    if found[1] == "C":
        for index in range(1, few + 1):
            value //= index
    return [Token("number", found[0], Fraction(value))], found.end()


def _numbered(text: str, at: int) -> _Read | None:
    """``x1`` is x_{1}; after a number (``2x3``) x may be a sign of multiplication."""
    found = _NUMBERED.match(text, at)
    if found is None:
        return None
    before = text[:at].rstrip()[-1:]
    if found[1] in "xX" and before.isdigit() and not _NUMBERED.search(text[max(at - 4, 0) : at]):
        raise NotAFormulaError("a name, or a product")
    return [Token("name", f"{found[1]}_{{{found[2]}}}")], found.end()


def _letters(text: str, at: int) -> _Read | None:
    found = _CAPITALS.match(text, at)
    if found is not None:
        return [Token("name", _segment(found[0]))], found.end()
    found = _ANGLE.match(text, at)
    if found is not None:
        return [Token("name", _angle(found))], found.end()
    found = _LETTER.match(text, at) if text[at] != "π" else None
    return ([Token("name", found[0].replace(" ", ""))], found.end()) if found else None


def _segment(text: str) -> str:
    """AB and BA are one segment."""
    points = _POINTS.findall(text.replace(" ", ""))
    return "".join(sorted(points) if len(points) == 2 else points)


def _angle(found: re.Match[str]) -> str:
    """∠ABC and ∠CBA are one angle."""
    points = _POINTS.findall((found[1] or "").replace(" ", ""))
    if found[0][0] == "∠" and len(points) == 3:
        return f"∠{min(points[0], points[2])}{points[1]}{max(points[0], points[2])}"
    return found[0].replace(" ", "")


def _sign(text: str, at: int) -> _Read | None:
    sign = _SIGNS.get(text[at])
    return ([Token(sign, sign)], at + 1) if sign else None


_READERS: tuple[Callable[[str, int], _Read | None], ...] = (
    _number, _function, _command, _call, _choose, _numbered, _letters, _sign,
)  # fmt: skip

"""Conditions on named values, as users write them: ``rpts < 0.3 and judge contains "gpt"``.

Operands are names, numbers, and text in single or double quotes; ``not`` binds closest, then
``and``, then ``or``. Pages read the same language: tests/fixtures/expressions.json has its cases.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import did_you_mean, shorten

MOST_LETTERS, MOST_LEVELS = 2000, 50

_TOKEN = re.compile(
    r"""(?P<number>-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"""
    r"""|(?P<text>"[^"]*"|'[^']*')|(?P<name>[A-Za-z_][\w.]*)|[<>=!]=|[<>()]|(?P<unknown>\S)""",
    re.ASCII,
)
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SIGNS = (*_ORDER, "==", "!=", "contains")
_WORDS = ("and", "or", "not", "contains")


class Name(str):
    """The name of a value; other operands are numbers and texts themselves."""


class Comparison(NamedTuple):
    """Whether it holds for values by name: numbers, texts, or intervals (low, high).

    None if an interval leaves it open; False if a value is missing (None, NaN, of another type). A
    text and a number are unequal and have no order; ``contains`` is for texts and ignores case.
    """

    left: Any
    sign: str
    right: Any

    def __call__(self, values: Mapping[str, Any]) -> bool | None:
        operands = (self.left, self.right)
        found = [values.get(each) if isinstance(each, Name) else each for each in operands]
        a, b = (each if isinstance(each, tuple) else (each, each) for each in found)
        if any(not isinstance(end, (int, float, str)) or end != end for end in (*a, *b)):
            return False
        texts = isinstance(a[0], str), isinstance(b[0], str)
        if self.sign == "contains":
            return all(texts) and b[0].lower() in a[0].lower()
        if texts[0] != texts[1]:
            return self.sign == "!="

        def ordered(sign: str) -> bool | None:
            ends = {_ORDER[sign](one, other) for one in a for other in b}
            return ends.pop() if len(ends) == 1 else None

        if self.sign in _ORDER:
            return ordered(self.sign)
        return _joined("and", ordered("<="), ordered(">="), turned=self.sign == "!=")


@dataclass(frozen=True, slots=True)
class Expression:
    """Comparisons joined by a word; called as a ``Comparison``, in Kleene's three-valued logic."""

    word: str
    parts: tuple[Comparison | Expression, ...]

    def __call__(self, values: Mapping[str, Any]) -> bool | None:
        return _joined(self.word, *(each(values) for each in self.parts), turned=self.word == "not")

    def comparisons(self) -> list[Comparison]:
        """Its comparisons, as they were written."""
        of = ([p] if isinstance(p, Comparison) else p.comparisons() for p in self.parts)
        return [each for part in of for each in part]


def _joined(word: str, *found: bool | None, turned: bool = False) -> bool | None:
    decisive = word == "or"
    result = decisive if decisive in found else None if None in found else not decisive
    return result if result is None else result != turned


def parse(text: str, names: Collection[str]) -> Expression:
    """Read a condition on values with these names.

    Raises:
        UserError: it cannot be read, has an unknown name, or is too long or too deep.
    """
    if len(text) > MOST_LETTERS:
        raise UserError(f"The condition is too long: over {MOST_LETTERS:,} characters")
    tokens = [*_TOKEN.finditer(text)][::-1]  # the next one is the last

    def took(*wanted: str) -> str:
        return tokens.pop()[0] if tokens and tokens[-1][0] in wanted else ""

    def unread() -> UserError:
        found = f"at {shorten(tokens[-1][0])!r}" if tokens else "at its end"
        return UserError(
            f"Cannot read the condition {shorten(text, 80)!r} {found}. Write it as "
            """rpts < 0.3 and not (model == "tiny" or judge contains "gpt")"""
        )

    def joined(level: int, word: str = "or") -> Expression:
        def part() -> Any:
            return joined(level, "and") if word == "or" else single(level)

        parts = [part()]
        while took(word):
            parts.append(part())
        return Expression(word, tuple(parts))

    def single(level: int) -> Expression | Comparison:
        if level > MOST_LEVELS:
            raise UserError(f"The condition is too deep: over {MOST_LEVELS} levels")
        if took("not"):
            return Expression("not", (single(level + 1),))
        if took("("):
            inner = joined(level + 1)
            if not took(")"):
                raise unread()
            return inner
        left, sign = operand(), took(*_SIGNS)
        if not sign:
            raise unread()
        return Comparison(left, sign, operand())

    def operand() -> float | str:
        if not tokens or tokens[-1].lastgroup in (None, "unknown") or tokens[-1][0] in _WORDS:
            raise unread()
        token = tokens.pop()
        if token.lastgroup == "name" and token[0] not in names:
            known = ", ".join(each for each in names if "." not in each)
            raise UserError(
                f"Unknown name {shorten(token[0])!r} in a condition."
                f"{did_you_mean(token[0], names)} Names: {known}. Text needs quotes"
            )
        if token.lastgroup == "number":
            return float(token[0])
        return token[0][1:-1] if token.lastgroup == "text" else Name(token[0])

    whole = joined(0)
    if tokens:
        raise unread()
    return whole

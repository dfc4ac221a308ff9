"""Formulas of school maths: read from plain text, and compared at fixed points.

They are parsed by ``ast`` and never run. Lengths and nesting are bounded.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

_LONGEST, _MOST_BRACKETS = 160, 24
# Numbers with a smaller relative difference are equal, those with a larger one differ.
_EQUAL, _DIFFERENT = 1e-14, 1e-10
_FORMULA = re.compile(r"[\d.\sA-Za-zπα-ω_+\-*/^()×÷·√%]+")
# Functions would be read as products of letters, and so would words.
_WORD = re.compile(r"sin|cos|tan|cot|log|ln|lg|max|min|arc|abs|[a-z]{4}")
THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_MIXED = re.compile(r"(?<![\d./])(\d{1,9}) (\d{1,9}/[1-9]\d{0,8})(?![\d./])")
# 1/2x and x2 have two meanings, 1 2 has none.
_AMBIGUOUS = re.compile(
    r"[/÷]\s?-?(?:[\w.]+(?:\^\w+)?|√?\([^()]*\))·|(?<!_)[A-Za-zπα-ω)]\s*\d|\d\s+\d|\d{41}"
    r"|[A-Za-zπα-ω]\."
)
_PYTHON = str.maketrans({"·": "*", "×": "*", "÷": "/", "^": "**", "√": "sqrt"})
# Values of the unknowns where formulas are compared: of both signs, whole and not
_POINTS = [
    [sign * (first * (2 * place + 3) % 29 + 1) / parts for place in range(8)]
    for first, parts, sign in ((5, 1, 1), (7, 3, 1), (11, 4, -1), (13, 1, 1), (17, 5, 1))
]


@lru_cache(maxsize=1_024)
def formula(text: str) -> ast.expr | None:
    """A plain text as a formula; None unless it certainly is one, with one meaning and a value."""
    text = THOUSANDS.sub(lambda found: found[0].replace(",", ""), text.strip())
    text = re.sub(r"(?<![A-Za-z])sqrt(?=\s?\()", "√", re.sub(r"\bpi\b", "π", text))
    if len(text) > _LONGEST or not _FORMULA.fullmatch(text) or _WORD.search(text):
        return None
    text = re.sub(r"(\d[\d.]*)\s?%", r"(\1/100)", _MIXED.sub(r"(\1+\2)", text))
    text = re.sub(r"√\s?(\d+(?:\.\d+)?|[A-Za-zπ])", r"√(\1)", text)
    # The dot is a product that is not written out: 2x, 2(x+1), xy.
    text = re.sub(r"(?<=[\d)A-Za-zπα-ω])\s*(?=[A-Za-zπα-ω(√])", "·", text)
    if text.count("(") > _MOST_BRACKETS or _AMBIGUOUS.search(text):
        return None
    try:
        tree = ast.parse(text.strip().translate(_PYTHON), mode="eval").body
        if not unknowns(tree):
            _value(tree, {})
    except (SyntaxError, ArithmeticError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def unknowns(tree: ast.expr) -> frozenset[str]:
    """The names of the unknowns of a formula."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(names - {"π", "sqrt"})


def equal(one: ast.expr, other: ast.expr) -> bool | None:
    """Whether two formulas have the same value, wherever both have one; None if unclear."""
    names = sorted(unknowns(one) | unknowns(other))
    points = _POINTS if names else _POINTS[:1]
    agreed = 0
    for row in points if len(names) <= len(points[0]) else []:
        point = dict(zip(names, row, strict=False))
        try:
            alike = _close(_value(one, point), _value(other, point))
        except (ArithmeticError, ValueError):
            continue
        if not alike:
            # Other letters may be other names for the same unknowns.
            compared = frozenset(names) in (unknowns(one), unknowns(other))
            return alike if compared else None
        agreed += 1
    return True if agreed > len(points) / 2 else None


def value_of(tree: ast.expr) -> float | None:
    """The value of a formula without unknowns."""
    return None if unknowns(tree) else _value(tree, {})


def _close(one: float, other: float) -> bool | None:
    """Whether two numbers are equal; None if they are nearly so."""
    error = abs(one - other) / (max(abs(one), abs(other)) or 1)
    return True if error <= _EQUAL else False if error >= _DIFFERENT else None


def _value(tree: ast.expr, point: Mapping[str, float]) -> float:
    """The value of a formula; an ArithmeticError or ValueError if it has none, or a huge one."""
    match tree:
        case ast.Constant(value=int() | float() as number):
            result = float(number)
        case ast.Name(id=name) if name == "π" or name in point:
            result = math.pi if name == "π" else point[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            result = -_value(operand, point)
        case ast.Call(func=ast.Name(id="sqrt"), args=[operand]):
            result = math.sqrt(_value(operand, point))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            result = _OPERATIONS[type(sign)](_value(left, point), _value(right, point))
        case _:
            raise ValueError("no arithmetic")
    if not math.isfinite(result):
        raise OverflowError
    return result


_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}

"""Comparison of equations, as solutions or as conditions: x=2或x=3, y=2x+1, AC=DF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_rpts.tasks.cmmath.grading.conditions import bare_name, same_condition
from lmms_rpts.tasks.cmmath.grading.expressions import Expression, parse_expression, same
from lmms_rpts.tasks.cmmath.grading.lists import MOST, pieces, same_items, same_members, signed

Values = dict[str, list[Expression]]

_NUMBERED = re.compile(r"([A-Za-zα-ωΑ-Ω])_\{(?:\d{1,2}|[ab])\}")
_THING = re.compile(r"[A-Z].+|[∠△].*")  # a segment, an angle: no value of another
_ROOTS = frozenset("xtz")
"""Letters of which which solution is the first is free; a_{1} and a_{2} are what they are."""
_MOST_CONDITIONS = 6


@dataclass(frozen=True, slots=True)
class Equation:
    """Left and right side, and both as they were read; of a chain its first and last side."""

    left: Expression
    right: Expression
    text: str


def parse_equations(text: str) -> tuple[Equation, ...] | None:
    """The equations that a whole cleaned text lists; None where it is no such list.

    ``x=±2`` are two equations; more than one ± is none. A value alone takes the left side of the
    equation before it: ``x=2或3``.
    """
    listed = pieces(_unbraced(text.strip()))
    found: list[Equation] = []
    for piece in listed or ():
        member = piece.text
        if "=" not in member:
            start = _continued(member, found, "or" in piece.joined)
            if start is None:
                return None
            member = start + member
        equations = _equations(member)
        if not equations:
            return None
        found += equations
    return tuple(found) if 0 < len(found) <= MOST else None


def values_of(equations: Sequence[Equation]) -> Values | None:
    """The values by name, in the order written; None unless each equation is NAME=value.

    ``x_{1}`` and ``x_{2}`` are both x. A value may have unknowns (y=2x+1), but none of the names,
    and is no other segment or angle (AC=DF).
    """
    found: Values = {}
    for equation in equations:
        name, other = bare_name(equation.left), bare_name(equation.right)
        if name is None or (other is not None and _THING.fullmatch(other)):
            return None
        found.setdefault(_letter(name), []).append(equation.right)
    used = {_letter(name) for equation in equations for name in equation.right.names}
    return None if not found or used & found.keys() else found


def same_equations(one: Sequence[Equation], other: Sequence[Equation]) -> bool | None:
    """Whether two lists of equations say the same.

    Values are compared by name, in any order; others in pairs, up to a constant factor.

    Returns:
        None where that can't be told: other names with the same values, one list that says more
        than the other, values that may belong together otherwise, and systems of conditions that
        don't pair off.
    """
    left, right = values_of(one), values_of(other)
    if left is not None and right is not None and not _solved_otherwise(left, right):
        equal = _same_values(left, right)
        return None if equal and _numbered_otherwise(one, other, left) else equal
    if max(len(one), len(other)) > _MOST_CONDITIONS:
        return None
    found = same_items(one, other, _same_equation)
    return None if found is False and not len(one) == len(other) == 1 else found


def _same_equation(one: Equation, other: Equation) -> bool | None:
    return same_condition((one.left, one.right), (other.left, other.right))


def _unbraced(text: str) -> str:
    """A system without its brace."""
    if not text.startswith("❴"):
        return text
    return text[1:-1] if text.endswith("❵") else text[1:]


def _continued(text: str, before: Sequence[Equation], alternative: bool) -> str | None:
    """The "x=" that a value alone leaves out; None where nothing shows that it is a value."""
    if not before:
        return None
    name = bare_name(before[-1].left)
    value = parse_expression(text.replace("±", ""))
    numbers = value is not None and value.number is not None and not before[-1].right.names
    return f"{before[-1].left.text}=" if name and (numbers or alternative) else None


def _equations(text: str) -> list[Equation]:
    """One equation, or both of ±; empty where it is none."""
    sides = [side.strip() for side in text.split("=")]
    if len(sides) < 2 or not all(sides):
        return []
    found = []
    for each in signed(f"{sides[0]}={sides[-1]}") or ():
        left, right = map(parse_expression, each.split("="))
        if left is None or right is None:
            return []
        found.append(Equation(left, right, each))
    return found


def _letter(name: str) -> str:
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else name


def _solved_otherwise(one: Values, other: Values) -> bool:
    """Whether the same unknowns are solved for others of them: y=2x and x=y/2."""
    names = [
        values.keys()
        | {name for listed in values.values() for each in listed for name in each.names}
        for values in (one, other)
    ]
    return one.keys() != other.keys() and names[0] == names[1]


def _same_values(one: Values, other: Values) -> bool | None:
    common = one.keys() & other.keys()
    if not common:
        if len(one) != 1 or len(other) != 1:
            return None
        left, right = next(iter(one.values())), next(iter(other.values()))
        if {each.names for each in left} != {each.names for each in right}:
            return None
        return None if same_members(left, right, same) is not False else False
    equal = [same_members(one[name], other[name], same) for name in sorted(common)]
    if False in equal:
        return False
    if None in equal or one.keys() != other.keys():
        return None
    return _same_rows(one, other)


def _same_rows(one: Values, other: Values) -> bool | None:
    """Whether values of several names go together: x=1,y=2或x=2,y=1 is not x=1,y=1或x=2,y=2."""
    several = sorted(name for name in one if max(len(one[name]), len(other[name])) > 1)
    if len(several) < 2:
        return True
    lengths = {len(values[name]) for values in (one, other) for name in several}
    if len(lengths) > 1:
        return None
    left, right = (
        list(zip(*(values[name] for name in several), strict=True)) for values in (one, other)
    )
    return same_items(left, right, _same_row) or None


def _same_row(one: tuple[Expression, ...], other: tuple[Expression, ...]) -> bool | None:
    equal = [same(*pair) for pair in zip(one, other, strict=True)]
    return False if False in equal else (None if None in equal else True)


def _numbered_otherwise(one: Sequence[Equation], other: Sequence[Equation], found: Values) -> bool:
    """Whether the same values bear other numbers, as in a_{1}=2,a_{2}=3 and a_{1}=3,a_{2}=2."""
    several = [name for name, values in found.items() if len(values) > 1]
    if len(several) != 1 or several[0] in _ROOTS:
        return False
    left, right = (
        {str(bare_name(each.left)): each.right for each in side} for side in (one, other)
    )
    return left.keys() == right.keys() and any(
        same(left[name], right[name]) is not True for name in left
    )

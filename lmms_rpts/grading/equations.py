"""Equations and points: x=2或x=3, y=2x+1, AC=DF; (4,0)或(-4,0), P(1,2), (x,y)=(1/2,1/2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lmms_rpts.grading.formulas import Expression, equal, parse, same_equation
from lmms_rpts.grading.notation import (
    MOST,
    all_of,
    pieces,
    same_items,
    same_members,
    signed,
)

Values = dict[str, list[Expression]]

# x_{1} and x_{2} are both x, but a_{1} and a_{2} have a fixed order
_NUMBERED = re.compile(r"([xtz])_\{(?:\d{1,2}|[ab])\}")
_THING = re.compile(r"[A-Z].+|[∠△].*")  # a segment or an angle: not a value of another
_MOST_CONDITIONS = 6


class Equation(NamedTuple):
    """The left and right side as read; of a chain, the first and last side."""

    left: Expression
    right: Expression


def parse_equations(text: str) -> tuple[Equation, ...] | None:
    """The equations that a whole cleaned text lists; None if it is not such a list.

    ``x=±2`` gives two equations; more than one ± gives None.
    """
    text = text.strip().removeprefix("直线")
    if "=" not in text:
        return None
    if text.startswith("❴"):  # a system with its brace, which may never close
        text = text[1:].removesuffix("❵")
    found: list[Equation] = []
    for member, _ in pieces(text) or ():
        equations = _equations(member)
        if not equations:
            return None
        found += equations
    return tuple(found) if 0 < len(found) <= MOST else None


def _equations(text: str) -> list[Equation]:
    """One equation, or both of ±; empty if it is not an equation."""
    sides = [side.strip() for side in text.split("=")]
    if len(sides) < 2 or not all(sides):
        return []
    found = []
    for each in signed(f"{sides[0]}={sides[-1]}") or ():
        left, right = map(parse, each.split("="))
        if left is None or right is None:
            return []
        found.append(Equation(left, right))
    return found


def values_of(equations: Sequence[Equation]) -> Values | None:
    """The values by name, in the order written; None unless each equation is NAME=value.

    ``x_{1}`` and ``x_{2}`` are both x. A value may have unknowns (y=2x+1), but none of the names,
    and is not another segment or angle (AC=DF).
    """
    found: Values = {}
    for left, right in equations:
        name, other = left.bare_name, right.bare_name
        if name is None or (other is not None and _THING.fullmatch(other)):
            return None
        found.setdefault(_letter(name), []).append(right)
    used = {_letter(name) for _, right in equations for name in right.names}
    return None if not found or used & found.keys() else found


def same_equations(one: Sequence[Equation], other: Sequence[Equation]) -> bool | None:
    """Whether two lists of equations are equivalent.

    Values are compared by name, in any order; others in pairs, up to a constant factor.

    Returns:
        None if uncertain: other names with the same values, one list that says more than the other,
        values that may be combined differently, and systems of conditions that can't be paired.
    """
    left, right = values_of(one), values_of(other)
    if left is not None and right is not None and not _solved_otherwise(left, right):
        return _same_values(left, right)
    if max(len(one), len(other)) > _MOST_CONDITIONS:
        return None
    found = same_items(one, other, same_equation)
    return None if found is False and not len(one) == len(other) == 1 else found


def _letter(name: str) -> str:
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else name


def _solved_otherwise(one: Values, other: Values) -> bool:
    """Whether the same unknowns are solved for different ones of them: y=2x and x=y/2."""
    names = [
        {*values, *(name for listed in values.values() for each in listed for name in each.names)}
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
        return None if same_members(left, right, equal) is not False else False
    same = all_of([same_members(one[name], other[name], equal) for name in sorted(common)])
    if same and one.keys() == other.keys():
        return _same_rows(one, other)
    return False if same is False else None


def _same_rows(one: Values, other: Values) -> bool | None:
    """Whether values are combined the same way: x=1,y=2或x=2,y=1 is not x=1,y=1或x=2,y=2."""
    several = sorted(name for name in one if max(len(one[name]), len(other[name])) > 1)
    if len(several) < 2:
        return True
    if len({len(values[name]) for values in (one, other) for name in several}) > 1:
        return None
    left, right = (
        list(zip(*(values[name] for name in several), strict=True)) for values in (one, other)
    )
    return same_items(left, right, _all_equal) or None


def _all_equal(one: Sequence[Expression], other: Sequence[Expression]) -> bool | None:
    return all_of([equal(*pair) for pair in zip(one, other, strict=True)])


# Points

_POINT = re.compile(  # 点P的坐标为(4,0), P_{1}(1,2), →a=(1,2), (x,y)=(1,2)
    r"(?:点|(?:the\s)?points?\s)?\s?"
    r"(?:(?P<name>[A-Z](?:_\{[^{}]{1,20}\})?'{0,3})\s?(?:的?坐标[是为]?)?[=:]?"
    r"|→?(?P<vector>[a-z]|[A-Z]{2})\s?="
    r"|\([a-z](?:_\{[^{}]{1,20}\})?(?:\s?,\s?[a-z](?:_\{[^{}]{1,20}\})?){1,2}\)\s?=)?"
    r"\s?\((?P<inside>[^;、\n\u4e00-\u9fff]{1,600})\)"
)
_SUBSCRIPT = re.compile(r"_\{[^{}]{1,20}\}")


class Point(NamedTuple):
    """A point, or a vector: its name if one is written, and two or three coordinates."""

    name: str | None
    coordinates: tuple[Expression, ...]


def parse_points(text: str) -> tuple[Point, ...] | None:
    """The points that a whole cleaned text lists; None if it is not such a list.

    ``(±4,0)`` gives two points; a point with more than one ± gives None.
    """
    if "(" not in text:
        return None
    found: list[Point] = []
    for piece in pieces(text) or ():
        shape = _POINT.fullmatch(piece.text)
        for inside in (signed(shape["inside"]) if shape else None) or ("",):
            listed = pieces(inside, thousands=False) or ()
            known = [each for each in (parse(piece.text) for piece in listed) if each is not None]
            commas = len(listed) - 1 <= inside.count(",")
            if shape is None or not 2 <= len(known) == len(listed) <= 3 or not commas:
                return None
            found.append(Point(shape["name"] or shape["vector"], tuple(known)))
    return tuple(found) if 0 < len(found) <= MOST else None


def same_points(one: Sequence[Point], other: Sequence[Point]) -> bool | None:
    """Whether two lists contain the same points, in any order, ignoring duplicates.

    Names must match if both points have one. The result is None if the places are the same but the
    names are entirely different (D for M), or differ only in their subscripts: which of two points
    is called P_{1} is usually arbitrary.
    """
    found = same_members(one, other, _same_point)
    if found is not False or {each.name for each in one} == {each.name for each in other}:
        return found
    return None if same_members(one, other, _same_place) is not False else False


def _same_point(one: Point, other: Point) -> bool | None:
    named: bool | None = True
    if one.name is not None and other.name is not None and one.name != other.name:
        alike = _SUBSCRIPT.sub("", one.name) == _SUBSCRIPT.sub("", other.name)
        named = (None if "_" in one.name and "_" in other.name else True) if alike else False
    placed = _same_place(one, other) if named is not False else False
    return named if placed else placed


def _same_place(one: Point, other: Point) -> bool | None:
    if len(one.coordinates) != len(other.coordinates):
        return False
    return _all_equal(one.coordinates, other.coordinates)

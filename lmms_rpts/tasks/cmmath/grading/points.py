"""Comparison of points by coordinates: (4,0)或(-4,0), P(1,2), (x,y)=(1/2,1/2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_rpts.tasks.cmmath.grading.expressions import Expression, parse_expression, same
from lmms_rpts.tasks.cmmath.grading.lists import MOST, pieces, same_items, signed

_POINT = re.compile(
    r"(?:点|(?:the\s)?points?\s)?\s?"
    r"(?:(?P<name>[A-Z](?:_\{[^{}]{1,20}\})?'{0,3})\s?(?:的?坐标[是为]?)?[=:]?"
    r"|→?(?P<vector>[a-z]|[A-Z]{2})\s?="
    r"|\([a-z](?:_\{[^{}]{1,20}\})?(?:\s?,\s?[a-z](?:_\{[^{}]{1,20}\})?){1,2}\)\s?=)?"
    r"\s?\((?P<inside>[^;、\n\u4e00-\u9fff]{1,600})\)"
)
_SUBSCRIPT = re.compile(r"_\{[^{}]{1,20}\}")


@dataclass(frozen=True, slots=True)
class Point:
    """A point, or a vector, by its two or three coordinates.

    Attributes:
        name: as it is written, such as ``A`` or ``P_{1}``; None where none is.
        coordinates: in their order.
    """

    name: str | None
    coordinates: tuple[Expression, ...]


def parse_points(text: str) -> tuple[Point, ...] | None:
    """The points that a whole cleaned text lists; None where it is no such list.

    ``(±4,0)`` are two points; a point with more than one ± is none.
    """
    listed = pieces(text)
    if listed is None:
        return None
    found: list[Point] = []
    for piece in listed:
        points = _points(piece.text)
        if points is None:
            return None
        found += points
    return tuple(found) if len(found) <= MOST else None


def same_points(one: Sequence[Point], other: Sequence[Point]) -> bool | None:
    """Whether two lists hold the same points, in any order; one that stands twice is one.

    Names must match where both points have one. That can't be told, and the answer is None, where
    the places are the same but the names are others altogether (D for M), or differ in nothing but
    their subscripts: which of two points is called P_{1} is mostly free.
    """
    one, other = _distinct(one), _distinct(other)
    # P_{1}(0,1),...,P_{4}(0,1) and itself: by _same_point alone twelve pairs can't be told.
    if same_items(one, other, _same_name_and_place) is True:
        return True
    found = same_items(one, other, _same_point)
    if found is not False or _names(one) == _names(other):
        return found
    return None if same_items(one, other, _same_place) is not False else False


def _points(text: str) -> list[Point] | None:
    found = _POINT.fullmatch(text)
    each = signed(found["inside"]) if found else None
    if found is None or each is None:
        return None
    points = []
    for inside in each:
        coordinates = _coordinates(inside)
        if coordinates is None:
            return None
        points.append(Point(found["name"] or found["vector"], coordinates))
    return points


def _coordinates(text: str) -> tuple[Expression, ...] | None:
    listed = pieces(text, thousands=False)
    if listed is None or not 2 <= len(listed) <= 3 or text.count(",") < len(listed) - 1:
        return None
    found = [parse_expression(piece.text) for piece in listed]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


def _names(points: Sequence[Point]) -> set[str | None]:
    return {point.name for point in points}


def _distinct(points: Sequence[Point]) -> list[Point]:
    """Without those that stand there before, as in A(1,2),A(1,2)."""
    found: list[Point] = []
    for point in points:
        if not any(_same_name_and_place(point, before) for before in found):
            found.append(point)
    return found


def _same_name_and_place(one: Point, other: Point) -> bool | None:
    return _same_place(one, other) if one.name == other.name else False


def _same_point(one: Point, other: Point) -> bool | None:
    named = _same_name(one.name, other.name)
    if named is False:
        return False
    placed = _same_place(one, other)
    return named if placed else placed


def _same_name(one: str | None, other: str | None) -> bool | None:
    if one is None or other is None or one == other:
        return True
    if _SUBSCRIPT.sub("", one) != _SUBSCRIPT.sub("", other):
        return False
    return None if "_" in one and "_" in other else True


def _same_place(one: Point, other: Point) -> bool | None:
    if len(one.coordinates) != len(other.coordinates):
        return False
    equal = [same(*pair) for pair in zip(one.coordinates, other.coordinates, strict=True)]
    return False if False in equal else (None if None in equal else True)

"""Equations, points and regions: x=2或x=3, y=2x+1; (4,0)或(-4,0); 1<x≤2, [1,3), ❴x|x>2❵."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Literal, NamedTuple

from lmms_rpts.grading.formulas import Expression, equal, orders, parse, same_equation
from lmms_rpts.grading.notation import MOST, all_of, pieces, same_items, same_members, signed

# Equations

Values = dict[str, list[Expression]]

# x_{1} and x_{2} are both x, but a_{1} and a_{2} have a fixed order
_NUMBERED = re.compile(r"^([xtz])_\{(?:\d{1,2}|[ab])\}$")
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
    if "=" not in text:
        return None
    text = text.strip().removeprefix("直线")
    if text.startswith("❴"):  # a system with its brace, which may never close
        text = text[1:].removesuffix("❵")
    found: list[Equation] = []
    for member, _ in pieces(text) or ():
        chain = [side.strip() for side in member.split("=")]
        for each in (all(chain) and signed(f"{chain[0]}={chain[-1]}")) or ("",):
            left, right = map(parse, each.split("=")) if len(chain) > 1 and each else (None, None)
            if left is None or right is None:
                return None
            found.append(Equation(left, right))
    return tuple(found) if 0 < len(found) <= MOST else None


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
        found.setdefault(_NUMBERED.sub(r"\1", name), []).append(right)
    return None if _used(found) & found.keys() else found


def _used(values: Values) -> set[str]:
    used = (name for each in values.values() for value in each for name in value.names)
    return {_NUMBERED.sub(r"\1", name) for name in used}


def same_equations(one: Sequence[Equation], other: Sequence[Equation]) -> bool | None:
    """Whether two lists of equations are equivalent.

    Values are compared by name, in any order; others in pairs, up to a constant factor.

    Returns:
        None if uncertain: other names with the same values, one list that says more than the other,
        values that may be combined differently, and systems of conditions that can't be paired.
    """
    left, right = values_of(one), values_of(other)
    if left and right:
        same_names = left.keys() | _used(left) == right.keys() | _used(right)
        if left.keys() == right.keys() or not same_names:  # y=2x, but not x=y/2
            return _same_values(left, right)
    if max(len(one), len(other)) > _MOST_CONDITIONS:
        return None
    found = same_items(one, other, same_equation)
    return None if found is False and not len(one) == len(other) == 1 else found


def _same_values(one: Values, other: Values) -> bool | None:
    common = sorted(one.keys() & other.keys())
    if not common:  # another name for the same value is debatable
        if len(one) + len(other) > 2:
            return None
        [left], [right] = one.values(), other.values()
        if {each.names for each in left} != {each.names for each in right}:
            return None
        return None if same_members(left, right, equal) is not False else False
    same = all_of([same_members(one[name], other[name], equal) for name in common])
    if not same or one.keys() != other.keys():
        return False if same is False else None
    # x=1,y=2或x=2,y=1 is not x=1,y=1或x=2,y=2
    rows, others = _solutions(one), _solutions(other)
    return same_members(rows, others, _all_equal) or None if rows and others else None


def _solutions(values: Values) -> list[tuple[Expression, ...]]:
    """The values of all names, in the order of the names; empty if their numbers differ."""
    several = [values[name] for name in sorted(values)]
    most = max(map(len, several))
    columns = [each * most if len(each) == 1 else each for each in several]
    return list(zip(*columns, strict=True)) if {len(each) for each in columns} == {most} else []


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
        same_letters = _SUBSCRIPT.sub("", one.name) == _SUBSCRIPT.sub("", other.name)
        named = (None if "_" in one.name and "_" in other.name else True) if same_letters else False
    placed = _same_place(one, other) if named is not False else False
    return named if placed else placed


def _same_place(one: Point, other: Point) -> bool | None:
    if len(one.coordinates) != len(other.coordinates):
        return False
    return _all_equal(one.coordinates, other.coordinates)


# Regions

Ranks = Mapping[Expression, int]
Kind = Literal["interval", "inequality", "unequal", "equal"]


class Region(NamedTuple):
    """A part of the number line.

    Attributes:
        inside: where it holds, by the ranks of all ends: 1, 3 ... are the ends in their order, 0, 2
            ... are between them.
        ends: its ends.
        name: the variable, if one is written.
        kind: how it is written.
    """

    inside: Callable[[Ranks], frozenset[int]]
    ends: tuple[Expression, ...] = ()
    name: str | None = None
    kind: Kind = "inequality"


def _line(ranks: Ranks) -> frozenset[int]:
    return frozenset(range(2 * max(ranks.values(), default=0) + 3))


_LINE = Region(_line)
_SIGNS = {"<": lt, "≤": le, ">": gt, "≥": ge, "≠": ne, "=": eq}


def _bound(sign: str, end: Expression) -> Region:
    """The numbers on one side of an end, at it, or all others."""

    def inside(ranks: Ranks) -> frozenset[int]:
        return frozenset(at for at in _line(ranks) if _SIGNS[sign](at, 2 * ranks[end] + 1))

    return Region(inside, (end,))


def _joined(parts: Sequence[Region], *, every: bool) -> Region:
    """What all parts say, or any of them."""
    join = frozenset[int].intersection if every else frozenset[int].union
    ends = tuple(end for part in parts for end in part.ends)
    return Region(lambda ranks: join(*(part.inside(ranks) for part in parts)), ends)


def _everywhere(*regions: Region) -> list[list[frozenset[int]]]:
    """Where each region holds, for several values of the unknowns."""
    ends = list(dict.fromkeys(end for region in regions for end in region.ends))
    orders_of = (dict(zip(ends, order, strict=True)) for order in orders(ends))
    return [[region.inside(ranks) for region in regions] for ranks in orders_of]


def same_region(one: Region, other: Region) -> bool | None:
    """Whether two regions contain the same numbers; a region without a name matches any name.

    None if the names differ, but not the numbers, or if it depends on unknowns.
    """
    found = _everywhere(one, other)
    if found and all(first == second for first, second in found):
        named = one.name is not None and other.name is not None
        return None if named and one.name != other.name else True
    ends = one.ends + other.ends
    return None if not found or (len(ends) > 4 and any(end.names for end in ends)) else False


# the signs between the sides of 1<x≤2
_RELATION = re.compile("[<>≤≥≠=∈]")
_REALS = re.compile(  # x为全体实数, all real numbers, R
    r"(?:(?P<name>[a-zα-ω])\s?(?:可以?)?[为取是]?)?(?:全体|一切|任意|所有|任何)实数"
    r"|(?:all|any)\sreal\snumbers?|[Rℝ]"
)
# ❴x∈R|x≠1❵
_SET = re.compile(
    r"❴\s?(?P<name>[^|:;❴❵∈]{1,40}?)\s?(?:∈\s?[Rℝ]\s?)?[|:;](?P<condition>.{1,1500})❵", re.DOTALL
)
# 2<x is x>2
_FLIPPED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≠": "≠", "=": "="}
_DEEPEST = 3


def parse_region(text: str, depth: int = 0) -> Region | None:
    """A whole cleaned text as a region; None if it is not one.

    "或" and ∪ unite; "且" and ∩ intersect, and bind tighter; a comma or "和" binds loosest: it
    unites intervals in brackets, and intersects inequalities. A contradiction is not a region.
    """
    parts: list[Region] = []
    groups: list[list[list[Region]]] = []  # conditions in alternatives in a list
    unite: list[bool] = []
    for member, joiners in (pieces(text) or ()) if depth < _DEEPEST else ():
        part = _part(member, parts[-1] if parts else None, depth)
        if part is None:
            return None
        if not parts or "list" in joiners or (part.kind == "unequal" and "or" not in joiners):
            intervals = bool(parts) and parts[-1].kind == part.kind == "interval"
            unite.append("or" in joiners or (intervals and "and" not in joiners))
            groups.append([[part]])
        elif "or" in joiners:
            groups[-1].append([part])
        else:
            groups[-1][-1].append(part)
        parts.append(part)
    names = {part.name for part in parts} - {None}
    if len(names) > 1 or all(part.kind == "equal" for part in parts):
        return None
    region: Region | None = None
    for group, either in zip(groups, unite, strict=True):
        ways = _joined([_joined(every, every=True) for every in group], every=False)
        region = _joined([region, ways], every=not either) if region else ways
    region = (region or _LINE)._replace(name=next(iter(names), None), kind="interval")
    everywhere = _everywhere(region, _LINE)
    unequal = any(part.kind == "unequal" for part in parts)
    if unequal and any(inside == line for inside, line in everywhere):
        return None  # x≠1或x≠2 says nothing
    return region if any(inside for inside, _ in everywhere) else None


def _part(text: str, before: Region | None, depth: int) -> Region | None:
    """One member of a list as a region; it may lack the name and the sign of the one before."""
    relations = _RELATION.findall(text)
    if before is not None and before.kind == "unequal" and not relations and parse(text):
        text, relations = f"≠{text}", ["≠"]  # x≠1,2
    if before is not None and before.name and relations != ["∈"] and _RELATION.match(text):
        text = before.name + text  # x≤-1或≥2
    if text[0] == "❴":
        found = _SET.fullmatch(text)
        region = parse_region(found["condition"], depth + 1) if found else None
        return region if found and region and region.name == found["name"] else None
    if relations[:1] == ["∈"]:  # x∈R, x∈(1,2)
        left, right = (side.strip() for side in text.split("∈", 1))
        name, part = _variable(left), _part(right, None, depth) if right else None
        return part._replace(name=name) if name and part and part.name in (None, name) else None
    if relations:
        return _inequality(text, relations)
    reals = _REALS.fullmatch(text)
    if reals:
        return _LINE._replace(name=reals["name"])
    if text[0] not in "([" or text[-1] not in ")]" or "," not in text:
        return None
    listed = pieces(text[1:-1], thousands=False) or ()  # (1,2]
    if len(listed) != 2 or listed[1].joined != {"list"}:
        return None
    signs = (">" if text[0] == "(" else "≥", "<" if text[-1] == ")" else "≤")
    return _bounded(None, [*zip(signs, (each.text for each in listed), strict=True)], "interval")


def _inequality(text: str, signs: Sequence[str]) -> Region | None:
    """x>2, 2<x, x≠±1, 1<x≤2, 2≥x>1; without a name >2."""
    sides = [side.strip() for side in _RELATION.split(text)]
    names = [_variable(side) for side in sides]
    at = 1 if len(sides) == 3 or (sides[0] and not names[0]) else 0
    one_way = len(signs) == 1 or set(signs) <= {"<", "≤"} or set(signs) <= {">", "≥"}
    if len(sides) > 3 or not one_way or "∈" in signs or (names[at] is None and (at or sides[0])):
        return None
    bounds = [(_FLIPPED[signs[0]], sides[0])] if at else []
    bounds += [(signs[at], sides[at + 1])] if at < len(signs) else []
    kinds: dict[str, Kind] = {"=": "equal", "≠": "unequal"}
    kind = kinds.get(signs[0], "inequality")
    if kind != "inequality":
        bounds = [(sign, end) for sign, side in bounds for end in signed(side) or ()]
    return None if kind == "equal" and not names[at] else _bounded(names[at], bounds, kind)


def _bounded(
    name: str | None, bounds: Sequence[tuple[str, str]], kind: Kind = "inequality"
) -> Region | None:
    """The region within all bounds, or at any end; None if they have no value, or it is empty."""
    found: list[Region] = []
    for sign, text in bounds:
        if text.replace(" ", "") in ("-∞", "+∞", "∞"):
            if sign != (">" if text[0] == "-" else "<"):
                return None
            continue
        end = parse(text.removesuffix("°"))
        if end is None or name in end.names or (end.number is None and not end.names):
            return None
        found.append(_bound(sign, end))
    region = _joined(found or [_LINE], every=kind != "equal")._replace(name=name, kind=kind)
    return region if bounds and any(inside for (inside,) in _everywhere(region)) else None


def _variable(text: str) -> str | None:
    """The text, if it is only a name; else None."""
    found = parse(text)
    return None if found is None else found.bare_name

"""Regions of the number line: inequalities, intervals, their unions, and sets such as ❴x|x>2❵."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from lmms_rpts.grading.formulas import Expression, equal, parse
from lmms_rpts.grading.notation import Joiner, all_of, pieces, same_items, signed


class UnknownOrderError(ValueError):
    """The order of two ends depends on their unknowns, or is unknown."""


class Cut(NamedTuple):
    """A cut between numbers: just below (side -1) or above (1) an end; without an end at ∓∞."""

    at: Expression | None
    side: int


class Interval(NamedTuple):
    """The numbers between two cuts."""

    low: Cut
    high: Cut

    @property
    def known(self) -> bool:
        """Whether both ends are numbers or infinite."""
        return all(cut.at is None or cut.at.number is not None for cut in self)

    @property
    def empty(self) -> bool:
        """Whether it is empty; False if that depends on unknowns."""
        return self.known and _order(self.low, self.high) >= 0


Intervals = tuple[Interval, ...]
LINE: Intervals = (Interval(Cut(None, -1), Cut(None, 1)),)


def _order(one: Cut, other: Cut) -> int:
    """Negative, zero or positive if one cut is before, at or after the other; may raise."""
    if one.at is None or other.at is None:
        return (one.at is None) * one.side - (other.at is None) * other.side
    left, right = one.at.number, other.at.number
    same = equal(one.at, other.at)
    if same:
        return one.side - other.side
    if same is None or left is None or right is None:
        raise UnknownOrderError
    return 1 if left > right else -1


_in_order = functools.cmp_to_key(_order)


def _union(both: Intervals) -> Intervals:
    """The union, sorted and merged; intervals with unknowns come last, unchanged."""
    merged: list[Interval] = []
    for each in sorted((each for each in both if each.known), key=lambda it: _in_order(it.low)):
        if merged and _order(each.low, merged[-1].high) <= 0:
            high = max(merged[-1].high, each.high, key=_in_order)
            merged[-1] = Interval(merged[-1].low, high)
        else:
            merged.append(each)
    return (*merged, *(each for each in both if not each.known))


def _intersection(one: Intervals, other: Intervals) -> Intervals:
    found = []
    for left in one:
        for right in other:
            low = max(left.low, right.low, key=_in_order)
            high = min(left.high, right.high, key=_in_order)
            if not Interval(low, high).empty:
                found.append(Interval(low, high))
    return _union(tuple(found))


def _same_intervals(one: Intervals, other: Intervals) -> bool | None:
    """Whether two unions contain the same numbers; None if that is uncertain."""
    if all(each.known for each in (*one, *other)):
        if len(one) != len(other):
            return False
        return all_of([_same_interval(*pair) for pair in zip(one, other, strict=True)])
    # Unions of several intervals with unknowns may be equal for some values of the unknowns.
    found = same_items(one, other, _same_interval)
    return None if found is False and max(len(one), len(other)) > 1 else found


def _same_interval(one: Interval, other: Interval) -> bool | None:
    return all_of([_same_cut(*cuts) for cuts in zip(one, other, strict=True)])


def _same_cut(one: Cut, other: Cut) -> bool | None:
    if one.side != other.side or one.at is None or other.at is None:
        return one == other
    return equal(one.at, other.at)


# Reading

_RELATION = re.compile("[<>≤≥≠=∈]")
_REALS = re.compile(  # x为全体实数, all real numbers, R
    r"(?:(?P<name>[a-zα-ω])\s?(?:可以?)?[为取是]?)?(?:全体|一切|任意|所有|任何)实数"
    r"|(?:all|any)\sreal\snumbers?|[Rℝ]"
)
# ❴x∈R|x≠1❵
_SET = re.compile(
    r"❴\s?(?P<name>[^|:;❴❵∈]{1,40}?)\s?(?:∈\s?[Rℝ]\s?)?[|:;](?P<condition>.{1,1500})❵", re.DOTALL
)
_FLIPPED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≠": "≠", "=": "="}
_DEEPEST = 3
_EXCEPTED: frozenset[Joiner] = frozenset({"list", "and"})
"""How an exception such as x≠1 is joined: the exception applies to everything before it."""
Kind = Literal["interval", "inequality", "unequal", "equal"]


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the number line, never empty: its variable and its parts."""

    name: str | None
    intervals: Intervals


@dataclass(frozen=True, slots=True)
class _Part:
    """A region as one member of a list, how it is written, and how it is joined to those before."""

    name: str | None
    intervals: Intervals
    kind: Kind
    joined: frozenset[Joiner] = frozenset()


def parse_region(text: str) -> Region | None:
    """A whole cleaned text as a region; None if it is not one.

    "或" and ∪ unite; "且" and ∩ intersect, and bind tighter; a comma or "和" binds loosest: it
    unites intervals in brackets, and intersects inequalities. A contradiction is not a region.
    """
    try:
        return _region(text, 0)
    except UnknownOrderError:
        return None


def same_region(one: Region, other: Region) -> bool | None:
    """Whether two regions contain the same numbers; a region without a name matches any name.

    None if the names differ, but not the numbers.
    """
    same = _same_intervals(one.intervals, other.intervals)
    named = one.name is not None and other.name is not None
    return None if same and named and one.name != other.name else same


def _region(text: str, depth: int) -> Region | None:
    parts: list[_Part] = []
    for member, joiners in (pieces(text) or ()) if depth < _DEEPEST else ():
        found = _parts(member, parts[-1] if parts else None, depth)
        if not found:
            return None
        joined = found[0].joined or joiners
        if parts and found[0].kind == "unequal" and "or" not in joined:
            joined = _EXCEPTED
        parts += [replace(found[0], joined=joined), *found[1:]]
    names = {part.name for part in parts} - {None}
    if len(names) > 1 or all(part.kind == "equal" for part in parts):
        return None
    intervals = _together(parts)
    if not intervals or (intervals == LINE and any(part.kind == "unequal" for part in parts)):
        return None  # x≠1或x≠2 says nothing
    return Region(next(iter(names), None), intervals)


def _together(parts: Sequence[_Part]) -> Intervals:
    found: Intervals | None = None
    last: Kind | None = None
    for group in _groups(parts, "list"):
        value: Intervals = ()
        for alternative in _groups(group, "or"):
            both = LINE
            for part in alternative:
                both = _intersection(both, part.intervals)
            value = _union((*value, *both))
        joined = group[0].joined
        unite = "or" in joined or (last == group[0].kind == "interval" and "and" not in joined)
        if found is not None:
            value = _union((*found, *value)) if unite else _intersection(found, value)
        found, last = value, group[-1].kind
    return found or ()


def _groups(parts: Sequence[_Part], joiner: Joiner) -> list[list[_Part]]:
    groups: list[list[_Part]] = []
    for part in parts:
        if groups and joiner not in part.joined:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _parts(text: str, before: _Part | None, depth: int) -> list[_Part]:
    """The parts of one member of a list: two if it has a ±, none if it is not a region."""
    relations = _RELATION.findall(text)
    if not relations and before is not None and before.kind == "unequal" and parse(text):
        listed = _parts(f"{before.name or ''}≠{text}", None, depth)  # x≠1,2
        return [replace(each, joined=_EXCEPTED) for each in listed[:1]] + listed[1:]
    if before is not None and before.name and relations != ["∈"] and _RELATION.match(text):
        text = before.name + text  # x≤-1或≥2
    if relations in (["≠"], ["="]) and text[0] != "❴":
        joined: frozenset[Joiner] = frozenset({"or"} if relations == ["="] else {"and"})
        found = [_inequality(each) for each in signed(text) or ()]
        return (
            [
                replace(each, joined=joined if at else each.joined)
                for at, each in enumerate(found)
                if each
            ]
            if all(found)
            else []
        )
    part = _part(text, relations, depth)
    return [] if part is None else [part]


def _part(text: str, relations: Sequence[str], depth: int) -> _Part | None:
    if text[0] == "❴":
        found = _SET.fullmatch(text)
        region = _region(found["condition"], depth + 1) if found else None
        if found is None or region is None or region.name != found["name"]:
            return None
        return _Part(region.name, region.intervals, "interval")
    if relations[:1] == ["∈"]:  # x∈R, x∈(1,2)
        left, right = (side.strip() for side in text.split("∈", 1))
        name, part = (
            _variable(left),
            _part(right, _RELATION.findall(right), depth) if right else None,
        )
        return replace(part, name=name) if name and part and part.name in (None, name) else None
    if relations:
        return _inequality(text)
    reals = _REALS.fullmatch(text)
    if reals:
        return _Part(reals["name"], LINE, "inequality")
    if text[0] not in "([" or text[-1] not in ")]" or "," not in text:
        return None
    listed = pieces(text[1:-1], thousands=False)  # (1,2]
    if listed is None or len(listed) != 2 or listed[1].joined != {"list"}:
        return None
    signs = (">" if text[0] == "(" else "≥", "<" if text[-1] == ")" else "≤")
    return _bounded(None, list(zip(signs, (each.text for each in listed), strict=True)), "interval")


def _inequality(text: str) -> _Part | None:
    """x>2, 2<x, x≠1, 1<x≤2, 2≥x>1; without a name >2."""
    sides, signs = [side.strip() for side in _RELATION.split(text)], _RELATION.findall(text)
    if len(sides) == 3 and (set(signs) <= {"<", "≤"} or set(signs) <= {">", "≥"}):
        name = _variable(sides[1])
        bounds = [(_FLIPPED[signs[0]], sides[0]), (signs[1], sides[2])]
        return _bounded(name, bounds) if name else None
    if len(sides) != 2 or "∈" in signs:
        return None
    left, right, sign = *sides, signs[0]
    name, other = _variable(left), _variable(right)
    if name is None and left:
        return _bounded(other, [(_FLIPPED[sign], left)]) if other else None
    if name is None and sign == "=":
        return None
    kinds: dict[str, Kind] = {"=": "equal", "≠": "unequal"}
    return _bounded(name, [(sign, right)], kinds.get(sign, "inequality"))


def _bounded(
    name: str | None, bounds: Sequence[tuple[str, str]], kind: Kind = "inequality"
) -> _Part | None:
    """The region within all bounds; None if they have no value, or if it is empty."""
    intervals = LINE
    for sign, text in bounds:
        if text.replace(" ", "") in ("-∞", "+∞", "∞"):
            if sign != (">" if text[0] == "-" else "<"):
                return None
            continue
        end = parse(text.removesuffix("°"))
        if end is None or name in end.names or (end.number is None and not end.names):
            return None
        below, above = Cut(end, -1), Cut(end, 1)
        low, high = LINE[0]
        intervals = _intersection(
            intervals,
            {
                "<": (Interval(low, below),), "≤": (Interval(low, above),),
                ">": (Interval(above, high),), "≥": (Interval(below, high),),
                "=": (Interval(below, above),),
                "≠": (Interval(low, below), Interval(above, high)),
            }[sign],
        )  # fmt: skip
    return _Part(name, intervals, kind) if intervals else None


def _variable(text: str) -> str | None:
    """The text, if it is only a name; else None."""
    found = parse(text)
    return None if found is None else found.bare_name

"""Comparison of regions of the number line: inequalities, intervals and their unions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lmms_rpts.tasks.cmmath.grading.expressions import parse_expression
from lmms_rpts.tasks.cmmath.grading.inequalities import (
    RELATION,
    Kind,
    Part,
    bracketed,
    chain,
    inequality,
    reals,
    variable,
)
from lmms_rpts.tasks.cmmath.grading.lists import Joiner, pieces, signed
from lmms_rpts.tasks.cmmath.grading.unions import (
    LINE,
    Interval,
    Intervals,
    UnknownOrderError,
    intersection,
    point,
    same_intervals,
    union,
)

_SET = re.compile(r"❴(?P<head>[^|:;❴❵]{1,40})[|:;](?P<condition>.{1,1500})❵", re.DOTALL)
_LISTED = re.compile(r"❴([^|❴❵]{1,400})❵")
_EXCEPTED: frozenset[Joiner] = frozenset({"list", "and"})
"""How an exception such as x≠1 is joined: it is one from all that was said before."""
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the number line, never empty.

    Attributes:
        name: the variable; None where none is named, as in (1,2).
        intervals: its parts, sorted and merged; those with unknowns last, as they were written.
        degrees: whether its ends are in degrees.
    """

    name: str | None
    intervals: Intervals
    degrees: bool = False


def parse_region(text: str) -> Region | None:
    """The region that a whole cleaned text gives; None where it gives none.

    "或" and ∪ unite; "且" and ∩ intersect, and bind tighter; a comma or "和" binds loosest: it
    unites intervals in brackets, and intersects inequalities. What contradicts itself is no region.
    """
    try:
        return _region(text, 0)
    except UnknownOrderError:
        return None


def same_region(one: Region, other: Region) -> bool | None:
    """Whether two regions hold the same numbers.

    A region without a name may be that of any; None where names differ but the numbers are the
    same, and where only the sign ° stands between them.
    """
    try:
        equal = _same_numbers(one, other)
    except UnknownOrderError:
        return None
    named = one.name is not None and other.name is not None
    return None if equal and named and one.name != other.name else equal


def _same_numbers(one: Region, other: Region) -> bool | None:
    equal = same_intervals(one.intervals, other.intervals)
    if one.degrees == other.degrees or equal:
        return equal
    degrees, plain = (one, other) if one.degrees else (other, one)
    radians = [_in_radians(each) for each in degrees.intervals]
    return same_intervals(tuple(radians), plain.intervals) or None


def _in_radians(interval: Interval) -> Interval:
    ends = [
        each and parse_expression(f"\\frac{{({each.text})π}}{{180}}")
        for each in (interval.low, interval.high)
    ]
    return replace(interval, low=ends[0], high=ends[1])


def _region(text: str, depth: int) -> Region | None:
    listed = pieces(text) if depth < _DEEPEST else None
    parts: list[Part] = []
    for piece in listed or ():
        found = _parts(piece.text, parts[-1] if parts else None, depth)
        if not found:
            return None
        joined = found[0].joined or piece.joined
        if parts and found[0].kind == "unequal" and "or" not in joined:
            joined = _EXCEPTED
        parts += [replace(found[0], joined=joined), *found[1:]]
    names = {part.name for part in parts} - {None}
    if len(names) > 1 or all(part.kind == "equal" for part in parts):
        return None
    intervals = _together(parts)
    excepted = any(part.kind == "unequal" for part in parts)
    if not intervals or (excepted and intervals == LINE):
        return None  # x≠1或x≠2 says nothing
    degrees = any(part.degrees for part in parts)
    return Region(next(iter(names), None), intervals, degrees)


def _together(parts: Sequence[Part]) -> Intervals:
    found: Intervals | None = None
    last: Kind | None = None
    for group in _groups(parts, "list"):
        value: Intervals = ()
        for alternative in _groups(group, "or"):
            both = LINE
            for part in alternative:
                both = intersection(both, part.intervals)
            value = union(value, both)
        joined = group[0].joined
        unite = "or" in joined or (last == group[0].kind == "interval" and "and" not in joined)
        if found is None:
            found = value
        else:
            found = union(found, value) if unite else intersection(found, value)
        last = group[-1].kind
    return found or ()


def _groups(parts: Sequence[Part], joiner: Joiner) -> list[list[Part]]:
    groups: list[list[Part]] = []
    for part in parts:
        if groups and joiner not in part.joined:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _parts(text: str, before: Part | None, depth: int) -> list[Part]:
    """What one member of a list says: two parts where it has a ±, none where it is no region."""
    relations = RELATION.findall(text)
    if text[0] == "❴":
        return _one(_set(text, depth))
    if not relations:
        if before is not None and before.kind == "unequal" and parse_expression(text):
            listed = _parts(f"{before.name or ''}≠{text}", None, depth)
            return [replace(each, joined=_EXCEPTED) for each in listed[:1]] + listed[1:]
        return _one(reals(text) or bracketed(text))
    if relations[0] == "∈":
        return _one(_member(text, depth))
    if RELATION.match(text) and before is not None and before.name is not None:
        text = before.name + text
    if relations in (["≠"], ["="]):
        joined: frozenset[Joiner] = frozenset({"or"} if relations == ["="] else {"and"})
        both = [inequality(each) for each in signed(text) or ()]
        known = [each for each in both if each is not None]
        if not known or len(known) < len(both):
            return []
        return [known[0], *(replace(each, joined=joined) for each in known[1:])]
    return _one(chain(text) if len(relations) == 2 else inequality(text))


def _one(part: Part | None) -> list[Part]:
    return [] if part is None else [part]


def _set(text: str, depth: int) -> Part | None:
    """❴x|x>2❵, ❴x∈R|x≠1❵, or the numbers of ❴1,2❵."""
    numbers = _LISTED.fullmatch(text)
    if numbers:
        listed = [parse_expression(piece.text) for piece in pieces(numbers[1]) or ()]
        known = [each for each in listed if each is not None and each.number is not None]
        if not known or len(known) < len(listed):
            return None
        return Part(None, union((), tuple(point(each)[0] for each in known)), "equal")
    found = _SET.fullmatch(text)
    region = _region(found["condition"], depth + 1) if found else None
    if found is None or region is None:
        return None
    head = [part.strip() for part in found["head"].split("∈")]
    name = variable(head[0])
    if name is None or name != region.name or head[1:] not in ([], ["R"], ["ℝ"]):
        return None
    return Part(region.name, region.intervals, "interval", degrees=region.degrees)


def _member(text: str, depth: int) -> Part | None:
    """x∈R, x∈(1,2), x∈❴x|x>2❵."""
    left, right = (side.strip() for side in text.split("∈", 1))
    name = variable(left)
    if name is None or not right:
        return None
    part = _set(right, depth) if right[0] == "❴" else reals(right) or bracketed(right)
    return None if part is None or part.name not in (None, name) else replace(part, name=name)

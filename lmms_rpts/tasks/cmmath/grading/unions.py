"""Unions of intervals whose ends are numbers or formulas in unknowns."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

from lmms_rpts.tasks.cmmath.grading.expressions import Expression, same
from lmms_rpts.tasks.cmmath.grading.lists import same_items


@dataclass(frozen=True, slots=True)
class Interval:
    """What lies between two ends.

    Attributes:
        low: the left end; None for -∞.
        high: the right end; None for +∞.
        holds_low: whether the left end belongs to it; never at -∞.
        holds_high: whether the right end belongs to it; never at +∞.
    """

    low: Expression | None
    high: Expression | None
    holds_low: bool = False
    holds_high: bool = False

    @property
    def known(self) -> bool:
        """Whether both ends are numbers or infinite."""
        return all(end is None or end.number is not None for end in (self.low, self.high))


Intervals = tuple[Interval, ...]
LINE: Intervals = (Interval(None, None),)


class UnknownOrderError(ValueError):
    """The order of two ends depends on their unknowns, or can't be told."""


def point(at: Expression) -> Intervals:
    """One number."""
    return (Interval(at, at, True, True),)


def all_but(at: Expression) -> Intervals:
    """All numbers but one."""
    return (Interval(None, at), Interval(at, None))


def union(one: Intervals, other: Intervals) -> Intervals:
    """What lies in either, sorted and merged; intervals with unknowns come last, as they are.

    Raises:
        UnknownOrderError: where two numbers can't be compared.
    """
    both = (*one, *other)
    known = sorted((each for each in both if each.known), key=functools.cmp_to_key(_by_low))
    merged: list[Interval] = []
    for each in known:
        if merged and _touch(merged[-1], each):
            high, holds = _further(merged[-1], each)
            merged[-1] = replace(merged[-1], high=high, holds_high=holds)
        else:
            merged.append(each)
    return (*merged, *(each for each in both if not each.known))


def intersection(one: Intervals, other: Intervals) -> Intervals:
    """What lies in both.

    Raises:
        UnknownOrderError: where that depends on unknowns.
    """
    found = [_overlap(left, right) for left in one for right in other]
    return union(tuple(each for each in found if not is_empty(each)), ())


def is_empty(interval: Interval) -> bool:
    """Whether nothing lies in it; not so where that depends on unknowns.

    Raises:
        UnknownOrderError: where its ends, numbers, can't be compared.
    """
    if interval.low is None or interval.high is None:
        return False
    if not interval.known:
        return False
    found = order(interval.low, interval.high)
    return found > 0 or (found == 0 and not (interval.holds_low and interval.holds_high))


def order(one: Expression, other: Expression) -> int:
    """-1, 0 or 1 as one is less than, equal to or greater than the other.

    Raises:
        UnknownOrderError: where that depends on unknowns, or can't be told.
    """
    left, right = one.number, other.number
    if left is None or right is None:
        if same(one, other):
            return 0
        raise UnknownOrderError
    if isinstance(left, float) or isinstance(right, float):
        equal = same(one, other) if _near(left, right) else False
        if equal is None:
            raise UnknownOrderError
        if equal:
            return 0
    return (left > right) - (left < right)


def same_intervals(one: Intervals, other: Intervals) -> bool | None:
    """Whether two unions hold the same numbers; None where that can't be told.

    With unknowns, intervals are paired off in any order. Where that fails, unions are different
    for some values of the unknowns if each is one interval, or one ray to either side.
    """
    if all(each.known for each in (*one, *other)):
        if len(one) != len(other):
            return False
        equal = [_same_interval(*pair) for pair in zip(one, other, strict=True)]
        return False if False in equal else (None if None in equal else True)
    found = same_items(one, other, _same_interval)
    if found is False and not (_is_plain(one) and _is_plain(other)):
        return None
    return found


def _same_interval(one: Interval, other: Interval) -> bool | None:
    if (one.holds_low, one.holds_high) != (other.holds_low, other.holds_high):
        return False
    equal = [_same_end(one.low, other.low), _same_end(one.high, other.high)]
    return False if False in equal else (None if None in equal else True)


def _same_end(one: Expression | None, other: Expression | None) -> bool | None:
    if one is None or other is None:
        return one is other
    return same(one, other)


def _is_plain(intervals: Intervals) -> bool:
    if len(intervals) == 1:
        return True
    ends = [(each.low is None, each.high is None) for each in intervals]
    return sorted(ends) == [(False, True), (True, False)]


def _near(left: float | object, right: float | object) -> bool:
    try:
        return math.isclose(float(left), float(right), rel_tol=1e-9, abs_tol=1e-12)  # type: ignore[arg-type]
    except OverflowError:
        return left == right


def _overlap(one: Interval, other: Interval) -> Interval:
    low, holds_low = _later(one, other)
    high, holds_high = _sooner(one, other)
    return Interval(low, high, holds_low, holds_high)


def _later(one: Interval, other: Interval) -> tuple[Expression | None, bool]:
    """The left end of an overlap."""
    if one.low is None or other.low is None:
        lower = other if one.low is None else one
        return lower.low, lower.holds_low
    found = order(one.low, other.low)
    if found == 0:
        return one.low, one.holds_low and other.holds_low
    later = one if found > 0 else other
    return later.low, later.holds_low


def _sooner(one: Interval, other: Interval) -> tuple[Expression | None, bool]:
    """The right end of an overlap."""
    if one.high is None or other.high is None:
        higher = other if one.high is None else one
        return higher.high, higher.holds_high
    found = order(one.high, other.high)
    if found == 0:
        return one.high, one.holds_high and other.holds_high
    sooner = one if found < 0 else other
    return sooner.high, sooner.holds_high


def _further(one: Interval, other: Interval) -> tuple[Expression | None, bool]:
    """The right end of a merger."""
    if one.high is None or other.high is None:
        return None, False
    found = order(one.high, other.high)
    if found == 0:
        return one.high, one.holds_high or other.holds_high
    further = one if found > 0 else other
    return further.high, further.holds_high


def _touch(one: Interval, other: Interval) -> bool:
    """Whether no number lies between two, of which the other doesn't start before."""
    if one.high is None or other.low is None:
        return True
    found = order(other.low, one.high)
    return found < 0 or (found == 0 and (one.holds_high or other.holds_low))


def _by_low(one: Interval, other: Interval) -> int:
    if one.low is None or other.low is None:
        return (other.low is None) - (one.low is None)
    return order(one.low, other.low) or other.holds_low - one.holds_low

"""Comparison of two readings: True, False, or None if it is undecided."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmms_rpts.grading.equations import Equation, same_equations, same_points
from lmms_rpts.grading.formulas import equal
from lmms_rpts.grading.measures import same_quantity
from lmms_rpts.grading.notation import all_of, same_items
from lmms_rpts.grading.regions import same_region
from lmms_rpts.grading.words import CIRCLED
from lmms_rpts.tasks.cmmath.grading.question import Question
from lmms_rpts.tasks.cmmath.grading.response import Reading

_ROUND = re.compile(r"\([^<>≤≥≠∪∈∞|]*$")  # (1,2): a point, unless a range is asked for
_RANGE_ASKED = re.compile(r"范围|解集|区间|定义域|值域|不等式")
# 列方程: the equation itself is the answer
_SET_UP = re.compile(r"列[^。]{0,8}(?:方程|不等式|算式)|列式")
_PERCENT_ASKED = re.compile(r"_{2,}\s?%")  # ____%
_ORDER_ASKED = re.compile(r"顺序|排列|排序|依次")  # ③①② is an order
_TIME_ASKED = re.compile(r"时刻|几时|几点|钟面|钟表|时间|现在是")
_ENGLISH = re.compile(r"[A-Za-z]{1,20}")  # ①, ③ and ④ are correct
_BRACKETED = re.compile(r"\(([1-9])\)")  # (1)(3) for ①③
_COUNTED = re.compile(r"[,，]?\s?共(?:有|计)?\s?[\d一二三四五六]\s?个$")  # ①③④,共3个
# 6×7 is not yet 42
_WORKING = re.compile(r"\d\s?[+÷]\s?\d|\d\s?×\s?(?!10(?:\^|$))\d|\d\s-\s?\d|\d-\d")
_RATIO = re.compile("[:：∶比倍/]|frac")
_MANY = 12


def same_reading(said: Reading, wanted: Reading, question: Question) -> bool | None:
    """Whether two readings give the same value.

    Returns:
        None if one of them can't be read as the other's type, or if it is uncertain.
    """
    if said.squeezed == wanted.squeezed and said.squeezed:
        return True
    if said.nothing or wanted.nothing:
        other = wanted if said.nothing else said
        words = other.quantity is None and not re.search(r"\d", other.text)
        return True if said.nothing and wanted.nothing else (None if words else False)
    for compare in (_times, _circled, _quantities, _regions, _points, _equations, _lists):
        found = compare(said, wanted, question)
        if found is not None:
            return found
    return None


def _times(said: Reading, wanted: Reading, question: Question) -> bool | None:
    """Times of day, if they are asked for: 8:30, 8时30分."""
    if wanted.minutes is None or said.minutes is None:
        return None
    asked = _TIME_ASKED.search(question.raw) or "时" in wanted.text or "点" in wanted.text
    return said.minutes == wanted.minutes if asked else None


def _circled(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.circled is None:
        return None
    text = said.text
    if not CIRCLED.search(text):
        text = _BRACKETED.sub(lambda found: chr(0x245F + int(found[1])), text)
    found = Reading(_COUNTED.sub("", _ENGLISH.sub(" ", text))).circled
    if found is None:
        return None
    if _ORDER_ASKED.search(question.raw):
        return CIRCLED.findall(text) == CIRCLED.findall(wanted.text)
    return wanted.circled == found


def _quantities(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.quantity is None:
        return None
    if wanted.minutes is not None and ":" in wanted.text and _TIME_ASKED.search(question.raw):
        return None
    said = said.unnamed
    if said.text.endswith("%") and "%" not in wanted.text and _PERCENT_ASKED.search(question.text):
        said = Reading(said.text[:-1])
    if said.quantity is None or (
        ":" in said.text and not _RATIO.search(wanted.text + question.raw)
    ):
        return None
    same = same_quantity(said.quantity, wanted.quantity, question.rounding, question.unit)
    if not same:
        return same
    if wanted.quantity.expression.decimals is not None and _WORKING.search(said.text):
        return None  # 6×7 for 42
    if question.form_is_other(said.text, wanted.text):
        return None
    return None if question.is_unfinished(said.squeezed, wanted.squeezed) else True


def _regions(said: Reading, wanted: Reading, question: Question) -> bool | None:
    point = _ROUND.match(wanted.text) and not _RANGE_ASKED.search(question.raw)
    if wanted.region is None or point:
        return None
    if said.region is None:  # one number, or a list of them, is not a range
        return False if said.is_number or said.in_braces else None
    if said.region.name and wanted.region.name and said.region.name != wanted.region.name:
        return None  # y<0, but x is asked for
    same = same_region(said.region, wanted.region)
    in_one_unit = ("°" in said.text) == ("°" in wanted.text)
    return same or (False if same is False and in_one_unit else None)  # 0<α<π/2, 0°<α<90°


def _points(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if said.in_braces and wanted.in_braces:
        said, wanted = said.in_braces, wanted.in_braces
    if wanted.points is None or "∪" in wanted.text:
        return None
    if said.points is None:
        return False if said.is_number else None
    return same_points(said.points, wanted.points)


def _equations(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.equations is None:
        return None
    values = wanted.values
    if said.equations is None:
        return None if values is None else _as_values(said, wanted, question)
    if values and said.values and said.values.keys() < values.keys():
        return False  # x=3 for x=3, y=-2
    if len(wanted.equations) == 1 and _unknowns(wanted) < _unknowns(said):
        return False  # x²/a²+y²/b²=1 for x²/4+y²/3=1
    same = same_equations(said.equations, wanted.equations)
    if same and _SET_UP.search(question.raw):
        # The equation itself is asked for: equal solutions are not enough.
        return _same_sides(said.equations, wanted.equations)
    if same and values is not None and said.values is None:
        solved = all(each.number is not None for several in values.values() for each in several)
        return not solved  # 2x=12 is not yet a solution
    return same


def _unknowns(reading: Reading) -> frozenset[str]:
    sides = (side for equation in reading.equations or () for side in equation)
    return frozenset[str]().union(*(side.names for side in sides))


def _same_sides(one: Sequence[Equation], other: Sequence[Equation]) -> bool | None:
    """True if each has the same sides as one of the others, swapped or not; else None."""

    def same(a: Equation, b: Equation) -> bool:
        straight = equal(a.left, b.left) and equal(a.right, b.right)
        return bool(straight or (equal(a.left, b.right) and equal(a.right, b.left)))

    return same_items(one, other, same) or None


def _as_values(said: Reading, wanted: Reading, question: Question) -> bool | None:
    """(3,-2), or 3 and -2, for x=3, y=-2."""
    values = wanted.values or {}
    if said.points is not None and len(said.points) == 1:
        said = Reading(",".join(each.text for each in said.points[0].coordinates))
    listed = [Reading(each.text) for several in values.values() for each in several]
    return _same_lists(said.members, listed, question, ordered=len(values) > 1)


def _lists(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.equations or wanted.points or wanted.region:
        return None  # x=1,y=4或x=3,y=2 for x=1,y=2或x=3,y=4
    names = [each.name for each in said.members if each.name]
    if len(names) == len(said.members) > 1 and names != sorted(names) and not wanted.name:
        return None  # y=2,x=3 for 3,2
    found, values = said.signed_members, wanted.signed_members
    if len(values) == 1 and not (len(found) > 1 and said.has_or):
        return None
    either = any(each.has_or or "±" in each.text for each in (said, wanted))
    return _same_lists(found, values, question, ordered=not either and "❴" not in wanted.text)


def _same_lists(
    found: Sequence[Reading], wanted: Sequence[Reading], question: Question, *, ordered: bool
) -> bool | None:
    """Whether two lists contain the same values; None if any of them can't be read."""
    if max(len(found), len(wanted)) > _MANY:
        return None
    if len(found) != len(wanted):
        readable = all(each.quantity for each in (*found, *wanted))
        return False if readable and not ordered else None
    table = [[_same_member(one, other, question) for other in wanted] for one in found]
    if ordered:
        return all_of([table[at][at] for at in range(len(wanted))])
    columns = [list(column) for column in zip(*table, strict=True)]
    if all(line.count(True) == 1 for line in (*table, *columns)):
        return True
    return False if any(set(column) == {False} for column in columns) else None


def _same_member(one: Reading, other: Reading, question: Question) -> bool | None:
    return True if one.squeezed == other.squeezed else _quantities(one, other, question)

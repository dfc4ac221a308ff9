"""Comparison of two values of any type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lmms_rpts.tasks.cmmath.grading.circled import circled_of
from lmms_rpts.tasks.cmmath.grading.equations import parse_equations, same_equations, values_of
from lmms_rpts.tasks.cmmath.grading.intervals import parse_region, same_region
from lmms_rpts.tasks.cmmath.grading.lists import pieces, signed
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.points import parse_points, same_points
from lmms_rpts.tasks.cmmath.grading.quantities import (
    form_is_wrong,
    parse_quantity,
    same_quantity,
    unfinished,
)
from lmms_rpts.tasks.cmmath.grading.text_answers import is_nothing, squeezed
from lmms_rpts.tasks.cmmath.grading.units import Unit

_ORDER_SIGN = re.compile(r"[<>≤≥≠∪∈∞]|^[\[(][^()]{1,80},[^()]{1,80}[\])]$|❴[^❵]{0,40}\|")
_INTERVAL_WORDS = re.compile(r"范围|解集|区间|定义域|值域|不等式")
_NAME = re.compile(
    r"^(?:[\u4e00-\u9fff∠△⊙]{0,8}\s?)?[A-Za-zα-ω∠][A-Za-z0-9_{}'∠:]{0,12}\s?[=≈]\s?(?=\S)"
)
_SET_UP = re.compile(r"列[^。]{0,8}(?:方程|不等式|算式)|列式")
_ALL_REALS = re.compile(r"^(?:x\s?(?:为|是|取|∈))?\s?(?:全体|任意|一切|所有)实数$")
_BRACES = re.compile(r"^❴([^❴❵|]{1,300})❵$")
_SPELLED_SIGNS = (
    (re.compile(r"不小于|不少于|不低于|大于(?:或者?)?等于|至少[为是]?"), "≥"),
    (re.compile(r"不大于|不超过|不多于|不高于|小于(?:或者?)?等于|至多[为是]?"), "≤"),
    (re.compile(r"大于|超过|多于|高于"), ">"),
    (re.compile(r"小于|少于|低于"), "<"),
    (re.compile(r"不等于"), "≠"),
)
_PERCENT_ASKED = re.compile(r"_{2,}\s?%")
_ORDER_ASKED = re.compile(r"顺序|排列|排序|依次")
_CIRCLES = re.compile(r"[①-⑳]")
_ENGLISH = re.compile(r"[A-Za-z]{1,20}")
_TURNED = re.compile(r"^([^=]{1,60})=\s?([a-z](?:_\{\d\})?)$")
_CLOCK = re.compile(
    r"^(上午|下午|凌晨|晚上|早上)?\s?([01]?\d|2[0-4])\s?(?::|时|点)\s?(?:([0-5]\d|(?<![:])\d)分?)?$"
)
_TIME_ASKED = re.compile(r"时刻|几时|几点|钟面|钟表|时间|现在是")
_BRACKETED = re.compile(r"\(([1-9])\)")
_COUNTED = re.compile(r"[,，]?\s?共(?:有|计)?\s?[\d一二三四五六]\s?个$")
_WORKING = re.compile(r"\d\s?[+÷]\s?\d|\d\s?×\s?(?!10(?:\^|$))\d|\d\s-\s?\d|\d-\d")
_TWICE = re.compile(r"([^()]{1,40}?)\s?\(([^()]{1,40})\)")
_MANY = 12


def same_value(
    answer: str, target: str, question: str = "", expected: Unit | None = None
) -> bool | None:
    """Whether two cleaned texts give the same value.

    Returns:
        None where one of them can't be read, or they can't be compared for sure.
    """
    if squeezed(answer) == squeezed(target) and squeezed(target):
        return None if form_is_wrong(question, answer) else True
    nothing = is_nothing(answer), is_nothing(target)
    if any(nothing):
        if all(nothing):
            return True
        return None if _is_words((answer, target)[nothing[0]]) else False
    for compare in _LADDER:
        found = compare(answer, target, question, expected)
        if found is not None:
            return found
    return None


def split_list(text: str) -> list[str]:
    """The members of a list; what stands in brackets stays together."""
    text = text.strip(" ❴❵.。")
    found = pieces(text, thousands=False) or ()
    if not found or any("and" in each.joined for each in found):  # 且 makes no list
        return [text] * bool(text)
    return [each.text for each in found]


def _has_or(text: str) -> bool:
    return any("or" in each.joined for each in pieces(text.strip(" .。"), thousands=False) or ())


def _both(text: str) -> tuple[str, ...]:
    return signed(text) or (text,)


def _is_words(text: str) -> bool:
    return parse_quantity(text) is None and not re.search(r"\d", text)


def _circled(answer: str, target: str, question: str, expected: Unit | None) -> bool | None:
    wanted = circled_of(target)
    if wanted is not None and not _CIRCLES.search(answer):
        answer = _BRACKETED.sub(lambda found: chr(0x245F + int(found[1])), answer)
    found = None if wanted is None else circled_of(_COUNTED.sub("", _ENGLISH.sub(" ", answer)))
    if wanted is None or found is None:
        return None
    if _ORDER_ASKED.search(question):
        return _CIRCLES.findall(answer) == _CIRCLES.findall(target)
    return wanted == found


def _quantity(answer: str, target: str, question: str, expected: Unit | None) -> bool | None:
    if _CLOCK.match(target) and ":" in target and _TIME_ASKED.search(question):
        return None
    wanted = parse_quantity(target)
    if wanted is None:
        return None
    answer = _NAME.sub("", answer)
    if "%" not in target and _PERCENT_ASKED.search(clean(question)):
        answer = answer.removesuffix("%")
    twice = _TWICE.fullmatch(answer)
    if twice and _quantity(twice[1], twice[2], "", None):
        answer = twice[1]  # 1/2 (0.5)
    found = parse_quantity(answer)
    if found is None:
        return None
    equal = same_quantity(found, wanted, question, expected)
    if equal and wanted.expression.decimals is not None and _WORKING.search(answer):
        return None  # 6×7 for 42
    if equal and form_is_wrong(question, answer):
        return False
    return None if equal and unfinished(question, answer, target) else equal


def with_signs(text: str) -> str:
    """A text with signs of order in place of the words for them."""
    for words, sign in _SPELLED_SIGNS:
        text = words.sub(sign, text)
    return text


def _region(answer: str, target: str, question: str, expected: Unit | None) -> bool | None:
    answer, target = _ALL_REALS.sub("R", answer), _ALL_REALS.sub("R", target)
    is_interval = target == "R" or _ORDER_SIGN.search(target) is not None
    bracketed = target[:1] == "(" and not re.search(r"[<>≤≥≠∪∈∞|]", target)
    if not is_interval or (bracketed and not _INTERVAL_WORDS.search(question)):
        return None
    wanted = parse_region(target)
    answer = with_signs(answer)
    found = parse_region(answer) if wanted is not None else None
    if wanted is not None and found is None and (_is_single(answer) or _BRACES.match(answer)):
        return False  # one number, or a list of them, is no range
    if wanted is None or found is None:
        return None
    if found.name and wanted.name and found.name != wanted.name:
        return None  # y<0 where x is asked for
    return same_region(found, wanted)


def _points(answer: str, target: str, question: str, expected: Unit | None) -> bool | None:
    if _BRACES.match(answer) and _BRACES.match(target):
        answer, target = _BRACES.sub(r"\1", answer), _BRACES.sub(r"\1", target)
    wanted = parse_points(target)
    found = parse_points(answer) if wanted is not None else None
    if wanted is not None and found is None and _is_single(answer):
        return False
    return None if wanted is None or found is None else same_points(found, wanted)


def _equations(answer: str, target: str, question: str, expected: Unit | None) -> bool | None:
    if "=" not in target:
        return None
    answer = _TURNED.sub(r"\2=\1", answer)
    wanted, found = parse_equations(target), parse_equations(answer)
    if wanted is None:
        return None
    values = values_of(wanted)
    if found is not None:
        equal = same_equations(found, wanted)
        if equal and _SET_UP.search(question):
            # An equation that says the same once it is solved says nothing here.
            turned = squeezed("=".join(reversed(answer.split("="))))
            return True if turned == squeezed(target) else None
        if equal and values is not None and values_of(found) is None:
            solved = all(each.number is not None for several in values.values() for each in several)
            return not solved  # 2x=12 is no solution yet
        return equal
    if values is None:
        return None
    points = parse_points(answer)
    if points is not None and len(points) == 1:
        answer = ",".join(each.text for each in points[0].coordinates)
    listed = [each.text for several in values.values() for each in several]
    return _same_lists(split_list(answer), listed, question, expected, ordered=len(values) > 1)


def _lists(answer: str, target: str, question: str, expected: Unit | None) -> bool | None:
    members = split_list(answer)
    names = [found[0] for found in map(_NAME.match, members) if found]
    if len(names) == len(members) > 1 and names != sorted(names) and not _NAME.match(target):
        return None  # y=2,x=3 for 3,2
    wanted = [each for part in split_list(target) for each in _both(_NAME.sub("", part))]
    found = [each for part in members for each in _both(_NAME.sub("", part))]
    if len(wanted) == 1 and not (len(found) > 1 and _has_or(answer)):
        return None
    if len(wanted) == 1 and all(_member(each, wanted[0], question, expected) for each in found):
        return True  # 1/2或0.5
    either = any(_has_or(text) or "±" in text for text in (answer, target))
    unordered = either or "❴" in target
    return _same_lists(found, wanted, question, expected, ordered=not unordered)


def _same_lists(
    found: Sequence[str],
    wanted: Sequence[str],
    question: str,
    expected: Unit | None,
    *,
    ordered: bool,
) -> bool | None:
    """Whether two lists hold the same values; None where any of them can't be read."""
    if max(len(found), len(wanted)) > _MANY:
        return None
    if len(found) != len(wanted):
        readable = all(parse_quantity(each) for each in (*found, *wanted))
        return False if readable and not ordered else None
    table = [[_member(one, other, question, expected) for other in wanted] for one in found]
    if ordered:
        diagonal = [table[at][at] for at in range(len(wanted))]
        return False if False in diagonal else (None if None in diagonal else True)
    if all(row.count(True) == 1 for row in table) and all(
        column.count(True) == 1 for column in map(list, zip(*table, strict=True))
    ):
        return True
    lonely = any(all(cell is False for cell in column) for column in zip(*table, strict=True))
    return False if lonely else None


def _member(one: str, other: str, question: str, expected: Unit | None) -> bool | None:
    if squeezed(one) == squeezed(other):
        return True
    return _quantity(one, other, question, expected)


def _is_single(answer: str) -> bool:
    text = _NAME.sub("", answer)
    quantity = parse_quantity(text)
    return quantity is not None and quantity.expression.number is not None


def _clock(answer: str, target: str, question: str, expected: Unit | None) -> bool | None:
    """Times of day, where they are asked for: 8:30, 8时30分."""
    wanted = _CLOCK.match(target)
    if wanted is None or not (_TIME_ASKED.search(question) or "时" in target or "点" in target):
        return None
    found = _CLOCK.match(answer)
    return None if found is None else _minutes(found) == _minutes(wanted)


def _minutes(clock: re.Match[str]) -> int:
    hour = int(clock[2]) + (12 if clock[1] in ("下午", "晚上") and int(clock[2]) < 12 else 0)
    return 60 * hour + int(clock[3] or 0)


_LADDER: tuple[Callable[[str, str, str, Unit | None], bool | None], ...] = (
    _clock,
    _circled,
    _quantity,
    _region,
    _points,
    _equations,
    _lists,
)
"""Cheap comparers first."""

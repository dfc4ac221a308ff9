"""Quantities: numbers and formulas with units, number words, and the requested form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.grading.formulas import (
    Expression,
    constant,
    equal,
    parse,
    rounds_to,
)
from lmms_rpts.grading.numbers import number_at
from lmms_rpts.grading.units import ENDING, Unit, may_be_letter, ratio, split_unit

# Number words

_LONGEST = 120
_HAS_WORDS = re.compile("[A-Za-z]{3}|[\u4e00-\u9fffⅠ-Ⅳ]")
_FINANCIAL = str.maketrans(
    "壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億ⅠⅡⅢⅣ", "一二二三三四五六六七八九十百千万亿一二三四"
)
_ROW_OF_DIGITS = re.compile("[一二三四五六七八九]{2,3}")  # 一三 is more often a list than 13
_MIXED_FRACTION = re.compile(r"(.{1,40})又\\frac\{(\d{1,9})\}\{(\d{1,9})\}", re.ASCII)
_ANGLE = re.compile(  # 30°15', 30度15分36秒
    r"(-?)(\d{1,9}(?:\.\d{1,9})?)\s?(?:°|度)\s?"
    r"(?:(\d{1,2}(?:\.\d{1,9})?)\s?(?:'(?!')|分)\s?)?(?:(\d{1,2}(?:\.\d{1,9})?)\s?(?:\"|''|″|秒))?",
    re.ASCII,
)


def _degrees(text: str) -> str:
    """30°15' and 30度15分 as degrees alone, exactly: ``\\frac{121}{4}°``; other texts unchanged."""
    found = _ANGLE.fullmatch(text.strip(ENDING)) if len(text) <= _LONGEST else None
    if found is None or (found[3] is None and found[4] is None):
        return text
    minutes, seconds = Fraction(found[3] or 0), Fraction(found[4] or 0)
    if minutes >= 60 or seconds >= 60:
        return text
    value = Fraction(found[2]) + minutes / 60 + seconds / 3600
    if value.denominator == 1:
        return f"{found[1]}{value}°"
    return f"{found[1]}\\frac{{{value.numerator}}}{{{value.denominator}}}°"


def _in_words(text: str) -> Expression | None:
    """A text of only number words, perhaps with digits; None for any other text."""
    text = text.strip(ENDING)
    if len(text) > _LONGEST or not _HAS_WORDS.search(text):
        return None
    if not text.isascii():
        text = _MIXED_FRACTION.sub(r"\1又\2/\3", text.translate(_FINANCIAL).replace(" ", ""))
    found = number_at(text)
    if found is None or found.end < len(text) or _ROW_OF_DIGITS.fullmatch(text):
        return None
    return constant(text, found.value, found.places)


# Quantities


@dataclass(frozen=True, slots=True)
class Quantity:
    """A formula and its unit, if it has one.

    Attributes:
        expression: the number or formula.
        unit: the unit after it.
        plain: the whole text as a formula, if the unit may be a letter: ``2m``.
    """

    expression: Expression
    unit: Unit | None
    plain: Expression | None = None


_PREFIX = re.compile(r"^(?:大?约(?:为|是)?|≈|[Aa]bout|[Aa]pproximately)\s?")
_ENGLISH_WORD = re.compile(  # "trees", but not sin or \frac
    r"(?<![\\A-Za-z])(?!(?:sin|cos|tan|cot|sec|csc|log|exp|arc(?:sin|cos|tan)|max|min)(?![a-z]))[A-Za-z]?[a-z]{3,}"
)
# "24 trees" is 24, but "24 hours" has a unit.
_OF_WHAT = re.compile(
    r"(?<=\d)\s(?!(?:hours?|minutes?|days?|degrees?|meters?|metres?|thousand|million|billion|hundred|dozen|miles?|gallons?|inch(?:es)?|feet|foot|yards?|pounds?|ounces?|percent|pairs?|more|less)\b)[a-z]{4,20}$"
)
# 24棵树, 3条不同的路线: the noun behind a counter; but 3个月 has a unit
_OF_THINGS = re.compile(
    r"(?<=[0-9A-Za-z)}\]])\s?(?!个(?:单位|月|星期|礼拜|世纪|季度|钟头|刻钟))[个只条根块张枚颗本件名位种次组对棵份杯页辆台座间道盆把支盒瓶袋包][\u4e00-\u9fff]{0,6}$"
)
# The text that must occur for a pattern to apply, the pattern, and its replacement.
_REWRITTEN: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("零下", re.compile(r"^零下\s?"), "-"),  # 零下3摄氏度
    ("个小时", re.compile("个小时"), "小时"),
    ("块钱", re.compile("块钱"), "元"),
    ("时又", re.compile("时又"), "时"),  # 1小时又30分
    ("倍", re.compile(r"倍\\sqrt"), r"\\sqrt"),  # 2倍根号3
    ("度", re.compile(r"(?<=\d)度(?=[+\-])"), "°"),  # 90度+α
    ("/", re.compile(r"^(-?\d{1,9})\s(\d{1,9})/(\d{1,9})$"), r"\1\\frac{\2}{\3}"),  # 2 1/2
    ("cent", re.compile(r"(?<=\d)\s?per\s?cent$"), "%"),
    ("比", re.compile(r"(?<=[0-9a-z)])\s?比\s?(?=[0-9a-z(])"), ":"),  # 2比3
    (" ", _OF_WHAT, ""),
    ("", _OF_THINGS, "个"),
    ("∈", re.compile(r"\s?[,(]\s?[a-z]\s?∈\s?[RNZ][+*]?\)?$"), ""),  # 2sin x,x∈R
    ("→", re.compile(r"→\s?([a-z])(?![A-Za-z])"), r"\1"),  # a vector by its letter
)
# What a quantity can begin with; a sentence is not a quantity.
_BEGINNING = re.compile(
    r"[^\u4e00-\u9fff]|[零〇一二两三四五六七八九十百千万亿半负每约大壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億]|零下"
)
_REWRITABLE = re.compile(r"[\u4e00-\u9fff→∈]|\s")


def parse_quantity(text: str) -> Quantity | None:
    """A whole cleaned text as a quantity; None if it is not one."""
    text = _PREFIX.sub("", text.strip(" .。,;:"))
    if not _BEGINNING.match(text) or len(text) > 2000:
        return None
    if _REWRITABLE.search(text):
        for held, pattern, replacement in _REWRITTEN:
            text = pattern.sub(replacement, text) if held in text else text
    if _ENGLISH_WORD.search(text.replace("\\frac", "")):  # not a formula, unless a unit is named
        body, unit = split_unit(text[:200])
        number = _in_words(text)
        found = number or (_spelled(body) if unit is not None else None)
        return None if found is None else Quantity(found, None if number else unit)
    plain = parse(text)
    if plain is not None and (plain.number is not None or not split_unit(text)[1]):
        return Quantity(plain, None)
    expression, unit = _in_words(text), None
    if expression is None:
        body, unit = split_unit(_degrees(text))
        expression = _spelled(body)
    if expression is None and "°" in text:
        expression, unit = parse(text.replace("°", "")), None  # 90°+α
    if expression is None:
        return None if plain is None else Quantity(plain, None)
    return Quantity(expression, unit, plain)


class Rounding(NamedTuple):
    """Whether a question asks for a rounded value, to how many places, or for an exact one."""

    asked: bool = False
    to_places: bool = False
    exact: bool = False


def _spelled(front: str) -> Expression | None:
    """A formula in digits or in words."""
    bare = front.strip(" ()")
    return _in_words(bare) or parse(bare) or parse(front.strip())


def same_quantity(
    answer: Quantity,
    target: Quantity,
    rounding: Rounding = Rounding(),  # noqa: B008 - it is frozen
    expected: Unit | None = None,
) -> bool | None:
    """Whether two quantities are equal; None if that is debatable.

    ``expected`` is the unit that the question itself has after the blank.
    """
    answer, target = _as_letters(answer, target), _as_letters(target, answer)
    scale = _scale(answer.unit, target.unit or expected)
    if scale is None:
        return False
    if scale != 1:
        return _same_number(answer.expression, target.expression, scale)
    same = equal(answer.expression, target.expression)
    if same is not False:
        return same
    return _rounded(answer.expression, target.expression, rounding)


def _as_letters(one: Quantity, other: Quantity) -> Quantity:
    """2m as two times m, if the other has an unknown m."""
    if one.unit is None or one.plain is None or not may_be_letter(one.unit):
        return one
    known = other.expression.names | (other.plain.names if other.plain else frozenset())
    return Quantity(one.plain, None) if one.plain.names & known and other.unit is None else one


def _scale(unit: Unit | None, wanted: Unit | None) -> Fraction | None:
    """The size of the answer's unit in units of the target; None if they can't be equal."""
    if unit is None or wanted is None or (unit.name == "块" and wanted.dimension == "money"):
        return Fraction(1)
    return ratio(unit, wanted)


def _same_number(answer: Expression, target: Expression, scale: Fraction) -> bool | None:
    if answer.number is None or target.number is None:
        factor = parse(f"({scale.numerator}/{scale.denominator})×({answer.text})")
        return None if factor is None else equal(factor, target)
    if isinstance(answer.number, Fraction) and isinstance(target.number, Fraction):
        return answer.number * scale == target.number
    try:
        left, right = float(answer.number) * float(scale), float(target.number)
    except OverflowError:
        return None
    return abs(left - right) <= 1e-12 * max(abs(left), abs(right))


def _rounded(answer: Expression, target: Expression, rounding: Rounding) -> bool | None:
    """False if the values differ by more than rounding; else as the question asks for rounding."""
    if answer.number is None or target.number is None:
        return False
    if answer.decimals and target.decimals is None and rounds_to(target, answer):
        return None if rounding.asked and not rounding.exact else False
    if target.decimals and answer.decimals is None and rounds_to(answer, target):
        # √13 is 3.61, but this is not certain if the question asks for a number of places.
        return True if rounding.asked and not rounding.to_places else None
    return False

"""Measures: numbers and formulas with their units, in cleaned text, and whether two are equal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.grading.formulas import Expression, constant, equal, parse, rounds_to, times
from lmms_rpts.grading.numbers import chinese_number, number_at
from lmms_rpts.grading.units import (
    LAST_CHARACTERS,
    LONGEST_NAME,
    RATE,
    Unit,
    quotient,
    rated_unit_at,
    ratio,
    simple_unit_at,
)

_LONGEST_WORDS = 120
_HAS_WORDS = re.compile("[A-Za-z]{3}|[\u4e00-\u9fffⅠ-Ⅳ]")
_FINANCIAL = str.maketrans(
    "壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億ⅠⅡⅢⅣ", "一二二三三四五六六七八九十百千万亿一二三四"
)
_ROW_OF_DIGITS = re.compile("[一二三四五六七八九]{2,3}")  # 一三 is more often a list than 13
_MIXED_FRACTION = re.compile(r"(.{1,40})又\\frac\{(\d{1,9})\}\{(\d{1,9})\}", re.ASCII)


_ENDING = " .。,，;；:、\n~"


@dataclass(frozen=True, slots=True)
class Measure:
    """A number or formula, and the unit after it, if it has one."""

    expression: Expression
    unit: Unit | None = None


# "24 trees" is 24, but "24 hours" has a unit.
_OF_WHAT = re.compile(
    r"(?<=\d)\s(?!(?:hours?|minutes?|days?|degrees?|met(?:er|re)s?|thousand|million|billion|hundred|dozen|miles?|gallons?|inch(?:es)?|feet|foot|yards?|pounds?|ounces?|percent|pairs?|more|less)\b)[a-z]{4,20}$"
)
_VECTOR = re.compile(r"→\s?([a-z])(?![A-Za-z])")
# 24棵树, 3条不同的路线: the noun behind a counter; but 3个月 has a unit
_OF_THINGS = re.compile(
    r"(?<=[0-9A-Za-z)}\]一二两三四五六七八九十百])\s?(?!个(?:半|单位|月|星期|礼拜|世纪|季度|钟头|刻钟|小时))[个只条根块张枚颗本件名位种次组对棵份杯页辆台座间道盆把支盒瓶袋包户朵枝][\u4e00-\u9fff]{0,6}$"
)
# What a quantity can begin with; a sentence is not a quantity.
_BEGINNING = re.compile(
    r"[^\u4e00-\u9fff]|[零〇一二两三四五六七八九十百千万亿半负每约大壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億]|零下"
)


def parse_measure(text: str) -> Measure | None:
    """A whole cleaned text as a quantity; None if it is not one.

    ``60km/h``, ``150(厘米)``, ``每小时60千米`` and ``￥5`` have units; 2小时30分 is 150 分. The
    letter of a formula is no unit: ``2a+3m``, ``2t``, ``sin30°``.
    """
    text = text.strip(_ENDING)
    if not _BEGINNING.match(text) or len(text) > 2000:
        return None
    text = _OF_THINGS.sub("个", _OF_WHAT.sub("", text)).replace("零下", "-")
    text = _VECTOR.sub(r"\1", text).replace("倍\\sqrt", "\\sqrt")  # a vector by its letter
    plain = _expression(text)
    if plain is not None and plain.number is not None:
        return Measure(plain)
    with_unit = _in_pieces(text) or _with_unit(text)
    if with_unit is None and plain is None and "°" in text:
        plain = parse(text.replace("°", ""))  # 90°+α
    return with_unit or (Measure(plain) if plain else None)


def _expression(text: str) -> Expression | None:
    """A formula, or a number in words, perhaps with digits."""
    words = text
    if len(text) > _LONGEST_WORDS or not _HAS_WORDS.search(text):
        return parse(text)
    if not text.isascii():
        words = _MIXED_FRACTION.sub(r"\1又\2/\3", text.translate(_FINANCIAL).replace(" ", ""))
    found = number_at(words)
    if found is None or found.end < len(words) or _ROW_OF_DIGITS.fullmatch(words):
        return parse(text)
    return constant(text, found.value, found.decimals)


# Amounts with units

_TAIL = 3 * LONGEST_NAME
_COMMAND = re.compile(r"\\(?:frac|sqrt)")
_LETTER = re.compile("[A-Za-zα-ορ-ωΩ]")
_FUNCTION = re.compile("sin|cos|tan|cot|sec|csc")
_PLAIN = re.compile(r"-?\d{1,30}(?:[.,]\d{1,30}){0,9}")
_COLLOQUIAL = re.compile("[百万亿][一二三四五六七八九1-9]$")  # 三万五 is 35000
_PIECE = re.compile(r"\s{0,2}(\d{1,15}(?:\.\d{1,15})?|[零一二两三四五六七八九十]{1,4})\s{0,2}")
_ANGLE = re.compile("(?P<seconds>''|[\"″])|'")


def _in_pieces(text: str) -> Measure | None:
    """2小时30分 as 150 分, 5元8角 as 58 角, 30°15' as 1815 minutes."""
    sign, text = (-1, text[1:]) if text[:1] == "-" else (1, text)
    total, last, at, count = Fraction(0), None, 0, 0
    while at < len(text):
        number = _PIECE.match(text, at)
        value = number and (number[1] if number[1].isascii() else chinese_number(number[1]))
        if number is None or value is None:
            return None
        unit, at = simple_unit_at(text, number.end())
        angle = _ANGLE.match(text, number.end()) if last else None
        if angle:
            size = Fraction(1, 3600 if angle["seconds"] else 60)
            unit, at = Unit(angle[0], "angle", size), angle.end()
        scale = (ratio(last, unit) or 0 if last else 2) if unit else 0
        if scale <= 1:
            return None
        total, last, count = total * scale + Fraction(value), unit, count + 1
    return Measure(constant(text, sign * total, None), last) if count > 1 else None


def _with_unit(text: str) -> Measure | None:
    """An amount and its unit."""
    if text[:1] in ("¥", "￥"):
        text = f"{text[1:]}元"
    if text[:1] == "每":  # 每小时60千米
        below, at = simple_unit_at(text, 1)
        found = _with_unit(text[at:]) if below else None
        above = found and found.unit
        return (
            Measure(found.expression, quotient(above, below)) if found and above and below else None
        )
    if text[-1:] == ")":  # 150(厘米), 150(单位:cm)
        front, _, inside = text[:-1].rpartition("(")
        text = f"{front} {re.sub('^单位 ?: ?', '', inside.strip())}"
    if text[-1:] not in LAST_CHARACTERS:
        return None
    for at in range(max(1, len(text) - _TAIL), len(text)):
        unit, end = rated_unit_at(text, at)
        if unit and end == len(text) and _is_unit(text[:at], text[at:]):
            amount = text[:at].strip(" ~")
            expression = _expression(amount) or _expression(amount.strip(" ()"))
            if expression:
                return Measure(expression, unit)
    return None


def _is_unit(front: str, unit: str) -> bool:
    """Whether a name is a unit here, not the end of a word or a letter of a formula."""
    amount, name = front.strip(" ~"), RATE.split(unit)[0]
    if unit.startswith("千") and _COLLOQUIAL.search(amount):
        return False  # 三万五千克 are 35000 克
    if "°" in name or name == "度":
        return "°" not in amount and not _FUNCTION.search(amount)
    letters = sum(character.isascii() and character.isalpha() for character in name)
    spaced = amount != front.lstrip()
    if letters == 0:
        return True
    if name in ("t", "ha") or (letters == 1 and name[-1].isdigit()):
        # 2t and ha are products much more often.
        return _PLAIN.fullmatch(amount) is not None and (spaced or name != "t")
    if letters == 1:
        return not _LETTER.search(_COMMAND.sub(" ", amount))
    before = re.search("[A-Za-z]{0,2}$", amount)
    return spaced or not before or not before[0] or (letters == 2 and len(before[0]) == 1)


# Comparison


class Rounding(NamedTuple):
    """Whether a question asks for a rounded value, to how many places, or for an exact one."""

    asked: bool = False
    to_places: bool = False
    exact: bool = False


def same_measure(
    answer: Measure,
    target: Measure,
    rounding: Rounding = Rounding(),  # noqa: B008 - it is frozen
    expected: Unit | None = None,
) -> bool | None:
    """Whether two measures are equal; None if that is debatable.

    ``expected`` is the unit that the question itself has after the blank.
    """
    unit, wanted = answer.unit, target.unit or expected
    scale: Fraction | None = Fraction(1)
    if unit and wanted and not (unit.name == "块" and wanted.dimension == "money"):
        scale = ratio(unit, wanted)
    if scale is None:
        return False
    if scale != 1:
        return equal(times(answer.expression, scale), target.expression)
    same = equal(answer.expression, target.expression)
    if same is not False:
        return same
    return _rounded(answer.expression, target.expression, rounding)


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

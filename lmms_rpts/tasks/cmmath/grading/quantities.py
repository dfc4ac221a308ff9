"""Comparison of numbers and formulas with units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lmms_rpts.tasks.cmmath.grading.expressions import (
    Expression,
    parse_expression,
    rounds_to,
    same,
)
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.numerals import degrees, spelled
from lmms_rpts.tasks.cmmath.grading.text_answers import squeezed
from lmms_rpts.tasks.cmmath.grading.units import Unit, may_be_letter, ratio, split_unit

_ROUNDED = re.compile(r"约|近似|≈|保留[^π根]{0,8}位|精确到|四舍五入|取整")
_PLACES = re.compile(r"保留|精确到|四舍五入|取整")
_EXACT = re.compile(
    r"保留\s?\$*\s?(?:\\?pi|π|根号)|用分数|分数表示|最简|准确值|精确值|含\s?\$*\s?(?:\\?pi|π)"
)
_ABOUT = re.compile(r"^(?:大?约(?:为|是)?|≈|about|approximately)\s?")
_SCIENTIFIC = re.compile(r"科学[记计]数法|scientific\snotation", re.IGNORECASE)
_POWER_OF_TEN = re.compile(
    r"^([+-]?\d{1,30}(?:\.\d{1,30})?)\s?(?:×\s?10(?:\^\{[+-]?\d{1,6}\})?|[eE][+-]?\d{1,6})$"
)
_DECIMAL_ASKED = re.compile(r"(?:化成|写成|化为|改写成|用)\s?小数")
_DECIMAL = re.compile(r"^[+-]?\d{1,30}(?:\.\d{1,30})?(?![\d/%])")


_BELOW_ZERO = re.compile(r"^零下\s?")
_ENGLISH_WORD = re.compile(
    r"(?<![\\A-Za-z])(?!(?:sin|cos|tan|cot|sec|csc|log|exp|arc(?:sin|cos|tan)|max|min)(?![a-z]))[A-Za-z]?[a-z]{3,}"
)
_OF_WHAT = re.compile(
    r"(?<=\d)\s(?!(?:hours?|minutes?|days?|degrees?|meters?|metres?|thousand|million|billion|hundred|dozen|miles?|gallons?|inch(?:es)?|feet|foot|yards?|pounds?|ounces?|percent|pairs?|more|less)\b)[a-z]{4,20}$"
)
_OF_THINGS = re.compile(
    r"(?<=[0-9A-Za-z)}\]])\s?[个只条根块张枚颗本件名位种次组对棵份杯页辆台座间道盆把支盒瓶袋包][\u4e00-\u9fff]{0,6}$"
)
_PERCENT_WORD = re.compile(r"(?<=\d)\s?per\s?cent$")
_SPACED_MIXED = re.compile(r"^(-?\d{1,9})\s(\d{1,9})/(\d{1,9})$")
_DEGREES = re.compile(r"(?<=\d)度(?=[+\-])")
_RATIO_WORD = re.compile(r"(?<=[0-9a-z)])\s?比\s?(?=[0-9a-z(])")
_VECTOR = re.compile(r"→\s?([a-z])(?![A-Za-z])")
_MIXED = re.compile(r"^-?\d{1,9}\s?(?:\\frac|又|\s\d{1,9}/)|^[一二三四五六七八九十]{1,3}又")
_IMPROPER = re.compile(r"^-?\\frac|^-?\d{1,9}/\d")
_LOWEST_TERMS = re.compile(r"最简(?:分数|整数比|比)|最简单的整数比")
_SIMPLE = re.compile(r"^-?(?:\\frac\{(\d{1,15})\}\{(\d{1,15})\}|(\d{1,15})\s?[/:]\s?(\d{1,15}))$")
_SIMPLIFIED = re.compile(r"化简|计算|展开|整理|合并|因式分解|分解因式")
_FACTORED = re.compile(r"因式分解|分解因式")
_BRACKET_TERM = re.compile(r"(?<!/)\([^()]{0,80}[+\-][^()]{0,80}\)(?!/)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A formula and its unit, where it has one.

    ``plain``: the whole text as a formula, for what may be a unit or a letter: ``2m``.
    """

    expression: Expression
    unit: Unit | None
    plain: Expression | None = None


@lru_cache(maxsize=1024)
def parse_quantity(text: str) -> Quantity | None:
    """The quantity that a whole cleaned text is; None where it is none."""
    text = _BELOW_ZERO.sub("-", _ABOUT.sub("", text.strip(" .。,;:")))
    text = text.replace("个小时", "小时").replace("正负", "±").replace("块钱", "元")
    text = _DEGREES.sub("°", text.replace("时又", "时")).replace("倍\\sqrt", "\\sqrt")
    text = _SPACED_MIXED.sub(r"\1\\frac{\2}{\3}", text)
    text = _PERCENT_WORD.sub("%", text)
    text = _RATIO_WORD.sub(":", text)
    text = _OF_THINGS.sub("个", _OF_WHAT.sub("", text))
    text = _VECTOR.sub(r"\1", text)
    if not text or len(text) > 2000 or _ENGLISH_WORD.search(text.replace("\\frac", "")):
        return _with_english_unit(text)
    plain = parse_expression(text)
    if plain is not None and (plain.number is not None or not split_unit(text)[1]):
        return Quantity(plain, None)
    body, unit = split_unit(degrees(spelled(text)))
    expression = parse_expression(spelled(body.strip(" ()")))
    expression = expression or parse_expression(body.strip())
    if expression is None and "°" in text:
        expression, unit = parse_expression(text.replace("°", "")), None  # 90°+α
    if expression is None:
        return None if plain is None else Quantity(plain, None)
    return Quantity(expression, unit, plain)


def same_quantity(
    answer: Quantity, target: Quantity, question: str = "", expected: Unit | None = None
) -> bool | None:
    """Whether two quantities are equal; None where that is a matter of opinion.

    Args:
        answer: what was answered.
        target: the reference.
        question: as it was asked, for what it says about rounding.
        expected: the unit that the question itself writes behind the blank.
    """
    answer, target = _as_letters(answer, target), _as_letters(target, answer)
    scaled = _scaled(answer, target, expected)
    if scaled is None:
        return False
    if scaled != 1:
        return _same_number(answer.expression, target.expression, scaled)
    equal = same(answer.expression, target.expression)
    if equal is not False:
        return equal
    return _rounding(answer.expression, target.expression, question)


def asks_rounding(question: str) -> bool:
    """Whether the question asks for a rounded value."""
    return _ROUNDED.search(question) is not None


def form_is_wrong(question: str, answer: str) -> bool:
    """Whether a form was asked for that the answer, equal as a number, doesn't have."""
    if _DECIMAL_ASKED.search(question) and not _DECIMAL.match(answer):
        return True
    if "带分数" in question or "假分数" in question:
        return (
            _MIXED.match(answer.strip()) is None
            if "带分数" in question
            else (_IMPROPER.match(answer.strip()) is None)
        )
    simple = _SIMPLE.match(answer.strip()) if _LOWEST_TERMS.search(question) else None
    if simple is not None and math.gcd(*(int(term) for term in simple.groups() if term)) > 1:
        return True
    if not _SCIENTIFIC.search(question):
        return False
    found = _POWER_OF_TEN.match(split_unit(answer)[0].strip())
    return found is None or not 1 <= abs(Fraction(found[1])) < 10


def unfinished(question: str, answer: str, target: str) -> bool:
    """Whether an answer, equal in value, may lack the form that the question is all about."""
    if not _SIMPLIFIED.search(question):
        return False
    said, asked = squeezed(answer), squeezed(clean(question))
    if len(said) > 3 and said in asked:
        return True
    if _FACTORED.search(question):
        return sorted(_factors(said)) != sorted(_factors(squeezed(target)))
    return bool(_BRACKET_TERM.search(said)) and not _BRACKET_TERM.search(target)


def _factors(text: str) -> list[str]:
    groups = re.findall(r"\([^()]{1,200}\)(?:\^\{[^{}]{1,9}\})?", text)
    rest = re.sub(r"\([^()]{1,200}\)(?:\^\{[^{}]{1,9}\})?|×", "", text)
    return [*groups, rest]


def _with_english_unit(text: str) -> Quantity | None:
    """ "24 trees" is 24; other words make no quantity, unless they name a unit."""
    body, unit = split_unit(text[:200])
    expression = None if unit is None else parse_expression(spelled(body.strip(" ()")))
    return None if expression is None else Quantity(expression, unit)


def _as_letters(one: Quantity, other: Quantity) -> Quantity:
    """2m as two times m, where the other has an unknown m."""
    if one.unit is None or one.plain is None or not may_be_letter(one.unit):
        return one
    known = other.expression.names | (other.plain.names if other.plain else frozenset())
    return Quantity(one.plain, None) if one.plain.names & known and other.unit is None else one


def _scaled(answer: Quantity, target: Quantity, expected: Unit | None) -> Fraction | None:
    """How many units of the target one of the answer's is; None where they can't be equal."""
    wanted = target.unit or expected
    if answer.unit is None or wanted is None:
        return Fraction(1)
    if answer.unit.name == "块" and wanted.dimension == "money":
        return Fraction(1)
    return ratio(answer.unit, wanted)


def _same_number(answer: Expression, target: Expression, scale: Fraction) -> bool | None:
    if answer.number is None or target.number is None:
        factor = parse_expression(f"({scale.numerator}/{scale.denominator})×({answer.text})")
        return None if factor is None else same(factor, target)
    if isinstance(answer.number, Fraction) and isinstance(target.number, Fraction):
        return answer.number * scale == target.number
    left, right = float(answer.number) * float(scale), float(target.number)
    return abs(left - right) <= 1e-12 * max(abs(left), abs(right))


def _rounding(answer: Expression, target: Expression, question: str) -> bool | None:
    """False where the values are simply different; else what the question says of rounding."""
    if answer.number is None or target.number is None:
        return False
    if answer.decimals and target.decimals is None and rounds_to(target, answer):
        return None if _ROUNDED.search(question) and not _EXACT.search(question) else False
    if target.decimals and answer.decimals is None and rounds_to(answer, target):
        # √13 is 3.61, yet not to two places, where these are asked for.
        return True if _ROUNDED.search(question) and not _PLACES.search(question) else None
    return False

"""Quantities: numbers and formulas with units, number words, and the requested form."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.answers.number_words import (
    CHINESE_DIGITS,
    CHINESE_SCALES,
    ENGLISH_SCALES,
    ENGLISH_WORDS,
    chinese_number,
    english_number,
)
from lmms_rpts.tasks.cmmath.grading.formulas import Expression, equal, parse, rounds_to
from lmms_rpts.tasks.cmmath.grading.units import ENDING, Unit, may_be_letter, ratio, split_unit

# Number words

_LONGEST = 120
_HAS_WORDS = re.compile("[A-Za-z]{3}|[\u4e00-\u9fffⅠ-Ⅳ]")
_FINANCIAL = str.maketrans(
    "壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億ⅠⅡⅢⅣ", "一二二三三四五六六七八九十百千万亿一二三四"
)
_DIGITS = "".join(CHINESE_DIGITS)
_FIGURES = re.compile(r"\d{1,30}(?:\.\d{1,30})?|\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,30})?", re.ASCII)
_SCALED = re.compile(r"(.{1,40}?)([十百千]?[万亿]|万亿|[百千])")  # 2.5亿, 5百万
_MIXED_WORDS = re.compile(  # 三又四分之一, 1又1/2
    r"(.{1,40})又(?:(.{1,40})分之(.{1,40})|(\d{1,9})/(\d{1,9})|(\\frac\{.{1,60}))", re.ASCII
)
# 三成五
_TENTHS = re.compile(rf"(\d(?:\.\d{{1,2}})?|\d\d|[{_DIGITS}])成([{_DIGITS}半\d])?", re.ASCII)
_DISCOUNT = re.compile(rf"(\d(?:\.\d{{1,2}})?|\d\d|[{_DIGITS}]{{1,2}})折", re.ASCII)  # 八五折
_ORDINALS = (
    "half third quarter fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth twentieth thirtieth fortieth fiftieth hundredth thousandth"
)
_BELOW = (2, 3, 4, *range(4, 17), 20, 30, 40, 50, 100, 1000)
_PARTS = dict(zip(_ORDINALS.split(), _BELOW, strict=True), halve=2)
_POWER = re.compile(rf"([\d.,]{{1,40}})\s?({'|'.join(ENGLISH_SCALES)})")  # 2.5 million
_PERCENT = re.compile(r"(.{1,60}?)\s?(?:percent|per cent)")
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


def _formula(text: str) -> str | None:
    """The formula for a text of only number words; None for any other text, and for digits."""
    if not _HAS_WORDS.search(text):
        return None
    for minus in ("负", "minus ", "negative ", "-"):
        if text.lower().startswith(minus):
            rest = text[len(minus) :].strip()
            number = _formula(rest) or _figures(rest)
            return f"-{number}" if number and not number.startswith("-") else None
    return _english(text.lower()) if text.isascii() else _chinese(text)


def _figures(text: str) -> str | None:
    return text.replace(",", "") if _FIGURES.fullmatch(text) else None


def _chinese(text: str) -> str | None:
    text = text.translate(_FINANCIAL).replace(" ", "")
    if text in ("半", "一半"):
        return "\\frac{1}{2}"
    if (number := _tenths(text)) is not None:
        return number
    mixed = _MIXED_WORDS.fullmatch(text)
    if mixed is not None:
        whole, below, above, top, bottom, latex = mixed.groups()
        part = latex or _fraction(bottom or _whole(below), top or _whole(above))
        return f"{_whole(whole)}{part}" if _whole(whole) and part else None
    below, found, above = text.partition("分之")
    if found and below == "百":
        percent = "100" if above == "百" else _decimal(above)
        return percent and f"{percent}%"
    if found:
        return _fraction(str(CHINESE_SCALES.get(below) or _whole(below) or ""), _whole(above))
    if text.endswith("个半"):
        whole = _whole(text[:-2])
        return whole and f"{whole}\\frac{{1}}{{2}}"
    return _decimal(text)


def _tenths(text: str) -> str | None:
    """五成, 三成五 and 八五折 in percent."""
    found = _TENTHS.fullmatch(text)
    if found is not None:
        first, last = _digits(found[1]), "5" if found[2] == "半" else _digits(found[2] or "0")
        return None if found[2] and not first.isdigit() else _percent(first, last)
    found = _DISCOUNT.fullmatch(text)
    share = _digits(found[1]) if found else ""
    if not share:
        return None
    return f"{share}%" if share.isdigit() and len(share) == 2 else _percent(share)


def _percent(tens: str, ones: str = "0") -> str:
    """A percentage as a terminating decimal with few places."""
    value = 10 * Fraction(tens) + Fraction(ones)
    whole = value.denominator == 1
    return f"{value if whole else f'{float(value):.4f}'.rstrip('0').rstrip('.')}%"


def _digits(text: str) -> str:
    return "".join(str(CHINESE_DIGITS.get(character, character)) for character in text)


def _fraction(below: str | None, above: str | None) -> str | None:
    return f"\\frac{{{above}}}{{{below}}}" if above and below and below.strip("0") else None


def _whole(text: str) -> str | None:
    """A whole number in words or digits; 一三 is more often a list than 13."""
    if text.isascii():
        return text if text.isdecimal() else None
    if 1 < len(text) < 4 and all(character in CHINESE_DIGITS for character in text):
        return None if "零" not in text[1:] and "〇" not in text[1:] else str(chinese_number(text))
    value = chinese_number(text)
    return None if value is None else str(value)


def _decimal(text: str) -> str | None:
    """A number in words or digits, possibly with decimals or a scale: 二点五, 1.5万."""
    if (number := _whole(text) or _figures(text)) is not None:
        return number
    scaled = _SCALED.fullmatch(text)
    if scaled is not None:
        number = _decimal(scaled[1]) if not scaled[1].endswith(tuple(CHINESE_SCALES)) else None
        factor = math.prod(CHINESE_SCALES[mark] for mark in scaled[2])
        return number and _exact(Fraction(number) * factor)
    whole, found, decimals = text.partition("点")
    if not found or not 0 < len(decimals) <= 30 or set(decimals) - set(_DIGITS):
        return None
    number = _whole(whole)
    return number and f"{number}.{_digits(decimals)}"


def _exact(value: Fraction) -> str | None:
    return str(value) if value.denominator == 1 else None


def _english(text: str) -> str | None:
    words = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text).split()
    percent = _PERCENT.fullmatch(" ".join(words))
    if percent is not None:
        share = _figures(percent[1]) or _count(percent[1].split())
        return share and f"{share}%"
    power = _POWER.fullmatch(" ".join(words))
    if power is not None:
        figures = _figures(power[1])
        return figures and _exact(Fraction(figures) * ENGLISH_SCALES[power[2]])
    if words[-1:] in (["a"], ["an"]) and words[:1] == ["half"]:
        words = words[:-1]
    if "and" in words:  # two and three quarters
        at = len(words) - 1 - words[::-1].index("and")
        whole, part = _count(words[:at]), _english_part(words[at + 1 :])
        if part:
            return whole and whole + part
    return _english_part(words) or _count(words)


def _english_part(words: list[str]) -> str | None:
    """Two thirds, a half, half, three quarters."""
    if words in (["half"], ["quarter"]):
        words = ["a", *words]
    if len(words) < 2:
        return None
    above = "1" if words[:-1] == ["a"] else _count(words[:-1])
    singular = words[-1] if above == "1" else words[-1].removesuffix("s")
    if singular not in _PARTS or (above != "1" and not words[-1].endswith("s")):
        return None
    return _fraction(str(_PARTS[singular]), above)


def _count(words: list[str]) -> str | None:
    """Two hundred and five, two point five."""
    if "point" in words:
        at = words.index("point")
        whole, decimals = (
            _count(words[:at]),
            [ENGLISH_WORDS.get(each, 10) for each in words[at + 1 :]],
        )
        if whole is None or not decimals or max(decimals) > 9 or len(decimals) > 30:
            return None
        return f"{whole}.{''.join(map(str, decimals))}"
    if not words or len(words) > 20 or words == ["a"]:
        return None
    if words[0] in ENGLISH_SCALES or words[-1] in ("a", "and"):
        return None
    value = english_number(" ".join(words))
    return None if value is None else str(value)


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
        number = _formula(text.strip(ENDING)) if len(text) <= _LONGEST else None
        found = _spelled(body) if unit is not None and number is None else parse(number or "")
        return None if found is None else Quantity(found, unit if number is None else None)
    plain = parse(text)
    if plain is not None and (plain.number is not None or not split_unit(text)[1]):
        return Quantity(plain, None)
    number = _formula(text.strip(ENDING)) if len(text) <= _LONGEST else None
    body, unit = (number, None) if number is not None else split_unit(_degrees(text))
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
    number = _formula(bare) if len(bare) <= _LONGEST else None
    return parse(bare if number is None else number) or parse(front.strip())


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

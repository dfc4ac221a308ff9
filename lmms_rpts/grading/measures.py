"""Measures: numbers and formulas with their units, in cleaned text, and whether two are equal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.grading.formulas import Expression, constant, equal, parse, rounds_to, times
from lmms_rpts.grading.numbers import CHINESE_SCALES, chinese_number, number_at
from lmms_rpts.grading.vocabulary import VOCABULARY, rows


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement, or a counter.

    Attributes:
        name: its usual short name, such as ``cm``, ``km/h`` or ``个``.
        dimension: what it measures: ``length``, ``money/mass``; ``count:个`` for a counter.
        factor: its size in the dimension's base unit (metre, square metre, cubic metre, kilogram,
            second, month, degree, yuan; for a compound, the quotient).
    """

    name: str
    dimension: str
    factor: Fraction


# What else a unit of this name may measure: dimension and factor.
_ALSO = {
    "分": (("time", Fraction(60)), ("money", Fraction(1, 100)), ("angle", Fraction(1, 60))),
    "秒": (("angle", Fraction(1, 3600)),),
    "度": (("temperature", Fraction(1)), ("energy", Fraction(3_600_000))),
    "块": (("money", Fraction(1)),),
    "毛": (("money", Fraction(1, 10)),),
}


def _plurals(name: str) -> tuple[str, ...]:
    """An English name with its plural, and in both spellings of -meter and -liter."""
    english = len(name) > 3 and name.replace(" ", "").isalpha() and name.isascii()
    if not english or name.endswith("s") or name in ("feet", "yuan", "jiao"):
        return (name,)
    names = (name, name.replace("meter", "metre").replace("liter", "litre"))
    ends = ("",) if name.startswith(("degree ", "degrees ")) else ("", "s")
    return tuple(each + end for each in names for end in ends)


def _read(dimension: str) -> Iterator[tuple[Unit, list[str]]]:
    for factor, *words in rows(VOCABULARY["units"][dimension]):
        names = [word.replace("+", " ") for word in words]
        aliases = [alias for name in names for alias in _plurals(name)]
        yield Unit(names[0], dimension, Fraction(factor)), aliases


def _power(unit: Unit, exponent: int, names: list[str]) -> tuple[Unit, list[str]]:
    """The square or cube of a length with its names: cm^{2}, cm2, 平方厘米, square cm."""
    noun, chinese = {2: ("area", "平方"), 3: ("volume", "立方")}[exponent]
    english = ("square ", "sq ", "sq. ") if exponent == 2 else ("cubic ", "cu ", "cu. ")
    aliases = []
    for name in names:
        aliases += [f"{name}^{{{exponent}}}", f"{name} ^{{{exponent}}}"]
        aliases += [word + name for word in (english if name.isascii() else (chinese,))]
        if name.isascii() and len(name) < 3:
            aliases.append(f"{name}{exponent}")
    return Unit(f"{unit.name}^{{{exponent}}}", noun, unit.factor**exponent), aliases


def _table() -> dict[str, Unit]:
    entries = list(_read("length"))
    entries += [_power(unit, exponent, names) for unit, names in entries for exponent in (2, 3)]
    for dimension in VOCABULARY["units"]:
        entries += _read(dimension) if dimension != "length" else ()
    for name in VOCABULARY["counters"]:
        entries.append((Unit(name, f"count:{name}", Fraction(1)), [name]))
    table: dict[str, Unit] = {}
    for unit, aliases in entries:
        for alias in aliases:
            # 度 and 毛 measure more than their namesakes: they keep their own names.
            table[alias] = Unit(alias, unit.dimension, unit.factor) if alias in _ALSO else unit
    return table


# Every unit by each of its names.
UNITS = _table()
_FOLDED = {name.lower(): unit for name, unit in UNITS.items() if name.isascii() and len(name) > 1}
LAST_CHARACTERS = {name[-1] for name in UNITS} | {name[-1].upper() for name in UNITS}
LONGEST_NAME = max(map(len, UNITS))


def _unit_named(name: str) -> Unit | None:
    """The simple unit of exactly this name; case is ignored, but not in ``CM``.

    Two capitals are more often a segment's name than a unit.
    """
    if (unit := UNITS.get(name)) is not None:
        return unit
    segment = name.isupper() and sum(map(str.isalpha, name)) <= 2
    return None if segment or len(name) < 2 else _FOLDED.get(name.lower())


def quotient(above: Unit, below: Unit) -> Unit:
    """The quotient of two units, such as ``元/kg``."""
    below = UNITS["分钟"] if below.name == "分" else below
    dimension = f"{above.dimension}/{below.dimension}"
    return Unit(f"{above.name}/{below.name}", dimension, above.factor / below.factor)


def simple_unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """The longest simple unit that begins at this place of a text, and where it ends."""
    for length in range(min(LONGEST_NAME, len(text) - at), 0, -1):
        unit = _unit_named(text[at : at + length])
        if unit is not None:
            return unit, at + length
    return None, at


# km/h, 千米每小时, "km per hour", "km an hour"
RATE = re.compile(r"\s?(?:/\s?每?|每|(?:per|an?)\s)\s?")
# Quotients of two letters that are known as units; others, such as m/t, belong to a formula.
_LETTER_RATES = frozenset({"m/s", "L/s", "L/h", "t/h", "g/L"})


def rated_unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """The longest unit at this place, possibly a quotient; and where it ends."""
    unit, end = simple_unit_at(text, at)
    rate = RATE.match(text, end) if unit else None
    below, behind = simple_unit_at(text, rate.end()) if rate else (None, end)
    if unit is None or below is None:
        return unit, end
    both = quotient(unit, below)
    letters = len(both.name) == 3 and both.name.isascii() and both.name not in _LETTER_RATES
    return (unit, end) if letters else (both, behind)


def unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """As ``rated_unit_at``, possibly with a scale: 万元."""
    mark = next((mark for mark in ("万亿", "亿", "万") if text.startswith(mark, at)), "")
    unit, end = rated_unit_at(text, at + len(mark))
    for scale in mark if unit else "":
        unit = unit and Unit(scale + unit.name, unit.dimension, unit.factor * CHINESE_SCALES[scale])
    return (unit, end) if unit else (None, at)


def ratio(one: Unit, other: Unit) -> Fraction | None:
    """The size of one unit in the other; None if they measure different things.

    Counters (个, 人, 只 ...) are all equal. 分 is a mark, a minute or a cent, and 度 an angle or a
    temperature: whichever fits the other unit.
    """
    for dimension, factor in _readings(one):
        for wanted, divisor in _readings(other):
            if dimension == wanted:
                return factor / divisor
    return None


def _readings(unit: Unit) -> tuple[tuple[str, Fraction], ...]:
    main = (re.sub(r"count:[^/]{1,9}", "count", unit.dimension), unit.factor)
    return (main, *_ALSO.get(unit.name, ()))


_LONGEST_WORDS = 120
# "twelve", 三十, Ⅱ
_HAS_WORDS = re.compile("[A-Za-z]{3}|[\u4e00-\u9fffⅠ-Ⅳ]")
# 壹佰 on bills, Ⅱ in names
_FINANCIAL = str.maketrans(
    "壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億ⅠⅡⅢⅣ", "一二二三三四五六六七八九十百千万亿一二三四"
)
_ROW_OF_DIGITS = re.compile("[一二三四五六七八九]{2,3}")  # 一三 is more often a list than 13
# 2又\frac{1}{3}
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
# →a is written as a in the reference
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
# sin30°: this degree sign is no unit of the value
_FUNCTION = re.compile("sin|cos|tan|cot|sec|csc")
# an amount in digits: "2 t" is two tonnes, but "2t" a product
_PLAIN = re.compile(r"-?\d{1,30}(?:[.,]\d{1,30}){0,9}")
_COLLOQUIAL = re.compile("[百万亿][一二三四五六七八九1-9]$")  # 三万五 is 35000
# the 2 and 30 of 2小时30分, the 三 of 三元五角
_PIECE = re.compile(r"\s{0,2}(\d{1,15}(?:\.\d{1,15})?|[零一二两三四五六七八九十]{1,4})\s{0,2}")
# 30°15'20''
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

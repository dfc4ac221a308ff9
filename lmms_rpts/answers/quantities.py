"""Parser of one quantity: a number with its unit, in digits or in words."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.answers.number_words import (
    ENGLISH_SCALES,
    ENGLISH_WORDS,
    chinese_number,
    english_number,
)
from lmms_rpts.reasoning.casing import lower

_SCALES = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "万": 10**4, "亿": 10**8,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<sign>[-+]|(?:minus|negative)\s(?=[.$\d])|负(?=\d))?\s?(?P<currency>US\$|[$€£¥₹])?\s?(?P<inner>-)?"
    r"(?:(?P<mixed>\d{1,9})\s(?=\d{1,9}/\d))?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,13}(?![\d,]\d)|\d{1,40}(?!\d)|(?=\.\d))(?P<decimals>\.\d{1,40})?(?!\d)"
    r"(?:\s?/\s?(?P<divisor>\d{1,40}(?:\.\d{1,40})?)(?![\d/.]\d))?"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\d)|\s?[×x*]\s?10\s?\^\s?(?P<power>[-+]?\d{1,3})(?!\d))?"
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|trillion|[万亿])(?![a-z]))?"
    r"(?:\s?(?P<percent>%|percent(?!a)|per\scent|‰))?",
    re.IGNORECASE | re.ASCII,
)
_POWER_OF_TEN = re.compile(r"10\^([-+]?\d{1,3})(?!\d)")
_WORD = "|".join(sorted((*ENGLISH_WORDS, *ENGLISH_SCALES), key=len, reverse=True))
_ENGLISH = re.compile(
    rf"(?P<minus>(?:minus|negative)\s)?(?P<words>(?:a\s(?=hundred|thousand|million|billion))?(?:{_WORD})"
    rf"(?:(?:-|\sand\s|\s)(?:{_WORD})){{0,12}})(?![A-Za-z])",
    re.IGNORECASE,
)
NUMBER_WORD = re.compile(rf"(?<![A-Za-z])(?:{_WORD})(?![A-Za-z])", re.IGNORECASE)
_CHINESE = re.compile(r"(?P<minus>负)?(?P<words>[零〇一二两三四五六七八九十百千万亿]{1,20})")
_CHINESE_FRACTION = re.compile(
    r"([零一二两三四五六七八九十百千万]{1,12}|\d{1,9})分之([零一二两三四五六七八九十百千万]{1,12}|\d{1,9})"
)
# 五六个 means five or six
_ESTIMATES = frozenset(
    ("一二", "一两", "二三", "两三", "三两", "三四", "三五", "四五", "五六", "六七", "七八", "八九")
)
_COUNTED = {"百": "一百", "千": "一千", "万": "一万"}  # 百分之五十

# Units by name; any other word is a unit of its own.
_UNITS = {
    name: unit
    for unit, names in {
        "mm": "mm millimeter millimetre 毫米", "cm": "cm centimeter centimetre 厘米",
        "dm": "dm decimeter decimetre 分米", "m": "m meter metre 米", "µm": "µm μm micrometer 微米",
        "km": "km kilometer kilometre 千米 公里",
        "in": "in inch inche 英寸", "ft": "ft foot feet 英尺",
        "yd": "yd yard 码", "mi": "mi mile 英里",
        "mg": "mg milligram 毫克", "g": "g gram gramme 克", "kg": "kg kilogram kilo 千克 公斤",
        "t": "t ton tonne 吨", "lb": "lb pound", "oz": "oz ounce",
        "s": "s sec second 秒", "min": "min minute 分钟",
        "h": "h hr hour 小时", "ms": "ms millisecond 毫秒",
        "day": "day 天 日", "week": "week 周 星期", "month": "month 月 个月",
        "year": "year yr 年 岁",
        "ml": "ml milliliter millilitre 毫升", "l": "l liter litre 升",
        "°": "° deg degree 度", "°C": "°c celsius 摄氏度", "°F": "°f fahrenheit 华氏度",
        "rad": "rad radian 弧度", "K": "kelvin", "N": "n newton 牛 牛顿", "J": "j joule 焦 焦耳",
        "W": "w watt 瓦 瓦特", "kW": "kw kilowatt 千瓦", "V": "v volt 伏", "A": "a amp ampere 安",
        "Ω": "ω ohm 欧姆 欧", "Hz": "hz hertz 赫兹", "Pa": "pa pascal 帕", "mol": "mol mole 摩尔",
        "$": "$ us$ usd dollar 美元", "€": "€ eur euro 欧元", "£": "£ gbp 英镑", "¢": "¢ cent",
        "¥": "¥ cny rmb yuan 元 块 人民币",
        "km/h": "km/h kmh kph kmph 千米/时 千米/小时 公里/小时",
        "m/s": "m/s mps 米/秒", "mph": "mph",
        "m^2": "m^2 m2 sqm 平方米", "cm^2": "cm^2 cm2 平方厘米", "mm^2": "mm^2 mm2",
        "km^2": "km^2 km2 平方千米 平方公里",
        "m^3": "m^3 m3 立方米", "cm^3": "cm^3 cm3 cc 立方厘米",
    }.items()
    for name in names.split()
}  # fmt: skip
_METRES = r"(?:(centi|milli|kilo)met(?:er|re)s?|met(?:er|re)s?|([ckm]?m))(?![a-z])"
_PHRASES = (
    (re.compile(rf"\bsquare\s{_METRES}"), 2),
    (re.compile(rf"\bcubic\s{_METRES}"), 3),
)  # fmt: skip
_PER = re.compile(r"\s?(?:per\s|/\s?)(?:an?\s)?")
_DEGREES = re.compile(r"(?:°|degrees?)\s?(c|f|celsius|fahrenheit)(?![a-z])")
_MEASURE_WORDS = frozenset("个只条张本把辆位名头匹棵朵块片件双座间次种人颗粒支枝杯瓶")
# "8 of them", "8 apples in the picture", "8 (5 red and 3 blue)"
_PLACED = re.compile(
    r"(?:^|\s)(?:(?:is|are|was|were|can\sbe)\s)?(?:seen|in|on|at|of|from|inside|visible|shown"
    r"|altogether|overall|present|here|there|that|which|for|by|per\s(?:person|child))(?![A-Za-z])[^\d]{0,200}$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s\(([^()]{0,120})\)$")
_SCALE_LETTERS = frozenset("kKMGTB")  # 8k, 4K, 5G
_PLACED_ZH = re.compile(r"(?:在|于)[^\d]{0,60}$")
# These words after a number change its value, or mark it as a difference.
_CHANGES = re.compile(
    r"(?<![a-z])(?:hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?"
    r"|tenths?|\w{0,12}ths?(?<!months)(?<!month)(?<!moths)(?<!moth)|st|nd|rd|dozens?"
    r"|scores?|pairs?|couples?|times|fold|squared|cubed|factorial"
    r"|plus|minus|more|less|fewer|short(?:er)?|long(?:er)?|larg\w{0,3}|small\w{0,3}|bigg\w{0,3}"
    r"|high(?:er)?|low(?:er)?|tall(?:er)?|old(?:er)?|young(?:er)?|further|farther|fast(?:er)?|slow(?:er)?"
    r"|later|earlier|ahead|behind|above|below|over|under|extra|additional|another|missing|off|point|and"
    r"|or|to|not|but|except|something|some|is|are|was|were|before|after"
    r"|each|every|apiece|ago|then|until|power|root|odd|than|too|no|if|unless"
    r"|depending|k|b|bn|mn|hundreds?|thousands?|millions?|billions?)(?![a-z])"
    r"|^[千百十折号者角边维巧项点半几多余来数成倍分样起直些定般切旦致边面共律甲乙]|半|倍|左右|以上|以下|以内|多|几|不|或|到",
    re.IGNORECASE,
)
_UNIT_CHARACTERS = re.compile(
    r"(?!.*[/^\-]$)[^\W\d_]{0,20}[^%\d.,;:!?()\[\]{}<>=≈≤≥≠~√∞±+×÷*#@&|\"\\]{0,60}"
)
_POWERED = re.compile(r"(?<=[A-Za-z])\^([23])(?!\d)")


# These words after a number scale it, or change its zero point: 5 lakh, 5 ppm, 5 BC
_SCALING_UNIT = re.compile(
    r"(?<![a-z])(?:lakh|lac|crore|mil|mln|mio|mrd|bil|bln|tr?n|[a-z]{1,12}illi(?:on|ard)|myriad"
    r"|grand|gross|doz|dz|ten|pct|percentage|pp[mbt]|bps?|(?:per)?mille?|basi|b\.?c(?:\.?e)?"
    r"|mega|giga|hecto)s?(?![a-z])"
)
# The prefix of MW, MHz, Mm: upper case means mega, lower case milli; also Mb, which is not bytes
_MEGA = re.compile(
    r"(?<![A-Za-z])M(?=(?i:m|g|s|a|hz|n|pa|j|w|v|f|ω|ohm|l|t|ev|wh|bq|sv|b|bps|bit)(?![A-Za-z]))"
)
_BIT = re.compile(r"(?<![A-Za-z])([KMGT])b(?=(?:ps)?(?![A-Za-z]))")


class Quantity(NamedTuple):
    """A number with its unit.

    Attributes:
        value: the number, with its scale and percent sign applied.
        unit: the words after it, in canonical form; may be empty.
        plain_value: the number without scale and percent sign.
        digits: its digits, if it is written in digits; else empty.
        text: the parsed text.
    """

    value: Fraction
    unit: str
    plain_value: Fraction
    digits: str
    text: str


def read_quantity(text: str, *, counted: bool = False) -> Quantity | None:
    """Parse the quantity of a plain text; None if it is anything else, or more than one.

    ``counted``: "one" is a number here, as in "There is one bird".
    """
    text = text.strip(" ,;:\"'，；：").rstrip(" .。")
    if text[:1] == "(" and text[-1:] == ")" and text.count("(") == 1:
        text = text[1:-1].strip()
    if text.startswith("~") or not 0 < len(text) <= 300:
        return None
    aside = _ASIDE.search(text)
    again = read_quantity(aside[1]) if aside else None  # eight (8), but not 8 (9)
    core = text[: aside.start()] if aside else text
    for read in (_in_digits, _in_english, _in_chinese):
        found = read(core)
        if found is not None:
            value, plain_value, end, before = found
            unit = _unit_of(core[end:])
            if unit is None or (before and unit) or (again and again.value != value):
                return None
            alone = counted or not core[end:].strip() or is_known(unit)
            if lower(core[:end]) == "one" and not alone:
                return None  # "one of the birds"
            digits = re.sub(r"\D", "", core[:end]) if read is _in_digits else ""
            return Quantity(value, before or unit, plain_value, digits, text)
    return None


_Read = tuple[Fraction, Fraction, int, str]


def _in_digits(text: str) -> _Read | None:
    power = _POWER_OF_TEN.match(text)
    if power:
        value = Fraction(10) ** int(power[1])
        return value, value, power.end(), ""
    found = _NUMBER.match(text)
    if found is None or (found["sign"] and found["inner"]):
        return None
    value = Fraction(found["digits"].replace(",", "") + (found["decimals"] or "") or "0")
    if found["divisor"]:
        divisor = Fraction(found["divisor"])
        if not divisor:
            return None
        value /= divisor
    if found["mixed"]:
        value += int(found["mixed"])
    value *= Fraction(10) ** int(found["exponent"] or found["power"] or 0)
    sign = found["sign"] or found["inner"] or ""
    value = -value if sign and sign != "+" else value
    scale = Fraction(_SCALES[lower(found["scale"])] if found["scale"] else 1)
    if found["percent"]:
        scale /= 1000 if found["percent"] == "‰" else 100
    currency = _UNITS.get(lower(found["currency"] or ""), "")
    return value * scale, value, found.end(), currency


def _in_english(text: str) -> _Read | None:
    found = _ENGLISH.match(text)
    number = english_number(lower(found["words"])) if found else None
    if found is None or number is None:
        return None
    value = Fraction(-number if found["minus"] else number)
    percent = re.match(r"\s?(?:%|percent|per\scent)(?![a-z])", text[found.end() :], re.IGNORECASE)
    end = found.end() + (percent.end() if percent else 0)
    return (value / 100 if percent else value), value, end, ""


def _in_chinese(text: str) -> _Read | None:
    divided = _CHINESE_FRACTION.match(text)
    if divided:
        below, above = (chinese_number(_COUNTED.get(each, each)) for each in divided.groups())
        if not below or above is None:
            return None
        value = Fraction(above, below)
        return value, Fraction(above) if below in (100, 1000) else value, divided.end(), ""
    found = _CHINESE.match(text)
    number = chinese_number(found["words"]) if found else None
    if found is None or number is None or found["words"] in _ESTIMATES:
        return None
    rest = text[found.end() :].strip(" .。")
    counts = rest[:1] in _MEASURE_WORDS and (number != 1 or len(rest) == 1)
    if rest and not counts and not is_known(canonical_unit(rest)):
        return None  # 三角形, 一只猫
    value = Fraction(-number if found["minus"] else number)
    return value, value, found.end(), ""


def _unit_of(rest: str) -> str | None:
    """The unit after a number; None if other text follows."""
    rest = _PLACED_ZH.sub("", rest.strip(" .\"'，。"))
    if NUMBER_WORD.search(rest) or re.match(r"[-']", rest):
        return None
    unit = canonical_unit(rest)
    if rest in _SCALE_LETTERS:
        return None
    if unit in _UNITS.values():
        return unit
    rest = _PLACED.sub("", rest).strip(" .\"',，。")
    unit = canonical_unit(rest)
    known = unit in _UNITS.values()
    if not known and (_CHANGES.search(rest) or not _UNIT_CHARACTERS.fullmatch(rest)):
        return None
    words = rest.split()
    if len(words) > 4 or (
        not known and any(len(word) == 1 and word.isalpha() and word < "\u3040" for word in words)
    ):
        return None
    return unit


def canonical_unit(text: str) -> str:
    """A unit in its canonical form: ``cm`` for "centimetres", ``km/h`` for "km per hour"."""
    text = _MEGA.sub("mega", _BIT.sub(r"\1bit", text))
    text = _PER.sub("/", _POWERED.sub(r"^\1", " ".join(lower(text).split())))
    text = _DEGREES.sub(lambda found: f"°{found[1][0]}", text)
    for pattern, power in _PHRASES:
        found = pattern.search(text)
        if found:
            text = f"{text[: found.start()]}{_prefix(found)}m^{power}{text[found.end() :]}"
    if text in _UNITS:
        return _UNITS[text]
    parts = ["/".join(map(_singular, word.split("/"))) for word in text.split()]
    simple = " ".join(parts)
    simple = _UNITS.get(simple, simple)
    return "" if simple in _MEASURE_WORDS else simple


def _prefix(found: re.Match[str]) -> str:
    return (found[1] or "")[:1] or (found[2] or "m")[:-1]


def _singular(word: str) -> str:
    if word in _UNITS:
        return _UNITS[word]
    one = word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word
    return _UNITS.get(one, one)


def units_agree(one: Quantity, other: Quantity) -> bool:
    """Whether two units are compatible: one is missing, or both are the same.

    A unit that scales its number, as in 5 lakh or 5 ppm, is compatible only with itself.
    """
    if one.unit == other.unit:
        return True
    if _SCALING_UNIT.search(f"{one.unit} {other.unit}"):
        return False
    if not one.unit or not other.unit:
        return True
    if is_known(one.unit) or is_known(other.unit):
        return False
    words, others = (
        set(re.sub(r"^[个只条张本把辆位]", "", each.unit).split()) for each in (one, other)
    )
    return bool(words & others) and (words <= others or others <= words)


def is_known(unit: str) -> bool:
    """Whether a unit is a unit of measurement, not the name of counted things."""
    return unit in _UNITS.values()

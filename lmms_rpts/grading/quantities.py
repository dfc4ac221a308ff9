"""Quantities: a number with its unit, in digits or in words; and whether an answer gives one."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.grading.measures import UNITS, unit_at
from lmms_rpts.grading.numbers import NUMBER_WORD, number_at
from lmms_rpts.grading.plain_text import plain, without_lead
from lmms_rpts.grading.statement import UNSETTLED, Statement, Verdict, denies
from lmms_rpts.grading.vocabulary import VOCABULARY, phrases, rows
from lmms_rpts.reasoning.clues import lower

_NAMES = {
    name.lower(): unit.name
    for name, unit in UNITS.items()
    if not unit.dimension.startswith("count") and unit.name != "角"  # 三角
} | dict(rows(VOCABULARY["unit_names"]))
_KNOWN = frozenset(_NAMES.values())
# 个, 只: counters say nothing about what is counted
_MEASURE_WORDS = frozenset("个只条张本把辆位名头匹棵朵块片件双座间次种人颗粒支枝杯瓶")
# "eight (8)", "12 cm (about 5 in)"
_ASIDE = re.compile(r"\s\(([^()]{0,120})\)$")
_SCALE_LETTERS = frozenset("kKMGTB")  # 8k, 4K, 5G
_CHANGES = phrases("changes")
_UNIT_CHARACTERS = re.compile(
    r"(?!.*[/^\-]$)[^\W\d_]{0,20}[^%\d.,;:!?()\[\]{}<>=≈≤≥≠~√∞±+×÷*#@&|\"\\]{0,60}"
)
# cm^2 is cm^{2}
_POWERED = re.compile(r"(?<=[A-Za-z])\^([23])(?!\d)")


# These words after a number scale it, or make it another thing: 5 lakh, 5 ppm, 5 BC, 5 am, 5ish
_SCALING_UNIT = re.compile(
    r"(?<![a-z])(?:lakh|lac|crore|mil|mln|mio|mrd|bil|bln|tr?n|[a-z]{1,12}illi(?:on|ard)|myriad"
    r"|grand|gross|doz|dz|ten|pct|percentage|pp[mbt]|bps?|(?:per)?mille?|basi|ish"
    r"|[ap]\.?m\.?|b\.?c(?:\.?e)?|mega|giga|hecto)s?(?![a-z])"
)
# The prefix of MW, MHz, Mm: upper case means mega, lower case milli; also Mb, which is not bytes
_MEGA = re.compile(
    r"(?<![A-Za-z])M(?=(?i:m|g|s|a|hz|n|pa|j|w|v|f|ω|ohm|l|t|ev|wh|bq|sv|b|bps|bit)(?![A-Za-z]))"
)
# 8 Mb are megabits, 8 MB megabytes
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

    @property
    def readings(self) -> tuple[Fraction, ...]:
        """The values that it may mean where a percent sign may be left out: 45% is 0.45 or 45."""
        percent = self.plain_value == 100 * self.value
        return (self.value, self.plain_value) if percent else (self.value,)


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
    found = number_at(core)
    if found is None or (again and again.value != found.value):
        return None
    rest = core[found.end :]
    unit, currency = _unit_of(rest), _NAMES.get(lower(found.currency), "")
    alone = counted or not rest.strip() or is_known(unit or "")
    one = lower(core[: found.end]) == "one" and not alone  # "one of the birds"
    if unit is None or (currency and unit) or one or not _stands(core, found.end):
        return None
    return Quantity(found.value, currency or unit, found.plain_value, found.written, text)


def _stands(text: str, end: int) -> bool:
    """Whether a number in Chinese is followed by a unit or a counter: not 三角形, nor 一只猫."""
    rest = text[end:].strip(" .。")
    if text[:1].isascii() or not rest or is_known(canonical_unit(rest)):
        return True
    return rest[0] in _MEASURE_WORDS and (text[:end] != "一" or len(rest) == 1)


def _unit_of(rest: str) -> str | None:
    """The unit after a number; None if other text follows."""
    rest = rest.strip(" .\"'，。")
    if NUMBER_WORD.search(rest) or re.match(r"[-']", rest):
        return None
    unit = canonical_unit(rest)
    if rest in _SCALE_LETTERS:
        return None
    if is_known(unit):
        return unit
    if _CHANGES.search(rest) or not _UNIT_CHARACTERS.fullmatch(rest):
        return None
    words = rest.split()
    if len(words) > 4 or any(
        len(word) == 1 and word.isalpha() and word < "\u3040" for word in words
    ):
        return None
    return unit


def canonical_unit(text: str) -> str:
    """A unit by its usual name: ``cm`` for "centimetres", ``km/h`` for "km per hour"."""
    text = _MEGA.sub("mega", _BIT.sub(r"\1bit", text))
    text = _POWERED.sub(r"^{\1}", " ".join(lower(text).split()))
    if text in _NAMES:
        return _NAMES[text]
    unit, end = unit_at(text, 0)
    if unit and end == len(text) > 1 and not unit.dimension.startswith("count"):
        return unit.name
    parts = ["/".join(map(_singular, word.split("/"))) for word in text.split()]
    simple = " ".join(parts)
    simple = _NAMES.get(simple, simple)
    return "" if simple in _MEASURE_WORDS else simple


def _singular(word: str) -> str:
    one = word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word
    return _NAMES.get(word) or _NAMES.get(one, one)


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
    return unit in _KNOWN


# Answers

_ABOUT = phrases("estimate")
# "So the total is 8", "There are 8 apples", "I count 8 apples"
_SAYS = re.compile(
    r"(?:^|.*[\s'])(?P<verb>is|are|was|were|equals?|be|totals?|has|have|had|count(?:ed)?|see|reads?|get|gives?|makes?"
    r"|shows?|contains?|total\sof|'s)\s"
    r"(?:(?:equal\sto|exactly|only|a\stotal\sof|precisely|visible)\s){0,2}(?P<tail>\S.*)$",
    re.IGNORECASE,
)
# "exactly 5", 正好5个
_EXACT = re.compile(
    r"^(?:exactly|only|precisely|just|a\stotal\sof|in\stotal,?|恰好|正好|只有)\s?", re.IGNORECASE
)
# 一共有8个, 总数是5
_SAYS_ZH = re.compile(
    r".{0,200}(?P<verb>等于|总共|一共有?|总计|共计|共有?|是|为|有|得到?|[:：])(?P<tail>[^是为有共得]{1,60})$"
)
# "The total is 8" states a value, even if other numbers stand before it
_CERTAIN = frozenset({"is", "are", "was", "were", "equal", "equals", "'s"})
_THOUSANDTHS = re.compile(r"\d[.,]\d{3}(?!\d)")  # 1.250 may be meant as 1,250


class NumberAnswer(NamedTuple):
    """The quantity of a statement, and whether it is only an estimate."""

    quantity: Quantity
    about: bool


def gold_quantity(answer: str) -> Quantity | None:
    """The quantity of a gold answer; None if it is not a quantity."""
    return read_quantity(plain(answer)) if len(answer) <= 300 else None


def number_verdict(stated: Statement, gold: Quantity, tolerance: float) -> Verdict:
    """Whether a statement has the gold quantity."""
    found = stated_number(stated.said)
    if found is None:
        return Verdict(None, "no single number in the answer")
    value, said = found.quantity.text, found.quantity
    same = _same(said.value, gold.value, tolerance)
    if found.about and tolerance == 0:
        return Verdict(None, "an estimate", value)
    if not units_agree(said, gold):
        return Verdict(None, "different unit", value)
    if same:
        return Verdict(True, "equal number", value)
    if _may_be_another_form(said, gold):
        return Verdict(None, "possibly the same number in another form", value)
    return Verdict(False, "different number", value)


def stated_number(text: str) -> NumberAnswer | None:
    """The only quantity that a plain statement asserts; None if there is none."""
    about = _ABOUT.search(text) is not None
    text = " ".join(_ABOUT.sub("", text).split())
    if UNSETTLED.search(text) or denies(text):
        return None
    bare = _EXACT.sub("", without_lead(text))
    found = read_quantity(bare) or _behind_equals(text) or _said(text)
    return NumberAnswer(found, about) if found else None


def _behind_equals(text: str) -> Quantity | None:
    """The quantity after the last equals sign, if there is one equation."""
    _, found, tail = text.rpartition("=")
    if not found or re.search(r"[,;，；]\s?[^=]*=|=[^=]*[,;，；]\s", text):
        return None
    return read_quantity(without_lead(tail.strip()))


def _said(text: str) -> Quantity | None:
    """The value after the last verb that states one: "So the total is 8", 一共有8个."""
    found = _SAYS.match(text) or _SAYS_ZH.fullmatch(text)
    if found is None:
        return None
    head, verb = text[: found.start("verb")].lower(), lower(found["verb"])
    exists = head.endswith("there ")
    certain = verb in _CERTAIN and not exists
    if not certain and (re.search(r"\d", head) or NUMBER_WORD.search(head)):
        return None
    if re.search(r"\b(?:is|are|was|were)\b", head):
        return None  # two statements: "3 is the number of cats, and the dogs are 5"
    return read_quantity(_EXACT.sub("", found["tail"]), counted=verb.isascii() and not certain)


def _same(said: Fraction, gold: Fraction, tolerance: float) -> bool:
    if not tolerance > 0:
        return said == gold
    # A tolerance of 0.1 is meant as written, not as the nearest binary number.
    room = Fraction(repr(min(tolerance, 1e6))) * abs(gold)
    return abs(said - gold) <= room


def _may_be_another_form(said: Quantity, gold: Quantity) -> bool:
    """Whether both may be meant as equal: 12 million, 12; 50%, 50; 120 cm, 1.2; 1.250, 1,250."""
    if gold.plain_value in (said.value, said.plain_value) or said.value == gold.plain_value:
        return True
    if said.digits == gold.digits != "" and _THOUSANDTHS.search(said.text + " " + gold.text):
        return True
    return said.unit != gold.unit and (is_known(said.unit) or is_known(gold.unit))

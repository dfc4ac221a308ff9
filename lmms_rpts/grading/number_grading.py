"""Grading of answers that are numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.grading.numbers import NUMBER_WORD
from lmms_rpts.grading.plain_text import plain, without_lead
from lmms_rpts.grading.quantities import Quantity, is_known, read_quantity, units_agree
from lmms_rpts.grading.statement import Statement, Verdict, denies
from lmms_rpts.reasoning.casing import lower

# Signs that a statement has no single value: a bound, a range, a second value.
_UNSETTLED = re.compile(
    r"(?<![a-z])(?:or|no|but|rather|between|either|neither|nor|to(?=\s-?\d)|at\s(?:least|most)|up\sto|more\sthan|less\sthan"
    r"|fewer\sthan|greater\sthan|over|under|above|below|minimum|maximum|max|min(?=imum)|exceed\w{0,3}|except"
    r"|anything|unless|whether|if|suppose|assume|assuming|let|given|without|instead|half|twice|double|log"
    r"|plus|minus(?!\s[\d.$])|previously|used\sto|would|should|could|might)(?![a-z])"
    r"|[<>≤≥≠±]|!=|大于|小于|超过|不到|至少|至多|最多|最少|以上|以下|或|如果|假设|倍|不(?:等|是|为)|除了|之间|[~～](?=\s?\d)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?<![a-z])(?:about|around|approximately|approx\.?|roughly|nearly|almost|circa|ca\.?|some(?=\s\d))"
    r"(?![a-z])\s?|[≈]\s?|^~\s?(?=\d)|大约|约为?|左右|将近|差不多",
    re.IGNORECASE,
)
# "So the total is 8", "There are 8 apples", "I count 8 apples"
_SAYS = re.compile(
    r"(?:^|.*[\s'])(?P<verb>is|are|was|were|equals?|be|totals?|has|have|had|count(?:ed)?|see|reads?|get|gives?|makes?"
    r"|shows?|contains?|total\sof|'s)\s"
    r"(?:(?:equal\sto|exactly|only|a\stotal\sof|precisely|visible)\s){0,2}(?P<tail>\S.*)$",
    re.IGNORECASE,
)
_EXACT = re.compile(
    r"^(?:exactly|only|precisely|just|a\stotal\sof|in\stotal,?|恰好|正好|只有)\s?", re.IGNORECASE
)
_SAYS_ZH = re.compile(
    r".{0,200}(?:等于|总共|一共有?|总计|共计|共有?|是|为|有|得到?|[:：])(?P<tail>[^是为有共得]{1,60})$"
)
_CERTAIN_HEADS = frozenset({"is", "are", "was", "were", "equal", "equals", "'s"})
_CONVERSIONS = frozenset(
    Fraction(each)
    for each in (12, 60, 3600, 24, 7, 365, 30, 180, *(10**power for power in range(1, 13)))
)  # fmt: skip
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
    text = _ABOUT.sub("", text).strip()
    if _UNSETTLED.search(text) or denies(text):
        return None
    bare = _EXACT.sub("", without_lead(text))
    found = read_quantity(bare) or _behind_equals(text) or _said(text) or _said_in_chinese(text)
    return NumberAnswer(found, about) if found else None


def _behind_equals(text: str) -> Quantity | None:
    """The quantity after the last equals sign, if there is one equation."""
    _, found, tail = text.rpartition("=")
    if not found or re.search(r"[,;，；]\s?[^=]*=|=[^=]*[,;，；]\s", text):
        return None
    return read_quantity(without_lead(tail.strip()))


def _said(text: str) -> Quantity | None:
    """The value after the last verb that states one: "So the total is 8"."""
    found = _SAYS.match(text)
    if found is None:
        return None
    head = text[: found.start("verb")]
    certain = lower(found["verb"]) in _CERTAIN_HEADS and not head.lower().endswith("there ")
    if not certain and (re.search(r"\d", head) or NUMBER_WORD.search(head)):
        return None
    if re.search(r"\b(?:is|are|was|were)\b", head):
        return None  # two statements: "3 is the number of cats, and the dogs are 5"
    counted = not certain or head.lower().endswith("there ")
    return read_quantity(_EXACT.sub("", found["tail"]), counted=counted)


def _said_in_chinese(text: str) -> Quantity | None:
    found = _SAYS_ZH.fullmatch(text)
    if found is None or re.search(r"\d", text[: found.start("tail")]):
        return None
    return read_quantity(found["tail"].strip())


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
    if said.unit == gold.unit or not (is_known(said.unit) or is_known(gold.unit)):
        return False
    if not said.value or not gold.value:
        return False
    ratio = said.value / gold.value
    return ratio in _CONVERSIONS or 1 / ratio in _CONVERSIONS

"""Answer type of a reference, and its parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmms_rpts.tasks.cmmath.grading.circled import circled_of
from lmms_rpts.tasks.cmmath.grading.equations import parse_equations
from lmms_rpts.tasks.cmmath.grading.grades import AnswerType
from lmms_rpts.tasks.cmmath.grading.intervals import parse_region
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.options import reference_letters
from lmms_rpts.tasks.cmmath.grading.points import parse_points
from lmms_rpts.tasks.cmmath.grading.quantities import Quantity, parse_quantity
from lmms_rpts.tasks.cmmath.grading.text_answers import BLANK, is_nothing
from lmms_rpts.tasks.cmmath.grading.true_false import truth_of
from lmms_rpts.tasks.cmmath.grading.units import unit_after_blank
from lmms_rpts.tasks.cmmath.grading.values import same_value

_NOT_ONLY = re.compile(
    r"[(（]\s?(?:答案不唯一|不唯一|任意一个即可|符合[^()（）]{0,12}即可)[^()（）]{0,12}[)）]"
)
_PART = re.compile(r"(?:^|[\n;；。.．，, ])\s{0,3}[(（](\d)[)）]")
_ALTERNATE = re.compile(r"\s/\s?|/\s|(?<=[°\u4e00-\u9fff])/(?=\d)")
_INTERVAL = re.compile(r"[<>≤≥≠∪∞]|❴[^❵]{0,40}\||^\[|\]$")
_ALL_REALS = re.compile(r"^(?:[a-z]\s?(?:为|是|取|∈))?\s?(?:(?:全体|任意|一切|所有)实数|R)$")
_RANGE_ASKED = re.compile(r"范围|解集|区间|定义域|值域")


@dataclass(frozen=True, slots=True)
class Target:
    """A reference, read.

    Attributes:
        type: of what type it is.
        text: all of it, cleaned.
        alternates: ways to write it, any of which is right.
        parts: its blanks or parts, as they stand in the reference; empty where it has one only.
    """

    type: AnswerType
    text: str
    alternates: tuple[str, ...]
    parts: tuple[str, ...] = ()


def read_reference(question: str, reference: str) -> Target:
    """The type and the parts of a reference."""
    reference = _NOT_ONLY.sub("", reference)
    text = clean(reference).strip(" ,.。;\n")
    letters = reference_letters(reference)
    if letters and (BLANK.search(question) or _has_options(question)):
        return Target("choice_single" if len(letters) == 1 else "choice_multi", text, (text,))
    parts = split_parts(reference)
    if len(parts) > 1:
        return Target("multi_part", text, (text,), parts)
    blanks = _blanks(question, reference, text)
    if len(blanks) > 1:
        return Target("multi_blank", text, (text,), blanks)
    alternates = _alternates(text)
    return Target(_type_of_one(question, alternates[0]), text, alternates)


def split_parts(text: str) -> tuple[str, ...]:
    """The texts behind (1), (2), ... in their order; empty where there are no such marks."""
    found: list[re.Match[str]] = []
    for mark in _PART.finditer(text):
        if int(mark[1]) == len(found) + 1:
            found.append(mark)
    if len(found) < 2 or text[: found[0].start()].strip():
        return ()
    ends = [each.start() for each in found[1:]] + [len(text)]
    return tuple(
        text[mark.end() : end].strip(" \n;；。.．,，")
        for mark, end in zip(found, ends, strict=True)
    )


def _has_options(question: str) -> bool:
    return re.search(r"(?:^|\s)[A-H][.．、:：]", question) is not None or "选" in question


def _blanks(question: str, reference: str, text: str) -> tuple[str, ...]:
    lines = [clean(each).strip(" ,.。;") for each in reference.split("\n") if each.strip(" $")]
    if len(lines) > 1:
        return tuple(lines)
    asked = len(BLANK.findall(question))
    for separator in (";", ",", "、"):
        pieces = [piece.strip() for piece in text.split(separator) if piece.strip()]
        if len(pieces) > 1 and len(pieces) == asked and "(" not in text:
            return tuple(pieces)
    return ()


def _alternates(text: str) -> tuple[str, ...]:
    pieces = [piece.strip() for piece in _ALTERNATE.split(text) if piece.strip()]
    if len(pieces) == 2 and same_value(pieces[0], pieces[1]) is not False:
        return tuple(pieces)
    return (text,)


def _type_of_one(question: str, text: str) -> AnswerType:
    if circled_of(text) is not None:
        return "circled"
    if truth_of(text) is not None:
        return "true_false"
    if _ALL_REALS.match(text):
        return "interval"
    if is_nothing(text):
        return "set" if "∅" in text or "集" in text else "equation"
    interval = _INTERVAL.search(text) or (text[:1] == "(" and _RANGE_ASKED.search(question))
    if interval and parse_region(text) is not None:
        return "interval"
    if parse_points(text) is not None:
        return "coordinate"
    quantity = parse_quantity(text)
    if quantity is not None:
        return _type_of_quantity(question, text, quantity)
    if "=" in text and parse_equations(text) is not None:
        return "equation"
    if "❴" in text or re.search(r"或|±", text):
        return "set"
    return "statement"


def _type_of_quantity(question: str, text: str, quantity: Quantity) -> AnswerType:
    unit = quantity.unit or unit_after_blank(clean(question))
    if unit is not None and not unit.dimension.startswith("count"):
        return "number_unit"
    if "\\frac" in text or re.fullmatch(r"-?\d{1,20}/\d{1,20}", text):
        return "fraction" if quantity.expression.number is not None else "expression"
    return "number" if quantity.expression.number is not None else "expression"

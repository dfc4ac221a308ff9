"""Parser of an amount with its unit: where the amount ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmms_rpts.answers.number_words import (
    CHINESE_DIGITS,
    CHINESE_SCALES,
    ENGLISH_SCALES,
    ENGLISH_WORDS,
)
from lmms_rpts.tasks.cmmath.grading.unit_names import (
    LONGEST_NAME,
    SCALES,
    UNITS,
    Unit,
    quotient,
    scaled,
    simple_unit_at,
    unit_at,
    unit_named,
)

ENDING = " .。,，;；、\n~"
"""What may follow the unit without being a part of it."""
_LAST = tuple("})]|'!")
_TAIL = 3 * LONGEST_NAME
_CHINESE = re.compile("[\u4e00-\u9fff]")
_CHINESE_NUMERALS = frozenset({*CHINESE_DIGITS, *CHINESE_SCALES, *"点分之又半负"})
_IN_AMOUNT = _CHINESE_NUMERALS | set("个约或和与至到大")
_COMMAND = re.compile(r"\\(?:frac|sqrt)")
_LETTER = re.compile("[A-Za-zα-ορ-ωΩ]")
_WORD = re.compile("[A-Za-z]{1,60}")
_FRACTION_WORDS = (
    "half halves third quarter fourth fifth sixth seventh eighth ninth tenth hundredth thirds "
    "quarters fourths fifths sixths sevenths eighths ninths tenths hundredths"
)
_AMOUNT_WORDS = {*ENGLISH_WORDS, *ENGLISH_SCALES, *_FRACTION_WORDS.split()}
_AMOUNT_WORDS |= {"a", "an", "and", "or", "about", "point", "of", "over", "minus", "negative"}
_FUNCTIONS = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
_PLAIN = re.compile(r"-?\d{1,30}(?:[.,]\d{1,30}){0,9}")
_COLLOQUIAL = re.compile("[百万亿][一二三四五六七八九1-9]$")
_RATE_MARK = re.compile(r"/|每|(?<![A-Za-z])(?:per|an?)(?=\s)")
_RATE_WORD = re.compile(r"(?:/|每|per|an?)\s?每?\s?")
# Quotients of two letters that are known as units; others, such as m/t, are those of a formula.
_LETTER_RATES = frozenset({"m/s", "L/s", "L/h", "t/h", "g/L"})
_LETTER_RATE = re.compile("[A-Za-z]/[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Amount:
    """Where in a text an amount stands, and what its unit is."""

    start: int
    end: int
    unit: Unit


def find_amount(text: str) -> Amount | None:
    """The amount that, with its unit, is the whole of a cleaned text."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip(ENDING))
    first = text[start : start + 1]
    if first in ("¥", "￥"):
        return _amount(text, start + 1, end, UNITS["元"], "元")
    if first == "每":
        return _leading_rate(text, start, end)
    if text[end - 1 : end] == ")":
        return _bracketed(text, start, end)
    marks = list(_RATE_MARK.finditer(text, max(start, end - _TAIL), end))
    for mark in marks[-2:]:
        below = unit_named(_RATE_WORD.sub("", text[mark.start() : end], count=1).strip())
        found = _simple(text, start, len(text[: mark.start()].rstrip())) if below else None
        if found and below:
            unit = quotient(found.unit, below)
            formula = _LETTER_RATE.fullmatch(unit.name) and unit.name not in _LETTER_RATES
            return None if formula else Amount(found.start, found.end, unit)
    return _simple(text, start, end)


def _simple(text: str, start: int, end: int) -> Amount | None:
    for length in range(min(LONGEST_NAME, end - start - 1), 0, -1):
        name = text[end - length : end]
        unit = unit_named(name)
        found = _amount(text, start, end - length, unit, name) if unit else None
        if found is not None:
            return found
    return None


def _bracketed(text: str, start: int, end: int) -> Amount | None:
    """150(厘米), and 150(单位:cm)."""
    opening = text.rfind("(", max(start, end - _TAIL), end)
    name = re.sub(r"^单位\s?:\s?", "", text[opening + 1 : end - 1].strip())
    unit, length = unit_at(name, 0)
    if opening <= start or unit is None or length < len(name):
        return None
    return _amount(text, start, opening, unit, name, spaced=True)


def _leading_rate(text: str, start: int, end: int) -> Amount | None:
    """每小时60千米."""
    below, at = simple_unit_at(text, start + 1)
    found = _simple(text, at, end) if below else None
    if below is None or found is None:
        return None
    return Amount(found.start, found.end, quotient(found.unit, below))


def _amount(
    text: str, start: int, end: int, unit: Unit, name: str, *, spaced: bool = False
) -> Amount | None:
    """The amount from start to end, if it is one and the name after it is a unit's there."""
    front = text[start:end].rstrip(" ~")
    spaced = spaced or len(front) < end - start
    start += len(front) - len(front.lstrip())
    front = front.lstrip()
    if name.startswith("千") and _COLLOQUIAL.search(front):
        return None  # 三万五千克 are 35000 克
    for mark in SCALES:
        number = front.removesuffix(mark).rstrip()
        # The 万 of 2.5万元 belongs to the unit, that of 十五万元 to the number.
        if front.endswith(mark) and number and number[-1] not in _CHINESE_NUMERALS:
            front, unit = number, scaled(unit, mark)
            break
    if _is_amount(front) and _is_unit_there(front, name, spaced):
        return Amount(start, start + len(front), unit)
    return None


def _is_amount(front: str) -> bool:
    """Whether a text may be an amount: formulas and number words, no other words."""
    if not (front[-1:] in _LAST or front[-1:].isalnum()) or not any(map(str.isalnum, front)):
        return False
    if any(character not in _IN_AMOUNT for character in _CHINESE.findall(front)):
        return False
    return all(len(word) < 4 or word in _AMOUNT_WORDS for word in _words(front))


def _words(front: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_COMMAND.sub(" ", front))]


def _is_unit_there(front: str, name: str, spaced: bool) -> bool:
    """Whether a name behind an amount is a unit's, not a word's end or a letter of a formula."""
    if "°" in name or name == "度":
        return "°" not in front and _FUNCTIONS.isdisjoint(_words(front))
    letters = sum(character.isascii() and character.isalpha() for character in name)
    if letters == 0:
        return True
    if name in ("t", "ha") or (letters == 1 and name[-1].isdigit()):
        # 2t and ha are products much more often.
        return _PLAIN.fullmatch(front) is not None and (spaced or name != "t")
    if letters == 1:
        words = _words(front)
        return not _LETTER.search(_COMMAND.sub(" ", front)) or (
            all(word in _AMOUNT_WORDS for word in words) and words != ["a"]
        )
    before = len(front) - len(front.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    return spaced or before == 0 or (letters == 2 and before == 1)

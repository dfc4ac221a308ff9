"""Parser of whole numbers in words, English and Chinese."""

from __future__ import annotations

import re

_UNITS = "one|two|three|four|five|six|seven|eight|nine"
_ONES = (
    f"zero|{_UNITS}|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
)
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
ENGLISH_WORDS = {word: value for value, word in enumerate(_ONES.split("|"))} | {
    word: 10 * value for value, word in enumerate(_TENS.split("|"), 2)
}
ENGLISH_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
CHINESE_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5,
                  "六": 6, "七": 7, "八": 8, "九": 9}  # fmt: skip
CHINESE_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_DIGITS = CHINESE_DIGITS | {str(digit): digit for digit in range(10)}
_LONGEST = 40


def english_number(words: str) -> int | None:
    """The value of "two hundred and five"; None if the words are not a number.

    The words are in lower case, separated by single hyphens or a few spaces.
    """
    total, part, room = 0, 0, 1_000
    for word in re.split(r"[-\s]{1,3}(?:and\s{1,3})?", words):
        if word == "hundred":
            part, room = (part or 1) * 100, 100
        elif word in ENGLISH_SCALES:
            total, part, room = total + (part or 1) * ENGLISH_SCALES[word], 0, 1_000
        elif word != "a":
            value = ENGLISH_WORDS.get(word)
            if value is None or value >= room:
                return None
            part, room = part + value, 10 if value >= 20 else 1
    return total + part


def chinese_number(text: str) -> int | None:
    """The value of 二十一, 一百零五, 三万五, 1万5千 or 一二三; None if the text is not a number.

    A last digit without 零 counts in the next lower scale, as in speech: 一百二 is 120.
    """
    if not 0 < len(text) <= _LONGEST:
        return None
    if all(character in CHINESE_DIGITS for character in text):
        return int("".join(str(CHINESE_DIGITS[digit]) for digit in text))
    return _under(text, (("亿", 10**8), ("万", 10**4)))


def _under(text: str, scales: tuple[tuple[str, int], ...]) -> int | None:
    if not scales:
        return _section(text)
    (mark, scale), lower = scales[0], scales[1:]
    head, found, tail = text.rpartition(mark)
    if not found:
        return _under(text, lower)
    high = _under(head, lower)
    if not high:
        return None
    if not tail:
        return high * scale
    if tail in CHINESE_DIGITS:
        digit = CHINESE_DIGITS[tail]
        return high * scale + digit * scale // 10 if digit and tail != "两" else None
    low = None if tail.isdecimal() and len(tail) < 4 else _under(tail, lower)
    return None if low is None or low >= scale else high * scale + low


def _section(text: str) -> int | None:
    """A number below 10,000, or up to eight digits."""
    if text.isascii() and text.isdecimal():
        return int(text) if len(text) <= 8 else None
    total, digit, zero, limit = 0, 0, False, 10_000
    for character in text:
        scale = CHINESE_SCALES.get(character)
        if scale is None:
            value = _DIGITS.get(character)
            if value is None or digit or (zero and value == 0):
                return None
            digit, zero = value, zero or value == 0
        elif scale >= limit or not (digit or scale == 10):
            return None
        else:
            total, digit, zero, limit = total + (digit or 1) * scale, 0, False, scale
    if (zero and not digit) or (text.endswith("两") and len(text) > 1):
        return None
    return total + digit * (limit // 10 if limit in (100, 1000) and not zero else 1)

"""Numbers at the start of a text: in digits and in words, English and Chinese."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.reasoning.clues import lower

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
    if text and all(character in CHINESE_DIGITS for character in text[:_LONGEST]):
        return int("".join(str(CHINESE_DIGITS[digit]) for digit in text[:_LONGEST]))
    return _scaled(text, 4) if 0 < len(text) <= _LONGEST else None


# A number is read by its highest scale: 三万五千 by 万
_MARKS = "十百千万亿"


def _scaled(text: str, at: int) -> int | None:
    """A number in words by its highest scale, of which the mark is the one at a place."""
    if at < 0 or text.isdecimal():
        return _DIGITS.get(text) if len(text) < 2 else int(text) if at > 1 else None
    if _MARKS[at] not in text:
        return _scaled(text, at - 1)
    head, _, tail = text.rpartition(_MARKS[at]) if at > 2 else text.partition(_MARKS[at])
    scale = CHINESE_SCALES[_MARKS[at]]
    high = _scaled(head, at) if head else 1 if at == 0 else None
    if not high or (at < 3 and high > 9):
        return None
    if not tail:
        return high * scale
    if tail in CHINESE_DIGITS and at:  # 一百二 is 120
        return high * scale + CHINESE_DIGITS[tail] * scale // 10 if tail not in "零两" else None
    low = (
        None
        if tail.isdecimal() and len(tail) < 4 and at
        else _scaled(tail.removeprefix("零"), at - 1)
    )
    return high * scale + low if low and low < scale else None


class Number(NamedTuple):
    """A number at the start of a text.

    Attributes:
        value: the number, with its scale and percent sign applied.
        plain_value: the number without them.
        end: where the text after it begins.
        decimals: the number of decimals of a plain decimal; 0 for an integer, None for a fraction.
        currency: the sign before it.
        written: its digits, if it is written in digits.
    """

    value: Fraction
    plain_value: Fraction
    end: int
    decimals: int | None = None
    currency: str = ""
    written: str = ""


def number_at(text: str) -> Number | None:
    """The number that a plain text begins with; None if it begins with none."""
    found = [each for each in (_in_digits(text), _in_english(text), _in_chinese(text)) if each]
    return max(found, key=lambda each: each.end, default=None)  # 3 of 3分之2 is not the number


_SCALES = ENGLISH_SCALES | {"trillion": 10**12, "万亿": 10**12, "百万": 10**6, "十万": 10**5}
_SCALES |= {"千万": 10**7, "十亿": 10**9, "百亿": 10**10, "千亿": 10**11, **CHINESE_SCALES}
# -1,234.5, $5, 2 1/3, 1.5e3, 3×10^4, 2.5 million, 12万, 45%, 负5
_DIGITAL = re.compile(
    r"(?P<sign>[-+]|(?:minus|negative)\s(?=[.$\d])|负(?=\d))?\s?(?P<currency>US\$|[$€£¥₹])?\s?(?P<inner>-)?"
    r"(?:(?P<mixed>\d{1,9})(?:\s|又)(?=\d{1,9}/\d))?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,90}(?![\d,]\d)|\d{1,300}(?!\d)|(?=\.\d))(?P<decimals>\.\d{1,300})?(?!\d)"
    r"(?:\s?/\s?(?P<divisor>\d{1,40}(?:\.\d{1,40})?)(?![\d/.]\d))?"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\d)|\s?[×x*]\s?10\s?\^\s?(?P<power>[-+]?\d{1,3})(?!\d))?"
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|trillion|[十百千]?[万亿]|万亿"
    r"|[百千](?![分米克瓦卡帕赫伏安升]))(?![a-z]))?"
    r"(?:\s?(?P<percent>%|percent(?!a)|per\scent|‰))?",
    re.IGNORECASE | re.ASCII,
)
_WITH_SCALES = re.compile(r"\d{1,8}[百千万亿][\d零一二三四五六七八九十百千万]{1,20}")  # 1万5千


def _in_digits(text: str) -> Number | None:
    scaled = _WITH_SCALES.match(text)
    number = chinese_number(scaled[0]) if scaled else None
    if scaled and number is not None:
        return Number(Fraction(number), Fraction(number), scaled.end(), 0)
    found = _DIGITAL.match(text)
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
    whole = value.denominator == 1 and not found["decimals"]
    decimals = len(found["decimals"] or ".") - 1 if scale == 1 and not found["divisor"] else None
    written = re.sub(r"\D", "", found[0])
    decimals = 0 if whole and scale >= 1 else decimals
    return Number(value * scale, value, found.end(), decimals, found["currency"] or "", written)


_ORDINALS = (
    "half third quarter fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth twentieth thirtieth fortieth fiftieth hundredth thousandth"
)
_PARTS: dict[str, int] = dict(
    zip(_ORDINALS.split(), (2, 3, 4, *range(4, 17), 20, 30, 40, 50, 100, 1000), strict=True),
    halve=2,
)
_WORDS = (*ENGLISH_WORDS, *ENGLISH_SCALES, *(f"{part}s?" for part in _PARTS), "an?", "and", "point")
_KNOWN = "|".join(sorted(_WORDS, key=len, reverse=True))
# a number word in a text, as in "two birds and three cats": more than one value
NUMBER_WORD = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join((*ENGLISH_WORDS, *ENGLISH_SCALES))})(?![A-Za-z])", re.IGNORECASE
)
# "two hundred and five", "minus three", "a half", "two point five"
_ENGLISH = re.compile(
    rf"(?P<minus>(?:minus|negative)\s)?(?P<words>(?:{_KNOWN})(?![A-Za-z])"
    rf"(?:[-\s]{{1,3}}(?:{_KNOWN})(?![A-Za-z])){{0,20}})",
    re.IGNORECASE,
)
# "fifty percent"
_PERCENT = re.compile(r"\s?(?:%|percent|per\scent)(?![a-z])", re.IGNORECASE)
# "three and a half", "two thirds"
_PART = re.compile(
    rf"(?:(?P<whole>\S.*) and )?(?:(?P<above>\S.*) )?(?P<below>{'|'.join(_PARTS)})(?P<many>s?)"
)


def _in_english(text: str) -> Number | None:
    """Two hundred and five, two point five, two thirds, three and a half, half an (hour)."""
    found = _ENGLISH.match(text)
    if found is None:
        return None
    words = list(re.finditer("[a-z]+", found["words"], re.IGNORECASE))
    for count in range(len(words), 0, -1):
        value, decimals = _english_value(" ".join(lower(word[0]) for word in words[:count]))
        if value is not None:
            end = found.start("words") + words[count - 1].end()
            value = -value if found["minus"] else value
            percent = _PERCENT.match(text, end)
            if percent:
                return Number(value / 100, value, percent.end())
            return Number(value, value, end, decimals)
    return None


def _english_value(words: str) -> tuple[Fraction | None, int | None]:
    """The value of number words, and its decimals as in ``Number``; None if they are none."""
    count = _count(words)
    if count is not None:
        return Fraction(count), 0
    whole, point, after = words.partition(" point ")
    digits = [ENGLISH_WORDS.get(each, 10) for each in after.split()]
    count = _count(whole)
    if point and count is not None and digits and max(digits) < 10:
        return Fraction(f"{count}.{''.join(map(str, digits))}"), len(digits)
    part = _PART.fullmatch(re.sub(r"^half an?$", "half", words))
    if part is None or not (part["above"] or part["below"] in ("half", "quarter")):
        return None, None
    above = 1 if part["above"] in (None, "a", "an") else _count(part["above"])
    added = _count(part["whole"]) if part["whole"] else 0
    if above is None or added is None or (above != 1) != bool(part["many"]):
        return None, None
    return added + Fraction(above, _PARTS[part["below"]]), None


def _count(words: str) -> int | None:
    """The value of an integer in words."""
    first, last = words.split(" ")[0], words.split(" ")[-1]
    if words == "a" or first in ENGLISH_SCALES or last in ("a", "and"):
        return None
    return english_number(words)


_DIGIT = "".join(CHINESE_DIGITS)
_COUNT = rf"[{_DIGIT}十百千万亿]{{1,20}}"
_FIGURE = rf"(?:{_COUNT}(?:点[{_DIGIT}]{{1,30}})?|\d{{1,9}}(?:\.\d{{1,9}})?)"
_SHARE = rf"(?:[{_DIGIT}]{{1,2}}|\d{{1,2}}(?:\.\d{{1,2}})?)"
_CHINESE = re.compile(
    r"(?P<minus>[负-])?(?:"
    # 三又四分之一, 百分之二点五
    rf"(?:(?P<whole>{_FIGURE})又)?(?P<below>{_FIGURE})分之(?P<above>{_FIGURE})"
    rf"|(?P<tens>{_SHARE})成(?P<ones>[{_DIGIT}半\d])?|(?P<price>{_SHARE})折"  # 三成五, 八五折
    rf"|(?P<only>一?半)|(?P<count>{_COUNT}(?:点[{_DIGIT}]{{1,30}})?)(?:(?P<scale>[万亿])|(?P<half>个半))?)"
)
# 五六个 means five or six
_ESTIMATES = "一二 一两 二三 两三 三两 三四 三五 四五 五六 六七 七八 八九".split()  # noqa: SIM905
_ZERO, _HALF = Fraction(0), Fraction(1, 2)


def _in_chinese(text: str) -> Number | None:
    found = _CHINESE.match(text[:200])
    if found is None or found["count"] in _ESTIMATES:
        return None
    value: Fraction | None = None
    plain_value, decimals = None, None
    if found["below"]:
        below, above, whole = map(_figure, (found["below"], found["above"], found["whole"] or "0"))
        if below and above is not None and whole is not None:
            value = whole + above / below
            plain_value = above if below in (100, 1000) else None
    elif found["tens"] or found["price"]:
        share = _figure(found["tens"] or found["price"]) or _ZERO
        ones = _HALF if found["ones"] == "半" else (_figure(found["ones"] or "0") or _ZERO) / 10
        value = (share + ones) / (10 if found["tens"] or share < 10 else 100)
    elif found["only"]:
        value = _HALF
    elif found["count"] not in ("百", "千", "万", "亿"):
        value = _figure(found["count"])
        decimals = None if found["half"] else len(found["count"].partition("点")[2])
        if value is not None and found["scale"]:
            value, decimals = value * CHINESE_SCALES[found["scale"]], 0
        value = value + _HALF if value is not None and found["half"] else value
    if value is None:
        return None
    sign = -1 if found["minus"] else 1
    return Number(sign * value, sign * (plain_value or value), found.end(), decimals)


def _figure(text: str) -> Fraction | None:
    """A number in words or digits, with 点 or a point before its decimals; 百 is 100."""
    if text[0].isascii():
        return Fraction(text)
    whole, _, after = text.partition("点")
    value = CHINESE_SCALES.get(text) or chinese_number(whole)
    decimals = "".join(str(CHINESE_DIGITS[digit]) for digit in after)
    return None if value is None else Fraction(f"{value}.{decimals or 0}")

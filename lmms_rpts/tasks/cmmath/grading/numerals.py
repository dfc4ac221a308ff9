"""Number words, and degrees with minutes, rewritten as formulas."""

from __future__ import annotations

import re
from fractions import Fraction

from lmms_rpts.answers.number_words import (
    CHINESE_DIGITS,
    CHINESE_SCALES,
    ENGLISH_SCALES,
    ENGLISH_WORDS,
    chinese_number,
    english_number,
)
from lmms_rpts.tasks.cmmath.grading.amounts import ENDING, find_amount

_LONGEST = 120
_HAS_WORDS = re.compile("[A-Za-z\u4e00-\u9fff]")
_FINANCIAL = str.maketrans(
    "壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億", "一二二三三四五六六七八九十百千万亿"
)
_DIGITS = "".join(CHINESE_DIGITS)
_FIGURES = re.compile(r"\d{1,30}(?:\.\d{1,30})?|\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,30})?", re.ASCII)
_SCALED = re.compile(r"(.{1,40}?)([十百千]?[万亿]|万亿|[百千])")
_MIXED = re.compile(
    r"(.{1,40})又(?:(.{1,40})分之(.{1,40})|(\d{1,9})/(\d{1,9})|(\\frac\{.{1,60}))", re.ASCII
)
_TENTHS = re.compile(rf"(\d(?:\.\d{{1,2}})?|\d\d|[{_DIGITS}])成([{_DIGITS}半\d])?", re.ASCII)
_DISCOUNT = re.compile(rf"(\d(?:\.\d{{1,2}})?|\d\d|[{_DIGITS}]{{1,2}})折", re.ASCII)
_ORDINALS = (
    "half third quarter fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth twentieth thirtieth fortieth fiftieth hundredth thousandth"
)
_PARTS = {
    **dict(
        zip(_ORDINALS.split(), (2, 3, 4, *range(4, 17), 20, 30, 40, 50, 100, 1000), strict=True)
    ),
    "halve": 2,
}
_POWER = re.compile(rf"([\d.,]{{1,40}})\s?({'|'.join(ENGLISH_SCALES)})")
_PERCENT = re.compile(r"(.{1,60}?)\s?(?:percent|per cent)")
_ANGLE = re.compile(
    r"(-?)(\d{1,9}(?:\.\d{1,9})?)\s?(?:°|度)\s?"
    r"(?:(\d{1,2}(?:\.\d{1,9})?)\s?(?:'(?!')|分)\s?)?(?:(\d{1,2}(?:\.\d{1,9})?)\s?(?:\"|''|″|秒))?",
    re.ASCII,
)


def spelled(text: str) -> str:
    """A cleaned text with its number words as a formula, where they are all of it but a unit.

    三分之二 gives ``\\frac{2}{3}``, ``twenty-one cm`` gives ``21 cm``; any other text is unchanged.
    """
    if len(text) > _LONGEST or not _HAS_WORDS.search(text):
        return text
    whole = text.strip(ENDING)
    number = _formula(whole)
    if number is not None:
        return number
    found = find_amount(text)
    number = _formula(text[found.start : found.end]) if found else None
    if found is None or number is None:
        return text
    return text[: found.start] + number + text[found.end :]


def degrees(text: str) -> str:
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
    """The formula for a text that is wholly number words; None for any other, and for figures."""
    if not _HAS_WORDS.search(text):
        return None
    for minus in ("负", "minus ", "negative ", "-"):
        if text.lower().startswith(minus):
            number = _formula(text[len(minus) :].strip()) or _figures(text[len(minus) :].strip())
            return f"-{number}" if number and not number.startswith("-") else None
    if text.isascii():
        return _english(text.lower())
    return _chinese(text.translate(_FINANCIAL).replace(" ", ""))


def _figures(text: str) -> str | None:
    return text.replace(",", "") if _FIGURES.fullmatch(text) else None


def _chinese(text: str) -> str | None:
    if text in ("半", "一半"):
        return "\\frac{1}{2}"
    if (number := _tenths(text)) is not None:
        return number
    mixed = _MIXED.fullmatch(text)
    if mixed is not None:
        return _mixed(mixed)
    below, found, above = text.partition("分之")
    if found:
        if below == "百":
            percent = "100" if above == "百" else _decimal(above)
            return percent and f"{percent}%"
        return _fraction(str(CHINESE_SCALES.get(below) or _whole(below) or ""), _whole(above))
    if text.endswith("个半"):
        whole = _whole(text[:-2])
        return whole and f"{whole}\\frac{{1}}{{2}}"
    return _decimal(text)


def _tenths(text: str) -> str | None:
    """五成, 三成五 and 八五折 in percent."""
    found = _TENTHS.fullmatch(text)
    if found is not None:
        last = "5" if found[2] == "半" else _digits(found[2] or "0")
        first = _digits(found[1])
        return (
            None if found[2] and not first.isdigit() else _percent(Fraction(first), Fraction(last))
        )
    found = _DISCOUNT.fullmatch(text)
    if found is None:
        return None
    share = _digits(found[1])
    return f"{share}%" if share.isdigit() and len(share) == 2 else _percent(Fraction(share))


def _percent(tens: Fraction, ones: Fraction = Fraction(0)) -> str:
    return f"{_plain(10 * tens + ones)}%"


def _plain(value: Fraction) -> str:
    """A terminating decimal, of few places."""
    return f"{float(value):.4f}".rstrip("0").rstrip(".") if value.denominator > 1 else str(value)


def _digits(text: str) -> str:
    return "".join(str(CHINESE_DIGITS.get(character, character)) for character in text)


def _mixed(found: re.Match[str]) -> str | None:
    whole = _whole(found[1])
    if found[6]:
        fraction: str | None = found[6]
    elif found[4]:
        fraction = _fraction(found[5], found[4])
    else:
        fraction = _fraction(_whole(found[2]), _whole(found[3]))
    return f"{whole}{fraction}" if whole and fraction else None


def _fraction(below: str | None, above: str | None) -> str | None:
    return f"\\frac{{{above}}}{{{below}}}" if above and below and below.strip("0") else None


def _whole(text: str) -> str | None:
    """A whole number in words or figures; 一三 is more often a list than 13."""
    if text.isascii():
        return text if text.isdecimal() else None
    if 1 < len(text) < 4 and all(character in CHINESE_DIGITS for character in text):
        return None if "零" not in text[1:] and "〇" not in text[1:] else str(chinese_number(text))
    value = chinese_number(text)
    return None if value is None else str(value)


def _decimal(text: str) -> str | None:
    """A number in words or figures, be it with decimals or a scale: 二点五, 1.5万."""
    if (number := _whole(text) or _figures(text)) is not None:
        return number
    scaled = _SCALED.fullmatch(text)
    if scaled is not None:
        number = _decimal(scaled[1]) if not scaled[1].endswith(tuple(CHINESE_SCALES)) else None
        factor = 1
        for mark in scaled[2]:
            factor *= CHINESE_SCALES[mark]
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
        share = _figures(percent[1]) or _spoken(percent[1].split())
        return share and f"{share}%"
    power = _POWER.fullmatch(" ".join(words))
    if power is not None:
        figures = _figures(power[1])
        return figures and _exact(Fraction(figures) * ENGLISH_SCALES[power[2]])
    if "over" in words:
        at = words.index("over")
        return _fraction(_count(words[at + 1 :]), _count(words[:at]))
    if words[-1:] in (["a"], ["an"]) and words[:1] == ["half"]:
        words = words[:-1]
    if "and" in words and (part := _part(words[len(words) - words[::-1].index("and") :])):
        whole = _count(words[: len(words) - words[::-1].index("and") - 1])
        return whole and whole + part
    return _part(words) or _spoken(words)


def _part(words: list[str]) -> str | None:
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


def _spoken(words: list[str]) -> str | None:
    """Two hundred and five, two point five."""
    if "point" not in words:
        return _count(words)
    at = words.index("point")
    whole, decimals = _count(words[:at]), [ENGLISH_WORDS.get(word, 10) for word in words[at + 1 :]]
    if whole is None or not decimals or max(decimals) > 9 or len(decimals) > 30:
        return None
    return f"{whole}.{''.join(map(str, decimals))}"


def _count(words: list[str]) -> str | None:
    if not words or len(words) > 20 or words == ["a"]:
        return None
    if words[0] in ENGLISH_SCALES or words[-1] in ("a", "and"):
        return None
    value = english_number(" ".join(words))
    return None if value is None else str(value)

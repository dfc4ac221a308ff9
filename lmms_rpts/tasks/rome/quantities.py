"""Parser of numbers and clock times, in English and Chinese."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import NamedTuple

from lmms_rpts.answers.number_words import ENGLISH_WORDS, chinese_number, english_number
from lmms_rpts.reasoning.casing import lower

_VULGAR = {"½": ".5", "¼": ".25", "¾": ".75"}
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9,
    "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?<![\w.^])(?:(?<![\d)])(?P<sign>[-+]))?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,90}(?!\d)|\d{1,300}(?!\d)|(?=\.\d))(?P<decimals>\.\d{1,300})?"
    r"(?:\s?/\s?(?P<divisor>\d{1,300}(?:\.\d{1,300})?)(?![\d/]))?"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\d)|\s?[×x*]\s?10\^?\{?(?P<power>[-+]?\d{1,3})\}?)?"
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|万|亿|[百千](?![分米克瓦卡帕赫伏安升])))?"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b))?",
    re.IGNORECASE | re.ASCII,
)
# Text that turns the number after it into another number or a bound; "->" and "=>" are arrows.
_CHANGED_BEFORE = re.compile(
    r"(?:(?<![-=])[<>]=?|[≤≥≦≧⩽⩾≠√∛∜≪≫]"
    r"|\\(?:[gl](?:eq?|t|eqslant)|ne|neq|sqrt)(?![A-Za-z])(?:\[\d{1,3}\])?|\bsqrt"
    r"|\b(?:root|half|twice)(?:\s{1,3}of)?|\b(?:over|above|below|under|exceeding|up\s{1,3}to)"
    r"|(?:大于|小于|多于|少于|高于|低于|不足)(?:等于)?)[\s({]{0,3}$",
    re.IGNORECASE,
)
_CHANGED_AFTER = re.compile(
    r"(?<![\w.,^×*])(?<![×x*]\s)\d[\d,]{0,300}(?:\.\d{1,300})?(?=\s?%?"
    r"(?:!(?!=)|\s?\^(?!\s?\{?\s?(?:th|st|nd|rd)\b)|\s?\+(?!\s{0,3}[\d(.\\√]|[A-Za-z])"
    r"|\s(?:squared|cubed|factorial)\b))",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[A-Za-z]{1,10}\s?/?>|<\s?(-?\.?\d[^<>\n]{0,80})>")
_ANY_DIGIT = re.compile(r"\d")
_WORD = rf"(?:{'|'.join(ENGLISH_WORDS)}|hundred|thousand|million)\b"
_ENGLISH = re.compile(
    rf"\b(?P<minus>(?:minus|negative)\s{{1,3}})?(?:a(?=\s{{1,3}}(?:hundred|thousand|million)\b)|{_WORD})"
    rf"(?:(?:[-\s]|(?<=hundred|housand)\s{{1,3}}and\s{{1,3}}|\s{{1,3}}){_WORD}){{0,12}}",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?<![第统唯])(负?[零〇一二两三四五六七八九十百]{1,7})(?![起些般样直定切旦])"
)
_TIME = re.compile(
    r"(?<![\d:.])(\d{1,2})(?:\s?[:点时]\s?)([0-5]?\d)(?:\s?[:分]\s?([0-5]?\d)(?!\d))?(?!\d)"
    r"(?:\s?[分秒])?\s?([ap]\.?m\b)?",
    re.IGNORECASE,
)


class Quantity(NamedTuple):
    """A number as written in the text, before a percent sign is taken into account."""

    value: float
    percent: bool
    start: int
    end: int

    @property
    def readings(self) -> tuple[float, ...]:
        """The values that it may mean: 45% is 45 or 0.45."""
        return (self.value, self.value / 100) if self.percent else (self.value,)


def plain(text: str) -> str:
    """Full-width, LaTeX and typographic forms of numbers in ASCII."""
    for sign, decimals in _VULGAR.items():
        text = re.sub(rf"(?<=\d)\s?{sign}", decimals, text).replace(sign, "0" + decimals)
    text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]{1,5}", lambda m: "^" + m.group().translate(_POWERS), text)
    text = re.sub(r"(?<=\d)(?:[\u00a0\u2009\u202f]|\\,)(?=\d{3}(?!\d))", "", text)
    # A Chinese exclamation mark is not a factorial.
    text = unicodedata.normalize("NFKC", text.replace("！", "。"))
    text = text.replace("−", "-").replace("⁄", "/")
    text = re.sub(
        r"\b(?:minus|negative)\s{1,3}(?=\.?\d)|负\s?(?=\d)", "-", text, flags=re.IGNORECASE
    )
    text = re.sub(r"(?<![\w)])[–‒](?=\.?\d)", "-", text)
    text = re.sub(r"\\[dt]?frac\s?\{([^{}]{1,40})\}\s?\{([^{}]{1,40})\}", r"\1/\2", text)
    text = re.sub(r"\\(?:text|mathrm|mathbf|textbf)\s?\{([^{}]{0,80})\}", r" \1", text)
    text = re.sub(r"\\(?:times|cdot)\b", "×", text).replace("{,}", ",")
    text = re.sub(r"(?<=\d)\s?\*\s?(?=10\^)", "×", text)
    text = re.sub(r"(?<![\d.×x*])(?<![×x*]\s)10\^\s?\{?([-+]?\d{1,3})\}?", r"1e\1", text)
    text = re.sub(r"\^\s?\{?\\?circ\}?", "°", text)
    text = re.sub(r"°\s{1,3}(?=[CFcf]\b)", "°", text)
    return re.sub(r"\\[,;! ]|\\(?=[%$])|[$`*]|\\[()\[\]]", " ", text).replace("   ", " ")


def marked(text: str) -> str:
    """The text with a root sign before each number that is changed by its suffix: 12!, 12^2, 12+.

    After that, the text may be cut after the number. Tags and angle brackets are removed.
    """
    return _CHANGED_AFTER.sub(r"√\g<0>", _TAG.sub(r" \1 ", text))


def quantities(text: str) -> list[Quantity]:
    """The numbers of a text from `plain`; number words only if there is no digit.

    A number within a word (``CO2``, ``m^2``), or with over 300 digits, is skipped. A number that is
    changed by a sign before it (``>12``, ``√12``) is NaN, which equals nothing.
    """
    found = [_quantity(match) for match in _NUMBER.finditer(text)]
    if found or _ANY_DIGIT.search(text):
        return [quantity for quantity in found if quantity is not None]
    words = [Quantity(_english(m), False, *m.span()) for m in _ENGLISH.finditer(text)]
    chinese = [(_chinese(m.group(1)), m.span()) for m in _CHINESE.finditer(text)]
    return words + [Quantity(value, False, *span) for value, span in chinese if value is not None]


def _quantity(match: re.Match[str]) -> Quantity | None:
    digits = match["digits"].replace(",", "")
    value = float(digits + (match["decimals"] or ""))
    if match["divisor"]:
        divisor = float(match["divisor"])
        if divisor == 0:
            return None
        value /= divisor
    try:
        value *= 10.0 ** int(match["exponent"] or match["power"] or 0)
    except OverflowError:
        return None
    if _CHANGED_BEFORE.search(match.string[max(0, match.start() - 24) : match.start()]):
        value = math.nan
    value *= _SCALES.get((match["scale"] or "").lower(), 1)
    sign = -1 if match["sign"] == "-" else 1
    return Quantity(sign * value, bool(match["percent"]), *match.span())


def _english(match: re.Match[str]) -> float:
    """The value of "two hundred and five"; NaN if the words are not a number."""
    sign, words = match["minus"] or "", lower(match.group())
    value = english_number(words[len(sign) :])
    if value is None:
        return math.nan
    return float(-value if sign else value)


def _chinese(text: str) -> float | None:
    value = chinese_number(text.removeprefix("负"))
    if value is None:
        return None
    return float(-value if text.startswith("负") else value)


def clock_times(text: str) -> list[frozenset[int]]:
    """The times of a text from `plain`, each as the seconds since midnight that it may mean.

    A time with "am" or "pm" may be meant on a 12- or a 24-hour clock.
    """
    times = []
    for hour, minute, second, half in _TIME.findall(text):
        after = int(minute) * 60 + int(second or 0)
        hours = {int(hour)}
        if half:
            hours.add(int(hour) % 12 + (12 if half[0] in "pP" else 0))
        times.append(frozenset(3600 * one + after for one in hours))
    return times

"""Parser of the unit behind an amount, and of the unit that a question asks for."""

from __future__ import annotations

import re
from fractions import Fraction

from lmms_rpts.answers.number_words import chinese_number
from lmms_rpts.tasks.cmmath.grading.amounts import ENDING, find_amount
from lmms_rpts.tasks.cmmath.grading.unit_names import ALSO, Unit, simple_unit_at, unit_at

__all__ = ["Unit", "may_be_letter", "ratio", "split_unit", "unit_after_blank"]

_PIECE = re.compile(r"\s{0,2}(\d{1,15}(?:\.\d{1,15})?|[零一二两三四五六七八九十]{1,4})\s{0,2}")
_BLANK = re.compile(r"\\underline|_{2,}|□|\(\s{0,40}\)")
_AFTER = 60
_BRACED = re.compile(r"^_?\{([^{}]{1,3})\}")
_UNIT_MARK = re.compile(r"单位\s?(?::|是|为)\s?|\bunits?:\s?")
_SENTENCE = re.compile(r"[。\n]|\.(?!\d)")
# What these units are the beginnings of, when other text follows the blank.
_BEGINS = {
    "元": "[一二三]?[一二三]?次|素",
    "分": "[之数解析别配布类为成割母子式]",
    "次": "函数|方程|[多单]项|项|不等式|幂|方",
    "条": "件",
    "面": "[体积向]",
    "年": "级",
    "时": "[针间候刻,、]|$",
    "对": "[称应边角]",
    "位": "[于置似数移]",
    "双": "曲",
    "列": "[出表方车]",
    "周": "[长期]",
    "升": "[高降]",
    "两": ".",
    "里": "面",
    "点": "[A-ZPQ]",
    "级": "数",
    "行": "[四的]",
    "边": "[形长]",
    "度": "数",
    "组": "[成]",
    "间": "[的隔]",
    "门": "[票]",
    "倍": "数",
    "根": "据",
    "种": "植",
    "字": "母",
    "步": "骤",
    "排": "列",
    "段": "[的]",
    "安": "[全排]",
    "日": "期",
    "月": "球",
    "刻": "度",
    "单位": "[圆向]",
}


def split_unit(text: str) -> tuple[str, Unit | None]:
    """The amount in a cleaned text, and its unit.

    ``60km/h``, ``150(厘米)``, ``每小时60千米`` and ``￥5`` are amounts with units; 2小时30分 is 150
    分. A text that ends in no known unit, or has no amount before it, comes back with None, and so
    does one where the unit would be a letter of a formula: ``2a+3m``, ``2t``, ``sin30°``.
    """
    whole = _in_pieces(text)
    if whole is not None:
        return whole
    found = find_amount(text)
    return (text, None) if found is None else (text[found.start : found.end], found.unit)


def ratio(one: Unit, other: Unit) -> Fraction | None:
    """How many of the other unit one unit is; None where they measure different things.

    Counters (个, 人, 只 ...) are one another's equals. 分 is a mark, a minute or a cent, and 度 an
    angle or a temperature: whichever the other unit asks for.
    """
    for dimension, factor in _readings(one):
        for wanted, divisor in _readings(other):
            if dimension == wanted:
                return factor / divisor
    return None


def may_be_letter(unit: Unit) -> bool:
    """Whether the unit may as well be a letter of a formula, as the m of ``5m``."""
    return re.fullmatch(r"[A-Za-z](?:\^\{[23]\})?(?:/[a-zA-Z])?", unit.name) is not None


def unit_after_blank(question: str) -> Unit | None:
    """The unit that a cleaned question writes after its last blank.

    Where none stands there, that of a remark such as (单位:cm) in the blank's sentence, unless it
    is one of length and an area or a volume is asked for.
    """
    blank = _last(_BLANK, question)
    if blank is not None:
        unit = _unit_behind(question, blank.end())
        if unit is not None:
            return unit
    return _remarked(question, len(question) if blank is None else blank.start())


def _unit_behind(question: str, at: int) -> Unit | None:
    # Cleaning takes what follows ____ for its index.
    rest = _BRACED.sub(r"\1", question[at : at + _AFTER]).lstrip(" )~}")
    bracket = re.match(r"\((?:单位\s?:)?\s?([^()]{1,30})\)", rest)
    if bracket is not None:
        unit, end = unit_at(bracket[1], 0)
        return unit if end == len(bracket[1]) else None
    unit, end = unit_at(rest, 0)
    if unit is None:
        return None
    if rest[end - 1].isascii() and re.match(r"\s?[=<>+×÷≤≥-]|[\w^\\]", rest[end:], re.ASCII):
        return None
    begins = _BEGINS.get(rest[:end])
    if rest[:end] == "角":  # of an angle, where nobody pays
        return unit if "元" in question[:at] else None
    if begins and re.match(begins, rest[end:].lstrip(" ")):
        return None
    return unit


def _remarked(question: str, at: int) -> Unit | None:
    end = _last(_SENTENCE, question[:at].rstrip(" \n.。"))
    sentence = end.end() if end else 0
    remark = _last(_UNIT_MARK, question, sentence)
    if remark is None:
        return None
    unit, stop = unit_at(question[: remark.end() + _AFTER], remark.end())
    if unit is None or re.match(r"[\w^]", question[stop : stop + 1]):
        return None
    asked = re.search("面积|体积|容积", question[sentence:])
    return None if asked and unit.dimension == "length" else unit


def _last(pattern: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    found = None
    for each in pattern.finditer(text, start):
        found = each
    return found


def _readings(unit: Unit) -> tuple[tuple[str, Fraction], ...]:
    main = (re.sub(r"count:[^/]{1,9}", "count", unit.dimension), unit.factor)
    return (main, *ALSO.get(unit.name, ()))


def _in_pieces(text: str) -> tuple[str, Unit] | None:
    """2小时30分 as 150 分, 5元8角 as 58 角."""
    pieces: list[tuple[Fraction, Unit]] = []
    at, end = 0, len(text.rstrip(ENDING))
    while at < end and len(pieces) < 5:
        number = _PIECE.match(text, at, end)
        value = number and (Fraction(number[1]) if number[1].isascii() else _word(number[1]))
        unit, at = simple_unit_at(text[: min(end, at + _AFTER)], number.end() if number else at)
        if unit is None or not isinstance(value, Fraction):
            return None
        if pieces and not (ratio(pieces[-1][1], unit) or 0) > 1:
            return None
        pieces.append((value, unit))
    if at < end or len(pieces) < 2:
        return None
    last = pieces[-1][1]
    total = sum((value * (ratio(unit, last) or 0) for value, unit in pieces), Fraction(0))
    if total.denominator == 1:
        return str(total), last
    return f"\\frac{{{total.numerator}}}{{{total.denominator}}}", last


def _word(text: str) -> Fraction | None:
    value = chinese_number(text)
    return None if value is None else Fraction(value)

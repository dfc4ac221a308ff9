"""Detection of denials, bounds, lists and other hedges around a value."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmms_rpts.tasks.cmmath.grading.candidates import bare, concludes, last_clause, value_tail
from lmms_rpts.tasks.cmmath.grading.final_answer import Statement, sentences
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.quantities import parse_quantity
from lmms_rpts.tasks.cmmath.grading.text_answers import BLANK, gives_up, squeezed
from lmms_rpts.tasks.cmmath.grading.values import split_list

_DENIED = re.compile(
    r"不是|并非|而非|不为|不会|不可能|不对|不正确|不成立(?!的)|不能?选|不一定|不具|非(?=\s?-?\d)|是错|错误?的?$|错了"
    r"|错,|矛盾|舍去|舍掉|除了?[^,。]{1,8}外|排除|如果|(?:^|,)若|假设|否定"
    r"|(?<![A-Za-z])(?:not|cannot|never|except|wrong|incorrect|false|anything\sbut|would\sbe)(?![A-Za-z])|n't",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"可能(?:是|为)|也许|大概是|或许|(?<![a-z])(?:maybe|perhaps|possibly|might\sbe)(?![a-z])"
)
_LABELLED = re.compile(r"([\u4e00-\u9fff]{2,8})(?:的?值)?(?:是|为|等于|=)\s?-?[\d\\√π]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BOUND = re.compile(
    r"大于|小于|超过|不到|(?<!信息)(?<!条件)不足|至少|至多|最多|最少|不超过|不少于|少于|多于|高于|低于|以上|以下"
    r"|(?<![A-Za-z])(?:at\s(?:least|most)|(?:less|more|fewer|greater)\sthan|over|under|about\shalf)(?![A-Za-z])",
    re.IGNORECASE,
)
_EMPTY_LABEL = re.compile(r"^\W{0,4}(?:最终|正确)?(?:答案|answer)[\s:：*_。.]{0,6}$", re.IGNORECASE)


def is_denied(text: str) -> bool:
    """Whether a cleaned sentence may deny the value that it holds."""
    return _DENIED.search(_told(text).strip(" .。!")) is not None


def is_bounded(text: str, asked: str) -> bool:
    """Whether a cleaned sentence gives a bound, in words that the problem does not use."""
    return any(found[0] not in asked for found in _BOUND.finditer(_told(text)))


def _told(text: str) -> str:
    """The last clause where it draws the conclusion, else the whole sentence."""
    clause = last_clause(text)
    return clause if concludes(clause) else text


def one_of_several(text: str, question: str) -> bool:
    """Whether the value is one of a list, hedged, or that of another quantity."""
    if _HEDGED.search(text) and "可能" not in question:
        return True
    clause = _THOUSANDS.sub("", last_clause(text))
    if any(len(_distinct(split_list(each))) > 1 for each in (value_tail(clause), clause)):
        return True
    asked = squeezed(clean(BLANK.split(question)[0]))[-12:]
    labels = [found[1][-2:] for found in _LABELLED.finditer(text)]
    if len(set(labels)) < 2 or labels[-1] in asked:
        return False
    return any(label in asked for label in labels[:-1])


def _distinct(members: Iterable[str]) -> set[object]:
    """The different numbers that stand alone in a list."""
    found = [parse_quantity(bare(member)) for member in members]
    return {each.expression.number for each in found if each and each.expression.number is not None}


def no_answer(statement: Statement) -> str | None:
    """Why a response gives no answer; None where it may give one."""
    valued = re.search(r"[=＝]\s?\$?-?\d", statement.text)
    if not valued and gives_up(" ".join(sentences(statement.spoken[-400:])[-2:])):
        return "gives no answer"
    if not re.search(r"[^\W_]|[<>=≤≥√×✓✗]", _EMPTY_LABEL.sub("", clean(statement.text))):
        return "gives no answer"
    said = BLANK.sub("", clean(statement.text))
    if BLANK.search(clean(statement.text)) and not re.search(r"\d", said):
        return "leaves the blank as it is"
    return None

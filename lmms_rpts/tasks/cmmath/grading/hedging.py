"""Denials, bounds, hedges and missing answers in a response, and the verdict on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import denies, gives_up, hedges, sentences
from lmms_rpts.grading.words import BLANK, gloss, squeezed
from lmms_rpts.tasks.cmmath.grading.comparison import same_reading
from lmms_rpts.tasks.cmmath.grading.question import Question
from lmms_rpts.tasks.cmmath.grading.response import Reading, Response, bare, value_tail
from lmms_rpts.tasks.cmmath.grading.target import Target


class Verdict(NamedTuple):
    """Whether the answer is the target, and the rule that decided."""

    same: bool | None
    rule: str


_LONGEST = 240
# 平均数是85, 众数是90
_LABELLED = re.compile(r"([\u4e00-\u9fff]{2,8})(?:的?值)?(?:是|为|等于|=)\s?-?[\d\\√π]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LISTED = re.compile(r"[,;、\n和与及或]|(?<![A-Za-z])(?:and|or)(?![A-Za-z])")
_BOUND = re.compile(  # 至少330人, over 330
    r"大于|小于|超过|不到|(?<!信息)(?<!条件)不足|至少|至多|最多|最少|不超过|不少于|少于|多于|高于|低于|以上|以下"
    r"|(?<![A-Za-z])(?:at\s(?:least|most)|(?:less|more|fewer|greater)\sthan|over|under|about\shalf)(?![A-Za-z])",
    re.IGNORECASE,
)
# "最终答案：" and nothing after it
_EMPTY_LABEL = re.compile(r"^\W{0,4}(?:最终|正确)?(?:答案|answer)[\s:：*_。.]{0,6}$", re.IGNORECASE)
_LOOP = re.compile(r"([^\s.…_-][^…_]{3,40}?)\1{3,20}")  # (3,1)=(3,1)=(3,1)=(3,1)
_LEFT = re.compile(r"[=:是为]\s?(?:_{2,30}|\\underline\s?\{[^{}]{0,20}\})\W{0,5}$")  # S=____
_NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?")
_DIGITS = {ord("①") + digit: f" {digit + 1} " for digit in range(20)}
_CHINESE_NUMBER = dict(zip("1234567890", "一二三四五六七八九零", strict=True))


_LED_IN = re.compile(  # "分析如下：" above the verdict; but not 小明认为：
    r"(?:^|\n)[^\n认说觉若如设小他她甲乙丙丁同某人]{0,40}(?:(?<!的)(?:分析|解答|计算|推理|推导|说明|过程)(?:如下)?"
    r"|(?:来|进行)判断)[:：]\**\s{0,3}\n"
)
_ANOTHER_VIEW = re.compile(r"判断|看法|观点|同意|其实|但")


def behind_lead_in(spoken: str) -> str:
    """The text after the last line that only introduces an answer."""
    rest = _LED_IN.split(spoken)[-1]
    return spoken if _ANOTHER_VIEW.search(rest) else rest


def is_denied(response: Response) -> bool:
    """Whether the statement may deny the value that it contains."""
    return denies(response.conclusion)


_UNSURE = re.compile(  # 是否为5, 假设是5, "whether", 介于5和6之间, 除了5以外
    r"是否|是不是|吗[。?]?$|假设|假如|介于|分情况|有人[^但]{0,80}$|都有道理|同学.{0,2}说|第一种|情况一"
    r"|除了?.{1,40}(?:以外|之外)|(?<![A-Za-z])(?:suppose|assum(?:e|ing)|whether|sorry|meant"
    r"|anything\sbut|perhaps|possible\sanswers?)(?![A-Za-z])",
    re.IGNORECASE,
)
_TICKS = re.compile("√.{0,80}×|×.{0,80}√")
_LEAD_IN = 14


def undermined(
    response: Response, question: str, wanted: Sequence[str], *, deniable: bool = True
) -> Verdict | None:
    """Why a statement that contains the right answer does not state it; None if it does.

    ``wanted`` are the texts of the right answer, which may contain words of denial themselves.
    """
    statement = response.statement
    asks = not statement.marked and statement.spoken.rstrip()[-1:] in ("?", "？")
    before = statement.spoken[: max(0, statement.spoken.rfind(statement.text))]
    lead_in = re.split(r"[。\n]", before[-_LEAD_IN:])[-1]
    if asks or _UNSURE.search(lead_in + response.text) or gives_up(response.text):
        return Verdict(None, "the answer is not definite")
    if BLANK.search(response.text):
        return Verdict(None, "a blank is left empty")
    text = response.conclusion.rsplit("而是", 1)[-1]
    text = gloss(text) if re.search('[(“"‘]', text) else text
    for each in (*wanted, *(("若",) if "若" in question else ())):
        text = text.replace(each, " ")
    if deniable and (denies(text) or _TICKS.search(text) or _NEGATED.search(text)):
        return Verdict(None, "the value may be denied")
    return None


_NEGATED = re.compile(r"[不非未]\s{1,3}(?!$)|[不非未]\s?$")  # at the place of the wanted text


def is_bounded(response: Response, asked: str) -> bool:
    """Whether the statement gives a bound, in words that the problem does not use."""
    return any(found[0] not in asked for found in _BOUND.finditer(response.conclusion))


def one_of_several(response: Response, question: Question) -> Verdict | None:
    """The verdict if the value is hedged, one of a list, or that of another quantity."""
    several = Verdict(False, "offers several answers")
    if hedges(response.text) and "可能" not in question.raw:
        values = set(_NUMBER.findall(response.text))
        return several if len(values) > 1 else Verdict(None, "the value is hedged")
    clause = _THOUSANDS.sub("", response.clause)
    for text in (value_tail(clause), clause) if _LISTED.search(clause) else ():
        reading = Reading(bare(text))
        if reading.is_number:  # one hundred and five
            continue
        quantities = [Reading(bare(each.text)).quantity for each in reading.members]
        numbers = {each.expression.number for each in quantities if each} - {None}
        if len(numbers) > 1:
            return several
    labels = [found[1][-2:] for found in _LABELLED.finditer(response.text)]
    if len(set(labels)) < 2:
        return None
    asked = squeezed(question.before)[-12:]
    others = labels[-1] not in asked and any(label in asked for label in labels[:-1])
    return Verdict(None, "the value of another quantity") if others else None


NO_ANSWER = frozenset({"gives no answer", "leaves the blank empty", "repeats itself"})


def without_answer(response: Response) -> Verdict | None:
    """The verdict on a response without an answer; None if it has one."""
    raw, text = response.statement, response.text
    valued = re.search(r"[=＝]\s?\$?-?\d", raw.text)
    if not valued and gives_up(" ".join(sentences(raw.spoken[-400:])[-2:])):
        return Verdict(False, "gives no answer")
    if not re.search(r"[^\W_]|[<>=≤≥√×✓✗]", _EMPTY_LABEL.sub("", text)):
        return Verdict(False, "gives no answer")
    if _LOOP.search(text[-_LONGEST:]):
        return Verdict(False, "repeats itself")
    if BLANK.search(text) and (_LEFT.search(text) or not re.search(r"\d", BLANK.sub("", text))):
        return Verdict(False, "leaves the blank empty")
    return None


def holds(response: Response, wanted: str) -> bool:
    """Whether an answer contains every number of a text, or the words of a text without numbers."""
    said = f"{response.text} {response.boxed}"
    if not response.statement.marked:
        said += clean(" ".join(sentences(response.statement.spoken[-600:])[-3:]))
    return holds_numbers(said, wanted)


def holds_numbers(said: str, wanted: str) -> bool:
    """As ``holds``, for a cleaned text."""
    wanted, said = wanted.translate(_DIGITS), said.translate(_DIGITS)
    numbers = set(_NUMBER.findall(wanted))
    if not numbers:
        names = set(re.findall(r"[A-Za-z]|[\u4e00-\u9fff]", wanted))
        return len(names & set(said)) * 2 > len(names)
    found = set(_NUMBER.findall(said))
    return all(each in found or _CHINESE_NUMBER.get(each, "x") in said for each in numbers)


# Values next to the one that was read

_VALUED = re.compile(r"[\d√π∞∅①-⑳A-Za-zα-ω零一二两三四五六七八九十半]")
_SPAN = re.compile(r"[^\u4e00-\u9fff。、\n;“”]{1,200}")


def is_any(reading: Reading, target: Target) -> bool | None:
    """True if the reading is any of the target's alternatives, False if it certainly is not."""
    found = [same_reading(reading, each, target.question) for each in target.alternatives]
    return True if True in found else (None if None in found else False)


def stands_elsewhere(response: Response, reading: Reading, target: Target) -> bool:
    """Whether the value of the target is next to the one that was read.

    If nothing marks the answer, the sentence before is searched, too; a box, or a last clause that
    draws the conclusion, leaves no doubt.
    """
    if response.boxed and reading.text in response.boxed:
        return False
    texts = [response.text]
    if response.concludes and reading.text in response.clause:
        texts = [response.clause]
    elif not response.statement.marked:
        texts = [clean(each) for each in sentences(response.statement.spoken[-600:])[-2:]]
    rests = [text.replace(reading.text, " ; ", 1) for text in texts]
    for text in filter(_VALUED.search, rests):
        for found in list(_SPAN.finditer(text))[-12:]:
            for span in _with_units(found, text):
                if is_any(span, target):
                    return True
    return False


def _with_units(found: re.Match[str], text: str) -> list[Reading]:
    """The values of a run, each the text after its last equals sign, with its unit."""
    pieces = [bare(each.rpartition("=")[2]) for each in re.split(r"[,;]", found[0])]
    following = re.match(r"[\u4e00-\u9fff/]{0,4}", text[found.end() :])
    if pieces and following and Reading(pieces[-1] + following[0]).quantity:
        pieces[-1] += following[0]
    return [Reading(piece) for piece in pieces if piece]

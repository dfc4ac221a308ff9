"""Verdict on a response: whether it states the value of a target, and the rule that decided."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import denies, hedges, sentences
from lmms_rpts.grading.words import (
    CRITERIA,
    OR,
    chosen_word,
    gloss,
    placed,
    plain_words,
    says_nothing,
    squeezed,
    states,
    theorems_in,
    truth_of,
    vocabulary,
)
from lmms_rpts.tasks.cmmath.grading.comparison import same_reading
from lmms_rpts.tasks.cmmath.grading.hedging import (
    Verdict,
    behind_lead_in,
    holds,
    is_any,
    is_bounded,
    is_denied,
    one_of_several,
    stands_elsewhere,
    undermined,
    without_answer,
)
from lmms_rpts.tasks.cmmath.grading.question import Question
from lmms_rpts.tasks.cmmath.grading.response import Reading, Response, bare, value_tail, with_signs
from lmms_rpts.tasks.cmmath.grading.target import Target

_RELATIONS = frozenset({"interval", "equation", "coordinate", "set", "circled"})
_LONGEST_SENTENCE = 240
_ON_CONDITION = re.compile(r"当([^,。;\n当]{1,60})时,?([^,。;]{1,60})$")
_CHINESE_NAME = re.compile(r"[\u4e00-\u9fff]{1,4}")
_WHICH = re.compile(r"最[^,。]{0,12}[是为]\s?$")  # 销量最高的是____
_NAME = 3
"""Maximum number of characters of a name in a reference: an answer with more text may deny it."""


def value_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response gives the value of a target with one value."""
    verdict = _value_verdict(response, target)
    if not verdict.same:
        return verdict
    doubt = undermined(
        response,
        target.question.raw,
        [each.text for each in target.alternatives],
        deniable=target.type != "true_false",
    )
    if doubt is None and target.type == "statement" and offers_either(response, target):
        doubt = Verdict(False, "offers several answers")
    return doubt or verdict


def offers_either(response: Response, target: Target) -> bool:
    """Whether the last clause offers alternatives, and the reference does not."""
    return OR.search(response.clause) is not None and OR.search(target.text) is None


def _value_verdict(response: Response, target: Target) -> Verdict:
    if target.alternatives[0].nothing:
        return _nothing_verdict(response)
    if target.type == "true_false":
        return _truth_verdict(response, target)
    if target.type == "statement":
        return _words_verdict(response, target)
    found = _judged_verdict(response, target) if target.type == "circled" else None
    found = found or _read_verdict(response, target)
    if found is not None:
        return found
    same = _is_filled_in(response, target)
    if same is not None:
        return Verdict(same, f"{target.type} in the place of the blank")
    return unread(response, target.text, f"no {target.type} can be read from the answer")


def _is_filled_in(response: Response, target: Target) -> bool | None:
    """Whether the value is in the place of the question's blank, or is the condition of it."""
    question = target.question
    before, after = squeezed(question.before)[-20:], squeezed(question.after)
    filled = placed(gloss(response.text), before, after)
    if filled is not None and is_any(Reading(filled), target):
        return True
    when = _ON_CONDITION.search(response.text) if target.type == "interval" else None
    if when is None or squeezed(when[2]) not in question.words:
        return None
    return is_any(Reading(bare(when[1])), target)  # 当1<x<3时,y<0 if the question gives y<0


def unread(response: Response, wanted: str, rule: str) -> Verdict:
    """The verdict on an unreadable answer: wrong, unless it has the content of the wanted text."""
    return without_answer(response) or Verdict(None if holds(response, wanted) else False, rule)


# Numbers, formulas, regions, points, equations, sets


def _read_verdict(response: Response, target: Target) -> Verdict | None:
    """The verdict on the likeliest candidate that can be compared; None if none can."""
    unsettled = False
    for reading in _candidates(response, target):
        same = is_any(reading, target)
        unsettled = unsettled or (same is None and _is_alike(reading, target.alternatives[0]))
        if same or reading.squeezed == target.alternatives[0].squeezed:
            return _doubt(response, target) or Verdict(True, f"equal as {target.type}")
        if same is False and not unsettled:
            return _other_value(response, reading, target)
    return Verdict(None, f"no rule decides this {target.type}") if unsettled else None


def _is_alike(reading: Reading, wanted: Reading) -> bool:
    """Whether a reading is a value of the target's type, so that it may be another form of it."""
    if wanted.quantity is not None:
        return reading.unnamed.quantity is not None
    if reading.region and wanted.region and reading.region.name and wanted.region.name:
        return reading.region.name == wanted.region.name  # y<0, but x is asked for
    return any(
        getattr(wanted, kind) is not None and getattr(reading, kind) is not None
        for kind in ("region", "points", "equations", "circled")
    )


def _candidates(response: Response, target: Target) -> Iterable[Reading]:
    asked = target.question.rounding.asked
    rounded = asked and re.fullmatch(r"-?\d+\.\d+", target.text) is not None
    if target.type == "set":
        return [*response.relations, *response.values(rounded=rounded)]
    return response.relations if target.type in _RELATIONS else response.values(rounded=rounded)


def _doubt(response: Response, target: Target) -> Verdict | None:
    """Why a sentence with the right value may not give it as the answer; None if it does."""
    if target.type in _RELATIONS:
        return None
    if is_bounded(response, target.question.raw + target.text):
        return Verdict(None, "a bound, not a value")
    if target.question.is_of_another(response.clause):
        return Verdict(None, "the value of another quantity")
    return one_of_several(response, target.question)


def _other_value(response: Response, reading: Reading, target: Target) -> Verdict:
    if target.type == "coordinate" and re.search("[≈约]", response.text):
        return Verdict(None, "the exact point may stand before a rounded one")
    if re.search("每|时速", response.text) and _same_but_unit(reading, target):
        return Verdict(None, "the unit may be in words")
    if not offers_either(response, target) and stands_elsewhere(response, reading, target):
        return Verdict(None, "several values, including that of the reference")
    return Verdict(False, f"different as {target.type}")


def _same_but_unit(reading: Reading, target: Target) -> bool:
    one, other = reading.unnamed.quantity, target.alternatives[0].quantity
    return bool(one and other and one.expression.number == other.expression.number)


# Circled numbers

_CALLED_WRONG = re.compile(r"错误|不正确|不成立|不对")
_REST = re.compile(r"其余|其他|其它|others?\b|the rest")  # 只有②错误，其余都正确


def _judged_verdict(response: Response, target: Target) -> Verdict | None:
    """Undecided if the answer calls some of the circled numbers wrong: ①正确，②错误."""
    statement = response.statement
    text = response.text if statement.marked or response.concludes else statement.block
    wrong = _CALLED_WRONG.search(text) and not _CALLED_WRONG.search(target.question.raw)
    if wrong or _REST.search(response.text):
        return Verdict(None, "it is unclear which circled numbers are meant")
    return None


# No solution, true or false, words

_SOLUTION = re.compile(r"^(?!.*(?:增根|舍|不)).*[=<>≤≥]\s?-?\d")


def _nothing_verdict(response: Response) -> Verdict:
    text = response.text
    denied = is_denied(response)
    if says_nothing(text) or Reading(text).nothing:
        if OR.search(text) or len(Reading(response.clause).members) > 1 or hedges(text):
            return Verdict(False, "offers several answers")
        if _SOLUTION.search(response.clause) and not says_nothing(response.clause):
            return Verdict(None, "says no solution, and then gives one")
        if denied or "≠" in text:
            return Verdict(None, "the absence of a solution may be denied")
        return Verdict(True, "no solution")
    if re.search(r"无数|任意|❴[^❵]{1,200}❵", text):
        return Verdict(False, "a solution where there is none")
    for reading in (*response.values(), *response.relations):
        if reading.quantity is not None or re.search(r"[=<>≤≥]\s?-?\d", reading.text):
            return Verdict(False, "a solution where there is none")
    unclear = Verdict(None, "it is unclear whether it says that there is no solution")
    return without_answer(response) or unclear


# 没有错, and "错误……正确": a verdict on a verdict
_TWO_TRUTHS = re.compile(
    r"没有?错|不错|(?:错|不对|不正确|不成立)[^\n]{0,40}?(?<!不)(?:正确|是对)|(?<!不)正确[^\n]{0,40}?(?:错|不对|不正确)"
)
_BOTH = re.compile(r"[对错确][,，]?[也又]不?[对错正]")  # 对,也不对
_JUDGEMENT = re.compile(r"判断|看法|观点")  # 认为这句话错误，这个判断是正确的
# 不是错误的
_NOT_SO = re.compile(r"不是\s?不?(?:正确|对|错|真|假)|(?:对|错误?|正确|[√×])[^\n,;]{0,4}不是")


def _truth_verdict(response: Response, target: Target) -> Verdict:
    wanted, text = truth_of(target.text), response.text
    first = _first_truth(response)
    if first is not None and not _BOTH.search(response.statement.spoken):
        return Verdict(first == wanted, "true or false")
    if _NOT_SO.search(text) or _BOTH.search(text):
        return Verdict(None, "the verdict is denied")
    if _TWO_TRUTHS.search(text if _JUDGEMENT.search(response.clause) else response.clause):
        return Verdict(None, "a verdict on a verdict")
    pieces = re.split(r"[,，。;；]", text)
    if len({truth_of(piece) for piece in pieces} - {None}) > 1:
        return Verdict(False, "offers several answers")
    if hedges(text):
        return Verdict(None, "the verdict is hedged")
    for reading in (*response.values(), Reading(pieces[0])):
        said = truth_of(reading.text)
        if said is not None:
            return Verdict(said == wanted, "true or false")
    told = re.search(r"正确|错|对|成立|true|false|right|wrong", text, re.IGNORECASE)
    rule = "neither true nor false is stated"
    return without_answer(response) or Verdict(None if told else False, rule)


def _first_truth(response: Response) -> bool | None:
    """The verdict that an answer without a mark begins with, if none follows: 对。同圆内d=2r。"""
    if response.statement.marked:
        return None
    spoken = behind_lead_in(response.statement.spoken[:600])
    found = [re.split(r"[,，]", each) for each in sentences(spoken)]
    if not found or len(found) + len(found[0]) < 3:
        return None
    said = {truth_of(clean(piece)) for pieces in found for piece in pieces} - {None}
    return truth_of(clean(found[0][0])) if len(said) == 1 else None


def _words_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response says the wanted words."""
    text, wanted = gloss(response.text), plain_words(target.text)
    words, given = vocabulary(target.question.raw, wanted)
    if words:
        return _closed_verdict(response, target.question, words, wanted, given=given)
    theorems = theorems_in(text, wanted)
    if theorems - {""}:
        several = "" in theorems or len(theorems) > 1
        return Verdict(None if several else False, "another theorem")
    if theorems and wanted in CRITERIA:
        same = True
    elif 1 <= len(wanted) <= _NAME:
        said = (text, response.clause, value_tail(text), value_tail(response.clause))
        same = any(plain_words(bare(each)).removesuffix("体") == wanted for each in said)
    elif len(response.statement.text) <= _LONGEST_SENTENCE:
        same = states(text, target.text)
    else:
        same = plain_words(text) == wanted
    if not same:
        same = any(
            same_reading(each, target.alternatives[0], target.question)
            for each in response.values()
        )
    if same:
        return Verdict(True, "the words of the reference")
    return without_answer(response) or _other_words(response, target)


def _other_words(response: Response, target: Target) -> Verdict:
    """Wrong if the answer has no word of the reference, or another name; else unclear."""
    wanted, asked = plain_words(target.text), plain_words(clean(target.question.raw))
    name = plain_words(value_tail(response.clause))
    if offers_either(response, target) and wanted in response.clause:
        return Verdict(False, "offers several answers")
    if _CHINESE_NAME.fullmatch(wanted) and wanted not in plain_words(response.text):
        single = len(name) == len(wanted) == 1 and _CHINESE_NAME.fullmatch(name)
        given = len(name) == len(wanted) and name in asked and wanted in asked
        which = _WHICH.search(target.question.before) and not set(name) & set(wanted)
        if single or given or (which and _CHINESE_NAME.fullmatch(name)):
            return Verdict(False, "another name")
    return Verdict(None, "other words than the reference")


def _closed_verdict(
    response: Response, question: Question, words: frozenset[str], wanted: str, *, given: bool
) -> Verdict:
    sentence = gloss(response.text).rsplit("而是", 1)[-1]
    if words == frozenset("<>="):
        sentence = with_signs(sentence).replace("等于", "=")
    chosen = chosen_word(response.clause.rsplit("而是", 1)[-1], words)
    chosen = chosen or chosen_word(sentence, words)
    if words == frozenset("<>=") and len(squeezed(sentence)) > 1:
        before = re.escape(squeezed(question.before)[-4:])  # √10>3.1 for √10____3.1
        order = re.search(f"{before}([<>=])", squeezed(with_signs(sentence)))
        chosen = order[1] if order and before else None
    rest = gloss(response.conclusion).rsplit("而是", 1)[-1][-_LONGEST_SENTENCE:]
    for word in words:
        rest = rest.replace(word, " ")
    if chosen is not None and not denies(rest):
        return Verdict(chosen == wanted, "one of the given words")
    chinese = re.search("[\u4e00-\u9fff<>=]", sentence) is not None
    none = given and chinese and not any(word in plain_words(sentence) for word in words)
    rule = "none of the given words" if none else "it is unclear which of the given words is meant"
    return without_answer(response) or Verdict(False if none else None, rule)

"""Grading an answer to a maths problem in Chinese by rules that abstain rather than guess."""

from __future__ import annotations

import re
from functools import lru_cache

from lmms_rpts.grading.maths.answers import (
    ANSWER_TYPES,
    AnswerType,
    Response,
    Target,
    read_response,
    read_target,
)
from lmms_rpts.grading.maths.parts import blanks_verdict, parts_verdict
from lmms_rpts.grading.maths.reading import Question
from lmms_rpts.grading.maths.verdicts import (
    NO_ANSWER,
    SEVERAL,
    choice_verdict,
    has_numbers,
    undermined,
    value_verdict,
)
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import Verdict
from lmms_rpts.grading.words import OR

__all__ = ["ANSWER_TYPES", "AnswerType", "maths_verdict"]

_SHOWN = 400
_LONGEST = 20_000
_OPEN = re.compile(  # 写出一个即可
    r"只需[填写]|写出一个|填一个|任写|答案不唯一|举(?:出)?一?[个例]|符合条件的一个|一个即可"
)


@lru_cache(maxsize=64)  # several responses to one problem
def _target_of(question: str, reference: str) -> Target:
    return read_target(Question(question[:_LONGEST]), reference[:_LONGEST])


def maths_verdict(response: str, reference: str, question: str) -> tuple[Verdict, AnswerType]:
    """Whether a response gives the reference, and the type of the reference.

    The value of the verdict is the statement that was graded. The problem and its reference are in
    the notation of CMMaTH's publishers.
    """
    target, read = _target_of(question, reference), read_response(response)
    verdict = _verdict(read, target)
    wrong = verdict.correct is False and verdict.rule not in NO_ANSWER
    if wrong and _OPEN.search(question + reference):
        verdict = Verdict(None, "an open question: another answer may be right as well")
    shown = (read.statement.boxed or read.statement.text)[:_SHOWN]
    return verdict._replace(value=shown), target.type


def _verdict(response: Response, target: Target) -> Verdict:
    if not target.text:
        return Verdict(None, "there is no reference answer")
    if not response.statement.spoken.strip():
        return Verdict(False, "gives no answer")
    if response.statement.revised:
        block = clean(response.statement.block)
        letters = target.letters & set(block)
        settles = letters or (not target.letters and has_numbers(block, target.contents))
        return Verdict(None if settles else False, "the text after the answer may retract it")
    if target.type in ("choice_single", "choice_multi"):
        return choice_verdict(response, target)
    if not target.parts:
        return value_verdict(response, target)
    several = parts_verdict if target.type == "multi_part" else blanks_verdict
    found = several(response, target)
    if not found.correct:
        return found
    if OR.search(response.text) and not OR.search(target.text):
        return SEVERAL if OR.search(response.clause) else SEVERAL._replace(correct=None)
    wanted = [each.text for part in target.parts for each in (part, *part.parts)]
    truths = any(part.type == "true_false" for part in target.parts)
    return undermined(response, target.question.raw, wanted, deniable=not truths) or found

"""Grading an answer to a maths problem by rules that abstain rather than guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loguru import logger

from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.words import OR
from lmms_rpts.tasks.cmmath.grading.hedging import (
    NO_ANSWER,
    Verdict,
    holds_numbers,
    undermined,
)
from lmms_rpts.tasks.cmmath.grading.multiple_choice import choice_verdict
from lmms_rpts.tasks.cmmath.grading.parts import blanks_verdict, parts_verdict
from lmms_rpts.tasks.cmmath.grading.question import Question, is_open
from lmms_rpts.tasks.cmmath.grading.response import Response, read_response
from lmms_rpts.tasks.cmmath.grading.target import (
    ANSWER_TYPES,
    AnswerType,
    Target,
    read_target,
)
from lmms_rpts.tasks.cmmath.grading.verdicts import value_verdict

__all__ = ["ANSWER_TYPES", "FAILED", "AnswerType", "Grade", "Outcome", "grade"]

Outcome = Literal["correct", "incorrect", "undecided"]
FAILED = "the rules failed"
_OUTCOMES: dict[bool | None, Outcome] = {True: "correct", False: "incorrect", None: "undecided"}
_SHOWN = 400
_LONGEST_QUESTION = 20_000


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a response.

    Attributes:
        outcome: ``undecided`` if the rules can't be sure.
        answer: the final answer that was found, as text; empty if there is none.
        rule: which comparer decided; if undecided, why none could.
        answer_type: type of the reference.
    """

    outcome: Outcome
    answer: str
    rule: str
    answer_type: AnswerType


def grade(question: str, reference: str, response: str) -> Grade:
    """Grade a response by rules; they abstain rather than guess.

    Args:
        question: the problem, in the publishers' notation, with its options and blanks.
        reference: the right answer, in that notation.
        response: what a model wrote; its thinking (``<think>``) is not graded.

    Returns:
        ``incorrect`` also for a response without an answer of the requested type, or without a
        definite one; ``undecided`` if an answer of that type can't be compared with certainty.
    """
    try:
        target = read_target(Question(question[:_LONGEST_QUESTION]), reference[:_LONGEST_QUESTION])
        read = read_response(response)
        verdict = _verdict(read, target)
        if verdict.same is False and verdict.rule not in NO_ANSWER and is_open(question, reference):
            verdict = Verdict(None, "an open question: another answer may be right as well")
    except Exception as error:  # one odd answer must not lose the responses of a whole run
        logger.opt(exception=error).error("{} for the reference {!r}", FAILED, reference[:200])
        return Grade("undecided", "", f"{FAILED}: {type(error).__name__}", "statement")
    shown = (read.statement.boxed or read.statement.text)[:_SHOWN]
    return Grade(_OUTCOMES[verdict.same], shown, verdict.rule, target.type)


def _verdict(response: Response, target: Target) -> Verdict:
    if not target.text:
        return Verdict(None, "there is no reference answer")
    if not response.statement.spoken.strip():
        return Verdict(False, "gives no answer")
    if response.statement.revised:
        block = clean(response.statement.block)
        letters = target.letters & set(block)
        settles = letters or (not target.letters and holds_numbers(block, target.contents))
        return Verdict(None if settles else False, "the text after the answer may retract it")
    if target.type in ("choice_single", "choice_multi"):
        return choice_verdict(response, target)
    if not target.parts:
        return value_verdict(response, target)
    several = parts_verdict if target.type == "multi_part" else blanks_verdict
    found = several(response, target)
    wanted = [each.text for part in target.parts for each in (part, *part.parts)]
    if not found.same:
        return found
    if OR.search(response.text) and not OR.search(target.text):
        settled = None if not OR.search(response.clause) else False
        return Verdict(settled, "offers several answers")
    truths = any(part.type == "true_false" for part in target.parts)
    return undermined(response, target.question.raw, wanted, deniable=not truths) or found

"""The grader: final answer, type of the reference, and the comparison for that type."""

from __future__ import annotations

import re

from loguru import logger

from lmms_rpts.tasks.cmmath.grading.algebra import allowance
from lmms_rpts.tasks.cmmath.grading.blanks import blanks_verdict
from lmms_rpts.tasks.cmmath.grading.comparison import Verdict, value_verdict
from lmms_rpts.tasks.cmmath.grading.final_answer import Statement, find_statement
from lmms_rpts.tasks.cmmath.grading.grades import Grade, Outcome
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.options import chosen, options_of, reference_letters
from lmms_rpts.tasks.cmmath.grading.parts import parts_verdict
from lmms_rpts.tasks.cmmath.grading.references import Target, read_reference
from lmms_rpts.tasks.cmmath.grading.units import unit_after_blank

_OPEN = re.compile(
    r"只需[填写]|写出一个|填一个|任写|答案不唯一|举(?:出)?一?[个例]|符合条件的一个|一个即可"
)
_SHOWN = 400
FAILED = "the rules failed"
_SECONDS_OF_ALGEBRA = 1.0
_MANY = 30
_LONGEST_QUESTION = 20_000


def grade(question: str, reference: str, response: str) -> Grade:
    """Grade a response by rules; they abstain rather than guess.

    Args:
        question: the problem, in the publishers' notation; options and blanks stand in it.
        reference: the right answer, in that notation.
        response: what a model wrote; its thinking (``<think>``) is not graded.

    Returns:
        ``undecided`` where the final answer can't be found, read or compared for sure.
    """
    try:
        with allowance(_SECONDS_OF_ALGEBRA):
            return _graded(question[:_LONGEST_QUESTION], reference[:_LONGEST_QUESTION], response)
    except Exception as error:  # one odd answer must not cost the responses of a whole run
        logger.opt(exception=error).error("{} for the reference {!r}", FAILED, reference[:200])
        return Grade("undecided", "", f"{FAILED}: {type(error).__name__}", "statement")


def _graded(question: str, reference: str, response: str) -> Grade:
    target = read_reference(question, reference)
    statement = find_statement(response)
    verdict = _verdict(question, reference, target, statement)
    outcome: Outcome = "undecided"
    if verdict.same is not None:
        outcome = "correct" if verdict.same else "incorrect"
    return Grade(outcome, _shown(statement), verdict.rule, target.type)


def _verdict(question: str, reference: str, target: Target, statement: Statement) -> Verdict:
    if not target.text:
        return Verdict(None, "there is no reference answer")
    if not statement.spoken.strip():
        return Verdict(False, "gives no answer")
    if statement.revised:
        return Verdict(None, "what follows the answer may take it back")
    if target.type in ("choice_single", "choice_multi"):
        return _choice_verdict(question, reference, target, statement)
    if target.type == "multi_part":
        found = parts_verdict(statement, target, question)
    elif len(target.parts) > _MANY:
        return Verdict(None, "more blanks than anybody fills in")
    elif target.type == "multi_blank":
        found = blanks_verdict(statement, target, question)
    else:
        found = value_verdict(statement, target, question, unit_after_blank(clean(question)))
    if found.same is False and _OPEN.search(question + reference) and "answer" not in found.rule:
        return Verdict(None, "an open question: another answer may be right as well")
    return found


def _choice_verdict(question: str, reference: str, target: Target, statement: Statement) -> Verdict:
    several = target.type == "choice_multi"
    choice = chosen(statement, options_of(question), question, several=several)
    if choice.letters is None:
        return Verdict(None, choice.rule)
    return Verdict(choice.letters == reference_letters(reference), choice.rule)


def _shown(statement: Statement) -> str:
    return (statement.boxed or statement.text)[:_SHOWN]

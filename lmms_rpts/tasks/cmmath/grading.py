"""Grading an answer to a problem of CMMaTH by the rules of ``lmms_rpts.grading``."""

from __future__ import annotations

from lmms_rpts.grading.grader import Grade, Outcome
from lmms_rpts.grading.grader import grade as grade_answer
from lmms_rpts.grading.maths import ANSWER_TYPES

__all__ = ["ANSWER_TYPES", "Grade", "Outcome", "grade"]


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
    return grade_answer(response, reference, kind="maths", question=question, language="zh")

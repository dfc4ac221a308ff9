"""Grading an answer to a maths problem by rules that abstain rather than guess."""

from lmms_rpts.tasks.cmmath.grading.grader import ANSWER_TYPES, Grade, Outcome, grade

__all__ = ["ANSWER_TYPES", "Grade", "Outcome", "grade"]

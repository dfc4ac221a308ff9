"""Grading of final answers by rules: pure functions of texts, English and Chinese.

Where the final answer stands (``statement``), what it is (``choice``, ``stance``, ``quantities``,
``text_grading``), and whether it is the gold answer (``grader``).
"""

from lmms_rpts.grading.grader import Grade, grade

__all__ = ["Grade", "grade"]

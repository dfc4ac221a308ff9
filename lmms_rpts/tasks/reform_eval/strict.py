"""Grades of ReForm-Eval by the rules of ``lmms_rpts.grading``; they abstain."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_rpts.grading.grader import Grade, grade


def chosen_option(
    prediction: str, options: Sequence[str], marks: Sequence[str]
) -> tuple[int | None, Grade]:
    """The index of the option that a response chooses, and its grade as if the first were right.

    The index is None if it is unclear, or if none is chosen, which is incorrect.
    """
    found = grade(
        prediction, marks[0] if marks else "", kind="choice", options=options, marks=marks
    )
    decided = found.outcome != "undecided" and found.answer in tuple(marks)
    return (marks.index(str(found.answer)) if decided else None), found

"""Lines that state the final answer; the answers themselves are rows of the grading corpus."""

from __future__ import annotations

from hypothesis import given

from lmms_rpts.grading.stance import read_stance
from lmms_rpts.reasoning.answer_lines import is_answer_line
from tests.reasoning.strategies import texts
from tests.support.tables import table

YES, NO, OPEN, NONE = "agree", "disagree", "undetermined", None

ANSWERS = (
    *("Final answer: agree", "**Final answer: disagree**", "- Final answer: I do not agree."),
    *("- 3. Final answer: agree", "3. `Final answer: agree`", "Final answer: > agree"),
    *("Conclusion: **I agree.**", "结论：不同意", "最终答案：不同意", "**最终答案：同意**"),
    *("Agree.", "Disagree"),
    "Therefore, I disagree with the statement.",
    *("因此，我同意该陈述。", "所以不支持该陈述", "Final answer:", "Final answer: (2) agree"),
    *("1. Final answer: (2) agree", "2) I agree."),
)
REASONS = (
    "",
    "Image 0 -> Conclusion 0: A",
    "Conclusion 0: from Image 0, there are two cups.",
    "结论0：根据图片0，有两个杯子。",
    "The statement can't be settled yet, look at Image 1.",
    "Therefore the lorry is too high for the bridge.",
    "1. Image 0 shows a cat.",
    "It is 2) false",
)


@table("line, answers", *((line, line in ANSWERS) for line in ANSWERS + REASONS))
def test_answer_lines(line: str, answers: bool) -> None:
    assert is_answer_line(line) is answers


@given(texts)
def test_answers_are_total(text: str) -> None:
    assert read_stance(text).answer in (YES, NO, OPEN, NONE)
    is_answer_line(text)

"""Chains extracted from a model's free text, and lines that state the final answer."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.stance import read_stance
from lmms_rpts.reasoning import extract_chain
from lmms_rpts.reasoning.answer_lines import is_any_answer_line
from lmms_rpts.reasoning.clues import LANGUAGES, Language
from tests.reasoning.short import clues, rows_of
from tests.reasoning.strategies import texts
from tests.support.tables import table

ZH_MARK = "结论"
# A step, with places for its number and its premises
WAYS_OF_WRITING = [
    *("Conclusion {}: from {}, x", "**Conclusion {}:** from {}, x", "> Conclusion {}: from {}, x"),
    *("- Conclusion {}: from {}, x", "### Conclusion {}: from {}, x", "结论{}：根据{}，x"),
    *("  Conclusion {} : From {}: x", "Conclusion {}. Based on {}, x", "结论{}: 由{}可知，x"),
    *("Conclusion {}: According to {}, we can infer that x", "Conclusion {}: Given {}, x"),
    *("1. Conclusion {}: from {}, x", "**结论{}**：基于{}，x", "结论 {} ：结合{}，可以得出x"),
    *("**结论{}：**根据{}，x", "<answer>Conclusion {}: from {}, x"),
]


@table("answer", "", "\nFinal answer: disagree", "\n最终答案：不同意")
@table("line", *WAYS_OF_WRITING)
def test_ways_of_writing_a_step(line: str, answer: str) -> None:
    zh = ZH_MARK in line
    cited = (
        ["图片0", "文本1", "结论0和结论1"] if zh else ["Image 0", "Text 1", "Conclusions 0 and 1"]
    )
    text = "\n".join(line.format(k, names) for k, names in enumerate(cited)) + answer
    read = extract_chain(text, "zh" if zh else "en")
    assert [step.premises for step in read.chain.steps] == list(map(clues, ("i0", "t1", "c0 c1")))
    assert [step.conclusion.strip(" *。") for step in read.chain.steps] == ["x"] * 3
    assert (read.style, read.clean, read.chain.problems) == ("steps", True, ())


@table("row", *rows_of("extraction.jsonl"))
def test_texts(row: dict[str, Any]) -> None:
    """``extraction.jsonl``: what is given of the style, the premises of each step, the conclusion
    of the only one, the number of steps, and whether nothing is left out or doubtful (``clean``);
    else a judge rewrites the whole text."""
    read = extract_chain(row["text"])
    steps = read.chain.steps
    if "premises" in row:
        said = [] if row["premises"] is None else row["premises"].split(";")
        assert [step.premises for step in steps] == list(map(clues, said))
    assert row.get("style", read.style) == read.style
    assert row.get("clean", read.clean) == read.clean
    assert row.get("steps", len(steps)) == len(steps)
    if "conclusion" in row:
        assert [step.conclusion.rstrip("*_") for step in steps] == [row["conclusion"]]
    assert read.style == "steps" or not read.clean


@given(texts, st.sampled_from(LANGUAGES))
def test_extraction_is_total(text: str, language: Language) -> None:
    read = extract_chain(text, language)
    assert read.chain.language == language
    assert (read.style == "none") == (not read.chain.steps)
    assert len(read.chain.steps) <= len(text)
    assert not read.clean or all(step.premises for step in read.chain.steps)
    assert read_stance(text).answer in ("agree", "disagree", "undetermined", None)


@table(
    "text",
    "The width is 4. <STEP1>\nSo it is 20. <STEP2>\nFinal answer: 20",
    "<STEP1> The width is 4.\n<STEP2> So it is 20.\nFinal answer: 20",
)
def test_marks_of_steps_are_no_citations(text: str) -> None:
    """The prompts of CMMaTH ask for them, behind each step."""
    steps = extract_chain(text, is_answer=is_any_answer_line).chain.steps
    assert [step.conclusion for step in steps] == ["The width is 4.", "So it is 20."]
    assert [step.premises for step in steps] == [(), clues("c0")]

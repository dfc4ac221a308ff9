"""Chains extracted from a model's free text, and lines that state the final answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.stance import read_stance
from lmms_rpts.reasoning import Step, extract_chain
from lmms_rpts.reasoning.answer_lines import is_any_answer_line
from lmms_rpts.reasoning.clues import LANGUAGES, Language
from tests.reasoning.short import clues
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


@table(
    "said, expected",
    ("from Image 0 and Text 1, x", "i0 t1"), ("from Image 0 and Text 1 x", "i0 t1"),
    ("from Image 0, Text 1 and the Context, x", "i0 t1 x"), ("from Image 0 + Text 1, x", "i0 t1"),
    ("from Image 0, Text 1, and Text 2, x", "i0 t1 t2"), ("from Image 0 / Text 1, x", "i0 t1"),
    ("from Images 0, 1 and 2, x", "i0 i1 i2"), ("from the Context and Image 0, x", "x i0"),
    ("from Texts 0-2, x", "t0 t1 t2"), ("from Images 0 and 2, x", "i0 i2"),  # not a range
    ("from Texts 2-0, x", "t2 t0"), ("from Texts 0-65, x", "t0 t65"),
    ("from Texts 0-64, x", " ".join(f"t{at}" for at in range(65))),  # the longest range
    ("from the Context, x", "x"), ("from Image 0 and Image 0, x", "i0"),
    ("from the first image, x", "i0"), ("根据图片0和文本1，x", "i0 t1"), ("根据文本０，x", "t0"),
    ("根据图片0、文本1和上下文，x", "i0 t1 x"), ("根据图片0和1，x", "i0 i1"),
)  # fmt: skip
def test_lists_of_premises(said: str, expected: str) -> None:
    assert extract_chain(f"Conclusion 0: {said}").chain.steps == (Step(clues(expected), "x"),)


NUMBERED_ZH = (
    "第一步：图片0显示商店六点关门。\n第二步：文本1说公交车七点到。\n"
    "第三步：因此公交车到时商店已经关门。\n最终答案：不同意"
)
SENTENCES_EN = (
    "Image 0 shows that the shop closes at six. Text 1 says that the bus arrives at seven. "
    "Therefore, the shop is closed by then. So nobody can buy bread. I disagree."
)


@table(
    "style, text, expected",
    # A clue in the conclusion is not a premise; nor is a count after the list.
    ("steps", "Conclusion 0: from Image 0, the year fits Text 1.\n", "i0"),
    ("steps", "结论0：根据图片0，年份与文本1相符。", "i0"),
    ("steps", "结论0：根据图片0和3个苹果的重量，x", "i0"),
    # Prose; "therefore" cites the step before it.
    ("numbered", "1. The first image shows a cat.", "i0"),
    ("numbered", "1. 图片0文本1表明他在家。", "i0 t1"),
    ("numbered", NUMBERED_ZH, "i0; t1; c1"),
    ("sentences", SENTENCES_EN, "i0; t1; c1; c2"),
    ("sentences", "10:30 is when Image 0 was taken.", "i0"),
    # Labels from 1, labels with gaps, numbers with gaps.
    ("steps", "Conclusion 1: from Image 0, a.\nConclusion 2: from Text 0, b.\n"
     "Conclusion 3: from Conclusion 1 and Conclusion 2, c.", "i0; t0; c0 c1"),
    ("numbered", "5. Image 0 shows a cat.\n7. Therefore it is a pet.\n9. Step 7 and Text 0 ban it.",
     "i0; c0; c1 t0"),
    # Chinese ordinals number steps from 1.
    ("numbered", "第一步：图片0有猫。\n第二步：文本0禁止。\n第三步：由第一步和步骤2可知，不能进。",
     "i0; t0; c0 c1"),
    ("numbered", "### Step 1\nImage 0 shows a cat.\n\n### Step 2\nText 0 bans cats.\n", "i0; t0"),
    ("numbered", "1. Image 0 shows a cat.\n2. Text 0 bans cats.\n3. Final answer: disagree",
     "i0; t0"),
    # An arrow in numbered prose does not hide the other steps.
    ("numbered", "1. Image 0 shows a road A → B.\n2. Text 1 closes it.\n3. So nobody gets to B.",
     "i0; t1; c1"),
    # A remark in brackets does not end the list.
    ("steps", "Conclusion 0: from Image 0 (the menu) and Text 1, the dish is sold out.", "i0 t1"),
    ("steps", "Conclusion 0 (from Image 0): a\nConclusion 1 (from Conclusion 0 and Text 1): b",
     "i0; c0 t1"),
    # Words that only begin like "so", "hence" and similar words.
    *(("numbered", f"1. Image 0 shows a cat.\n2. {word} things happen.", "i0; ")
      for word in ("Some", "Sofia", "Henceforward", "故事里")),
    # More sentences follow one that states the answer.
    ("sentences", "Therefore, I agree with the statement. Image 0 shows rain. Text 1 says dry.",
     "i0; t1"),
    *(("none", text, None) for text in (
        "", "\n\n", "agree", "Final answer: disagree", "It is sunny.", "今天天气很好。", "->", "1.",
    )),
)  # fmt: skip
def test_premises(style: str, text: str, expected: str | None) -> None:
    read = extract_chain(text)
    found = [step.premises for step in read.chain.steps]
    assert found == ([] if expected is None else [clues(each) for each in expected.split(";")])
    assert read.style == style
    assert style == "steps" or not read.clean


STEP = "Conclusion 0: from Image 0, "
UNCHANGED = (
    *("the temperature rises 3 -> 5 degrees.", "the profit is 5*0.5-1 = 1.5 and 2**3 = 8"),
    *("3 * 4 = 12 in my_file_name #12", "the image shows a clock", "the text on the sign reads no"),
    *("1/2 of the pie is blue", "25°C is shown", "10 > 8"),
)


@table(
    "text, conclusion",
    ("Image 0 -> the sign\nsays stop", "the sign says stop"),
    # Text after the answer or a blank line is not part of the last step; nor is the answer.
    (f"{STEP}a.\nFinal answer: agree\nI hope that this helps.", "a."),
    (f"{STEP}a.\n\nI hope that this helps, see Text 1.", "a."),
    (f"{STEP}a.\nSo the final answer is: disagree", "a."), (f"{STEP}a.\n\\boxed{{disagree}}", "a."),
    *((f"{STEP}{said}", said) for said in UNCHANGED),
    (f"{STEP}**twelve** and *thirteen*", "twelve and thirteen"),
    (f"{STEP}the sign says\nX *3 = 9", "the sign says X *3 = 9"),
    *((f"{mark}{STEP}there are 2 *3 cups\nand a pot.{mark}", "there are 2 *3 cups and a pot.")
      for mark in ("*", "**", "__")),
)  # fmt: skip
def test_the_only_step(text: str, conclusion: str) -> None:
    (only,) = extract_chain(text).chain.steps
    assert (only.premises, only.conclusion.rstrip("*_")) == (clues("i0"), conclusion)


# Whether nothing is left out, or doubtful: else the judge rewrites the whole text.

GOOD = "Conclusion 0: from Image 0, ok.\nConclusion 1: from Conclusion 0 and Text 0, ok."
ARGUMENT = "The letter says so, the hat is red, and so he must have been late that day."
BECAUSE = "Final answer: disagree, because "


@table(
    "text",
    f"{STEP}ok.\n\nSome argument in prose.\n\nConclusion 1: from Conclusion 0, b.",
    f"{STEP}ok.\n1. Image 0 and Text 1 show more.\nConclusion 1: from Text 0, b.",
    "Conclusion 0: from Image 0, a.\nConclusion 1: it is late.",
    f"{GOOD}\n\nVerdict: the statement is false because Image 0 shows more.",
    "Conclusion 0: from Text 1, 2 and 3, a.",
    "Image 0 -> Conclusion 0: nine. Text 0 -> Conclusion 1: he left",
    "Conclusion 0: from Image 0 and the letter, he left.", "结论0：根据图片0和信件，他离开",
    "Conclusion 0: from Text 0, he left.\nTherefore he is guilty.",
    f"{ARGUMENT}\n{GOOD}\nFinal answer: agree",
    "Conclusion 0: from Image 0, he left.\nThe house is empty.",
    "Conclusion 0: from Image 0, he says:",
    # Lengths: an introduction of 60 characters, an answer of more than 80, more than 5000 lines
    f"{'x' * 60}\n{GOOD}", f"{GOOD}\n{BECAUSE:x<81}", "\n" * 4999 + GOOD,
    # Arrow lines: 12 is not a clue, no number, a label on another line
    "Image 0 12 -> x.", "Image -> x.", "Conclusion 3:\nImage 0 -> x.",
)  # fmt: skip
def test_what_is_left_out_or_doubtful_is_not_clean(text: str) -> None:
    assert not extract_chain(text).clean


@table(
    "text, steps",
    (GOOD, 2), (f"{GOOD}\nFinal answer: agree", 2), (f"Here is my reasoning: {GOOD}", 2),
    (f"Here are my steps:\n\n{GOOD}\n\n---\n**Final answer: disagree**", 2),
    (f"I look at all the clues one after the other, and these are my steps: \n{GOOD}", 2),
    (f"{'我逐一查看所有线索' * 8}，步骤如下：\n{GOOD}", 2),
    (f"{'x' * 59}\n{GOOD}", 2), (f"{GOOD}\n{BECAUSE:x<80}", 2), ("\n" * 4998 + GOOD, 2),
    ("Image 0 -> x.", 1), ("2) Conclusion 3: Image 0 -> x.", 1), ("Image 0 + Context -> x.", 1),
)  # fmt: skip
def test_nothing_left_out_is_clean(text: str, steps: int) -> None:
    read = extract_chain(text)
    assert read.clean
    assert len(read.chain.steps) == steps


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

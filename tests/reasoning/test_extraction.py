"""Chains extracted from a model's free text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import Step, extract_chain
from lmms_rpts.reasoning.clues import LANGUAGES
from lmms_rpts.reasoning.extraction import holds_reasoning
from lmms_rpts.reasoning.mentions import find_mentions
from tests.reasoning.short import chain, clues
from tests.reasoning.strategies import texts
from tests.support.tables import table


def premises(text: str) -> list[tuple]:
    return [step.premises for step in extract_chain(text).chain.steps]


OUR_FORMAT_EN = """\
Conclusion 0: from Image 0, the lorry is 4.2 m high.
Conclusion 1: from Text 1, the bridge lets 4.0 m pass.
Conclusion 2: from Conclusion 0 and Conclusion 1, the lorry can't pass the bridge.
Final answer: disagree"""

OUR_FORMAT_ZH = """\
结论0：根据图片0，货车高4.2米。
结论1：根据文本1，限高4.0米。
结论2：根据结论0和结论1，货车不能通过。
最终答案：不同意"""

TEXT_EN = (
    "the lorry is 4.2 m high.",
    "the bridge lets 4.0 m pass.",
    "the lorry can't pass the bridge.",
)
TEXT_ZH = ("货车高4.2米。", "限高4.0米。", "货车不能通过。")
LORRY = ("i0", "t1", "c0 c1")


@table("text, conclusions", (OUR_FORMAT_EN, TEXT_EN), (OUR_FORMAT_ZH, TEXT_ZH))
def test_our_format(text: str, conclusions: tuple[str, ...]) -> None:
    read = extract_chain(text)
    assert read.style == "steps"
    assert read.clean
    expected = zip(LORRY, conclusions, strict=True)
    assert read.chain.steps == tuple(Step(clues(short), said) for short, said in expected)
    assert read.chain.problems == ()


VARIANTS = [
    ("**Conclusion {}:** from {}, x", "bold label"),
    ("**Conclusion {}: from {}, x**", "bold line"),
    ("- Conclusion {}: from {}, x", "bullet"),
    ("* Conclusion {}: from {}, x", "star as bullet"),
    ("> Conclusion {}: from {}, x", "quote"),
    ("### Conclusion {}: from {}, x", "heading"),
    ("  Conclusion {} : From {}: x", "other spacing and case"),
    ("Conclusion {}. Based on {}, x", "based on"),
    ("Conclusion {}: According to {}, we can infer that x", "according to"),
    ("Conclusion {}: Given {}, x", "given"),
    ("1. Conclusion {}: from {}, x", "numbered as well"),
    ("conclusion{}: FROM {}, x", "no space, capitals"),
    ("结论{}：根据{}，x", "zh"),
    ("结论{}: 由{}可知，x", "由"),
    ("**结论{}**：基于{}，x", "zh, bold"),
    ("结论 {} ：结合{}，可以得出x", "结合"),
]


@table("line, name", *VARIANTS)
def test_ways_of_writing_a_step(line: str, name: str) -> None:
    zh = "结论" in line
    cited = (
        ["图片0", "文本1", "结论0和结论1"] if zh else ["Image 0", "Text 1", "Conclusions 0 and 1"]
    )
    text = "\n".join(line.format(k, names) for k, names in enumerate(cited))
    read = extract_chain(text, "zh" if zh else "en")
    assert [step.premises for step in read.chain.steps] == [clues(short) for short in LORRY]
    assert [step.conclusion.strip(" *。") for step in read.chain.steps] == ["x"] * 3
    assert read.style == "steps"
    assert read.clean


LISTS = [
    ("from Image 0 and Text 1, x", "i0 t1"),
    ("from Image 0 and Text 1 x", "i0 t1"),
    ("from Image 0, Text 1 and the Context, x", "i0 t1 x"),
    ("from Image 0, Text 1, and Text 2, x", "i0 t1 t2"),
    ("from Image 0 / Text 1, x", "i0 t1"),
    ("from Image 0 + Text 1, x", "i0 t1"),
    ("from Images 0 and 1, x", "i0 i1"),
    ("from Images 0, 1 and 2, x", "i0 i1 i2"),
    ("from the Context and Image 0, x", "x i0"),
    ("from both Image 0 and Image 1, x", "i0 i1"),
    ("from Texts 0-2, x", "t0 t1 t2"),
    ("from Images 0 and 2, x", "i0 i2"),  # not a range
    ("from Texts 2-0, x", "t2 t0"),
    ("from Texts 0-64, x", " ".join(f"t{at}" for at in range(65))),  # the longest range
    ("from Texts 0-65, x", "t0 t65"),
    ("from the Context, x", "x"),
    ("from Image 0 and Image 0, x", "i0"),
    ("from the first image, x", "i0"),
    ("根据图片0和文本1，x", "i0 t1"),
    ("根据图片0、文本1和上下文，x", "i0 t1 x"),
    ("根据图片0与图片1，x", "i0 i1"),
    ("根据图片0和1，x", "i0 i1"),
    ("根据第一张图，x", "i0"),
    ("根据文本０，x", "t0"),
]


@table("said, expected", *LISTS)
def test_lists_of_premises(said: str, expected: str) -> None:
    (step,) = extract_chain(f"Conclusion 0: {said}").chain.steps
    assert step.premises == clues(expected)
    assert step.conclusion == "x"


@table(
    "text, expected",
    # A clue in the conclusion is not a premise.
    ("Conclusion 0: from Image 0, the year fits Text 1.\n", "i0"),
    ("结论0：根据图片0，年份与文本1相符。", "i0"),
    # A count after the list is not a clue.
    ("Conclusion 0: from Image 0, 5 apples are red.", "i0"),
    ("结论0：根据图片0，3个苹果是红的。", "i0"),
    ("结论0：根据图片0和3个苹果的重量，x", "i0"),
    # Prose.
    ("1. Image 0 shows the next step.", "i0"),
    ("1. Image 0 leads to the conclusion that it rains.", "i0"),
    ("1. The first image shows a cat.", "i0"),
    ("1. 图片0文本1表明他在家。", "i0 t1"),
    # Labels from 1, labels with gaps, numbers with gaps.
    (
        "Conclusion 1: from Image 0, a.\nConclusion 2: from Text 0, b.\n"
        "Conclusion 3: from Conclusion 1 and Conclusion 2, c.",
        "i0; t0; c0 c1",
    ),
    ("Image 0 -> Conclusion 3: a\nConclusion 3 + Text 0 -> Conclusion 7: b", "i0; c0 t0"),
    (
        "5. Image 0 shows a cat.\n7. Therefore it is a pet.\n9. Step 7 and Text 0 ban it.",
        "i0; c0; c1 t0",
    ),
    # Chinese ordinals number steps from 1.
    *(
        (
            f"第一步：图片0有猫。\n第二步：文本0说猫不能进。\n第三步：由{cited}可知，猫不能进。",
            "i0; t0; c0 c1",
        )
        for cited in ("步骤1和步骤2", "第一步和第二步")
    ),
    ("第1步：根据图片0，a。\n第2步：根据文本0，b。\n第3步：根据第1步和第2步，c。", "i0; t0; c0 c1"),
    ("### Step 1\nImage 0 shows a cat.\n\n### Step 2\nText 0 forbids cats.\n", "i0; t0"),
    ("1. Image 0 shows a cat.\n2. Text 0 bans cats.\n3. Final answer: disagree", "i0; t0"),
    # An arrow in numbered prose does not hide the other steps.
    (
        "1. Image 0 shows a road A → B.\n2. Text 1 closes it.\n3. Therefore nobody gets to B.",
        "i0; t1; c1",
    ),
    # A remark in brackets does not end the list.
    ("Conclusion 0: from Image 0 (the menu) and Text 1, the dish is sold out.", "i0 t1"),
    ("结论0：根据图片0（菜单）和文本1，这道菜卖完了。", "i0 t1"),
    ("Conclusion 0: Since Image 0 shows a cat and Text 1 bans cats, the cat must go.", "i0 t1"),
    ("Conclusion 0 (from Image 0): a\nConclusion 1 (from Conclusion 0 and Text 1): b", "i0; c0 t1"),
    # Words that only begin like "so", "hence" and similar words.
    *(
        (f"1. Image 0 shows a cat.\n2. {word} things happen.", "i0; ")
        for word in ("Some", "Sofia", "Henceforward", "故事里")
    ),
    # More sentences follow one that states the answer.
    ("Therefore, I agree with the statement. Image 0 shows rain. Text 1 says dry.", "i0; t1"),
)
def test_premises(text: str, expected: str) -> None:
    assert premises(text) == [clues(each) for each in expected.split(";")]


STEP = "Conclusion 0: from Image 0, "


@table(
    "text, conclusion",
    ("Image 0 -> the sign\nsays stop", "the sign says stop"),
    # Text after the answer or a blank line is not part of the last step; nor is the answer.
    (f"{STEP}a.\nFinal answer: agree\nI hope that this helps.", "a."),
    (f"{STEP}a.\n\nI hope that this helps, see Text 1.", "a."),
    (f"{STEP}a.\nSo the final answer is: disagree", "a."),
    (f"{STEP}a.\n\\boxed{{disagree}}", "a."),
    # The text of a step is unchanged.
    *(
        (f"{STEP}{said}", said)
        for said in (
            "the temperature rises 3 -> 5 degrees.",
            "the profit is 5*0.5-1 = 1.5 and 2**3 = 8",
            *("3 * 4 = 12 in my_file_name #12", "the image shows a clock"),
            *("the text on the sign reads no", "1/2 of the pie is blue", "25°C is shown"),
            "10 > 8",
        )
    ),
    (f"{STEP}**twelve** and *thirteen*", "twelve and thirteen"),
    (f"{STEP}the sign says\nX *3 = 9", "the sign says X *3 = 9"),
)
def test_the_only_step(text: str, conclusion: str) -> None:
    assert extract_chain(text).chain.steps == (Step(clues("i0"), conclusion),)


def test_arrows_in_free_text() -> None:
    text = (
        "Let me think.\n\n**Steps**\n1. Image 0 -> Conclusion 0: a\n2. Text 1 → Conclusion 1: b\n"
        "3. Conclusion 0 + Conclusion 1 => Conclusion 2: c\n\nFinal answer: agree"
    )
    read = extract_chain(text)
    assert read.chain == chain("i0 > a", "t1 > b", "c0 c1 > c")
    assert read.style == "steps"
    assert read.clean


@table("mark", "*", "**", "__")
def test_emphasis_over_several_lines(mark: str) -> None:
    text = f"{mark}Conclusion 0: from Image 0, there are 2 *3 cups\nand a pot.{mark}"
    (only,) = extract_chain(text).chain.steps
    assert only.premises == clues("i0")
    assert only.conclusion.rstrip("*_") == "there are 2 *3 cups and a pot."


def test_a_step_may_run_over_lines() -> None:
    text = "Conclusion 0: from Image 0, the sign\nsays stop.\nConclusion 1: from Text 0, b."
    first, second = extract_chain(text).chain.steps
    assert first == Step(clues("i0"), "the sign says stop.")
    assert second == Step(clues("t0"), "b.")


def test_what_the_caller_takes_for_an_answer_is_no_part_of_a_step() -> None:
    text = "Conclusion 0: from Image 0, a.\nI choose Image 0."
    (only,) = extract_chain(text, is_answer=lambda line: line.startswith("I choose")).chain.steps
    assert only == Step(clues("i0"), "a.")


NUMBERED_EN = """\
1. Image 0 shows that the shop closes at six.
2. Text 1 says that the bus arrives at seven.
3. Therefore the shop is closed when the bus arrives.

Final answer: disagree"""

NUMBERED_ZH = """\
第一步：图片0显示商店六点关门。
第二步：文本1说公交车七点到。
第三步：因此公交车到时商店已经关门。
最终答案：不同意"""


@table("text", NUMBERED_EN, NUMBERED_ZH)
def test_numbered_steps(text: str) -> None:
    read = extract_chain(text)
    assert read.style == "numbered"
    assert not read.clean
    # "therefore" cites the step before it
    assert premises(text) == [clues("i0"), clues("t1"), clues("c1")]
    *_, last = read.chain.steps
    assert last.conclusion in text.splitlines()[2]


NUMBERS = [
    *("{}. ", "{}) ", "({}) ", "{}、", "Step {}: ", "**Step {}:** ", "### Step {}\n", "步骤{}："),
    *("第{}步，", "- Step {}: "),
]


@table("number", *NUMBERS)
def test_ways_of_numbering(number: str) -> None:
    said = ("Image 0 shows A.", "Text 0 says B.", "From Step 1 and Step 2, C follows.")
    text = "\n".join(number.format(k) + line for k, line in enumerate(said, start=1))
    assert premises(text) == [clues("i0"), clues("t0"), clues("c0 c1")]


SENTENCES_EN = (
    "Image 0 shows that the shop closes at six. Text 1 says that the bus arrives at seven. "
    "Therefore, the shop is closed by then. So nobody can buy bread. I disagree."
)
SENTENCES_ZH = "图片0显示商店六点关门。文本1说公交车七点到。因此商店已经关门。所以我不同意该陈述。"


def test_sentences_that_cite_clues() -> None:
    read = extract_chain(SENTENCES_EN)
    assert read.style == "sentences"
    assert not read.clean
    assert premises(SENTENCES_EN) == [clues("i0"), clues("t1"), clues("c1"), clues("c2")]
    assert premises(SENTENCES_ZH) == [clues("i0"), clues("t1"), clues("c1")]


def test_sentences_without_clues_are_no_steps() -> None:
    text = "It is a fine day. Image 0 shows rain. The weather changes. Thus it is wet."
    read = extract_chain(text)
    assert [step.premises for step in read.chain.steps] == [clues("i0"), clues("c0")]
    assert read.chain.problems == ("2 sentences that cite no clue are left out",)


ANSWER_LINES = [
    "Final answer: agree",
    "**Final answer: disagree**",
    "Answer: disagree",
    "最终答案：不同意",
    "**最终答案：同意**",
    "Therefore, I agree with the statement.",
    "因此，我同意该陈述。",
    "agree",
]


@table("answer", *ANSWER_LINES)
@table("step", "Conclusion 0: from Image 0, a.", "1. Image 0 shows a.", "Image 0 shows a.")
def test_final_answers_are_no_steps(step: str, answer: str) -> None:
    (only,) = extract_chain(f"{step}\n{answer}").chain.steps
    assert only.premises == clues("i0")
    assert only.conclusion.endswith("a.")


@table(
    "text",
    *("", "\n\n", "agree", "Final answer: disagree", "The sun shines.", "今天天气很好。", "->"),
    "1.",
)
def test_no_chain(text: str) -> None:
    read = extract_chain(text)
    assert read.chain.steps == ()
    assert read.style == "none"
    assert not read.clean


def test_steps_without_premises_are_not_clean() -> None:
    read = extract_chain("Conclusion 0: from Image 0, a.\nConclusion 1: it is late.")
    assert [step.premises for step in read.chain.steps] == [clues("i0"), ()]
    assert not read.clean


def test_dangling_references_are_kept_and_reported() -> None:
    read = extract_chain("Conclusion 0: from Image 0, a.\nConclusion 1: from Conclusion 9, b.")
    (premise,) = read.chain.steps[1].premises
    assert premise.index is not None
    assert premise.index >= 2
    assert any("9" in problem for problem in read.chain.problems)


@table("language", *LANGUAGES)
def test_the_language_is_the_one_given(language) -> None:
    assert extract_chain("Image 0 -> a", language).chain.language == language


@given(texts, st.sampled_from(LANGUAGES))
def test_extraction_is_total(text: str, language) -> None:
    read = extract_chain(text, language)
    assert (read.style == "none") == (not read.chain.steps)
    assert len(read.chain.steps) <= len(text)
    if read.clean:
        assert all(step.premises for step in read.chain.steps)


def test_a_time_of_day_is_no_number_of_a_step() -> None:
    assert extract_chain("10:30 is when Image 0 was taken.").style == "sentences"


GOOD = "Conclusion 0: from Image 0, ok.\nConclusion 1: from Conclusion 0 and Text 0, ok."
ARGUMENT = "The letter says so, the hat is red, and so he must have been late that day."


@table(
    "text",
    "Conclusion 0: from Image 0, ok.\n\nSome argument in prose.\n\n"
    "Conclusion 1: from Conclusion 0, ok.",
    "Conclusion 0: from Image 0, ok.\n1. Image 0 and Text 1 show more.\n"
    "Conclusion 1: from Conclusion 0, ok.",
    "Conclusion 0: from Image 0, it follows:\n\nthat much more is said",
    f"{GOOD}\nConclusion: from Conclusion 1, more, so I agree.",
    f"{GOOD}\n\nVerdict: the statement is false because Image 0 shows more.",
    "Conclusion 0: from Conclusion 0, Text 1 does not apply.",
    "Conclusion 0: from Text 1, 2 and 3, a.",
    "Since Image 0 shows nine and Text 0 says eight, it is closed.",
    "Image 0, 1 -> Conclusion 0: x",
    "Image 0 -> Conclusion 0: nine. Text 0 -> Conclusion 1: he left",
    "Conclusion 0: from Image 0 and the letter, he left.",
    "结论0：根据图片0和信件，他离开",
    "Conclusion 0: from Text 0, he left.\nTherefore he is guilty.",
    "Conclusion 0: from Image 0, he left. Therefore, he is guilty.",
    f"{ARGUMENT}\n{GOOD}",
    f"{ARGUMENT}\n{GOOD}\nFinal answer: agree",
    f"{ARGUMENT}\nConclusion 0: from Image 0, the sign\nsays stop.",
    "Conclusion 0: from Image 0, he left.\nThe house is empty.",
    f"Image 0 matters most.\n{GOOD}",
    "Conclusion 0: from Image 0, he says:",
    "结论0：根据图片0，他说：",
)
def test_what_is_left_out_or_doubtful_is_not_clean(text: str) -> None:
    """The judge then rewrites the whole text; the rules alone would drop a part of it."""
    assert not extract_chain(text).clean


@table(
    "text",
    GOOD,
    f"{GOOD}\nFinal answer: agree",
    f"Here are my steps:\n\n{GOOD}\n\n---\n**Final answer: disagree**",
    f"{GOOD}\nTherefore, the statement is false.\nFinal answer: disagree",
    f"Here is my reasoning: {GOOD}",
    f"I look at all the clues one after the other, and these are my steps: \n{GOOD}",
    f"{'我逐一查看所有线索' * 8}，步骤如下：\n{GOOD}",
)
def test_nothing_left_out_is_clean(text: str) -> None:
    read = extract_chain(text)
    assert read.clean
    assert len(read.chain.steps) == 2


def test_an_introduction_of_sixty_characters_may_be_an_argument() -> None:
    assert extract_chain(f"{'x' * 59}\n{GOOD}").clean
    assert not extract_chain(f"{'x' * 60}\n{GOOD}").clean


def test_an_answer_of_more_than_eighty_characters_says_more_than_the_answer() -> None:
    answer = "Final answer: disagree, because "
    assert extract_chain(f"{GOOD}\n{answer:x<80}").clean
    assert not extract_chain(f"{GOOD}\n{answer:x<81}").clean


def test_a_text_of_five_thousand_lines_is_read_whole() -> None:
    blank = "\n" * 4998
    assert extract_chain(f"{blank}{GOOD}").clean
    assert not extract_chain(f"\n{blank}{GOOD}").clean


@table(
    "line, clean",
    ("Image 0 -> x.", True),
    ("1. Image 0 -> x.", True),  # 1 numbers the line
    ("Conclusion 3: Image 0 -> x.", True),
    ("2) Conclusion 3: Image 0 -> x.", True),
    ("Image 0 + Context -> x.", True),
    ("Image 0 12 -> x.", False),  # 12 is not a clue
    ("Image -> x.", False),  # no number
    ("Image 0 + Texts -> x.", False),
    ("Conclusion 3:\nImage 0 -> x.", False),
)
def test_an_arrow_line_that_leaves_no_doubt(line: str, clean: bool) -> None:
    read = extract_chain(line)
    assert read.clean is clean
    assert len(read.chain.steps) == 1


def test_a_text_of_120_characters_reasons_whatever_it_says() -> None:
    assert holds_reasoning("x" * 60 + "\n" + "y" * 59)
    assert not holds_reasoning("x" * 60 + "\n" + "y" * 58)


def test_a_sentence_that_is_an_answer_is_no_reasoning_within_a_line_either() -> None:
    said = "A fine day. I choose Image 0."
    assert holds_reasoning(said)
    assert not holds_reasoning(said, lambda line: line.startswith("I choose"))


def test_ranges_are_spelled_out_up_to_a_thousand_references() -> None:
    """Each of twenty ranges adds fifty clues; a further range is not expanded."""
    assert len(find_mentions("Text 0-50. " * 21)) == 20 * 51 + 2
    found = find_mentions("Text 0 and 1. " * 1000 + "Text 0-3.")
    assert [mention.clue for mention in found[-4:]] == list(clues("t0 t1 t2 t3"))


def test_ranges_without_end_are_not_spelled_out() -> None:
    read = extract_chain("Texts " + "0-64, " * 8000 + " -> Conclusion0: x")
    assert sum(len(step.premises) for step in read.chain.steps) < 20_000

"""The final answer of a response, checked manually."""

from __future__ import annotations

from hypothesis import given

from lmms_rpts.reasoning import find_answer, stated_words
from lmms_rpts.reasoning.answer_lines import is_answer_line
from tests.reasoning.strategies import texts
from tests.support.tables import table

YES, NO, OPEN, NONE = "agree", "disagree", "undetermined", None

MARKED = [
    ("Final answer: agree", YES),
    ("Final answer: disagree", NO),
    ("Final Answer: Agree.", YES),
    ("FINAL ANSWER: DISAGREE", NO),
    ("**Final answer:** agree", YES),
    ("**Final answer: disagree**", NO),
    ("### Final answer\nFinal answer: **Disagree**", NO),
    ('Final answer: "agree"', YES),
    ("Final answer: `disagree`", NO),
    ("Final answer: I agree with the statement.", YES),
    ("Final answer: I do not agree with the statement.", NO),
    ("Final answer: I don't agree.", NO),
    ("Final answer: I don’t agree.", NO),
    ("Final answer: I can not agree with it", NO),
    ("Final answer: not agree", NO),
    ("Final answer: disagree, although the first clue supports it.", NO),
    ("The final answer is agree.", YES),
    ("The answer is: disagree", NO),
    ("Answer: disagree", NO),
    ("Verdict: agree", YES),
    ("My stance: disagree", NO),
    ("Final answer:\nagree", YES),
    ("Final answer:\n\n**disagree**", NO),
    ("Final answer： agree", YES),
    ("Final answer: undetermined", OPEN),
    ("Final answer: It cannot be determined.", OPEN),
    ("Final answer: neither agree nor disagree", OPEN),
    ("最终答案：同意", YES),
    ("最终答案：不同意", NO),
    ("最终答案:不同意。", NO),
    ("**最终答案：同意**", YES),
    ("**最终答案**：不同意", NO),
    ("最终答案：我不同意这条陈述", NO),
    ("最终答案：支持", YES),
    ("最终答案：不支持", NO),
    ("最终答案：反对", NO),
    ("最终答案：不反对", YES),
    ("最终答案是同意", YES),
    ("最终答案为不同意", NO),
    ("答案：不同意", NO),
    ("最终回答：赞同", YES),
    ("最终答案：无法判断", OPEN),
    ("最终答案：不确定", OPEN),
    ("最终答案：\n不同意", NO),
]

BOXED = [
    (r"\boxed{agree}", YES),
    (r"\boxed{\text{disagree}}", NO),
    (r"The final answer is \boxed{disagree}.", NO),
    (r"Final answer: $\boxed{\text{agree}}$", YES),
    (r"\boxed{Not agree}", NO),
    ("<answer>disagree</answer>", NO),
    ("<answer> agree </answer>", YES),
    (r"\boxed{不同意}", NO),
    (r"最终答案：\boxed{同意}", YES),
    (r"First \boxed{agree}, no: \boxed{disagree}", NO),
    ("I first leaned to disagree.\n<answer>agree</answer>", YES),
]

LAST_MARKER_WINS = [
    ("Final answer: agree\nWait, that is wrong.\nFinal answer: disagree", NO),
    ("Answer: disagree\nOn reflection:\nFinal answer: agree", YES),
    ("最终答案：同意\n再想一想……\n最终答案：不同意", NO),
    ("Final answer: disagree\nI hope that the explanation helps!", NO),
    ("Final answer: disagree\nI hope that the explanation helps!\nSee you.", NO),
    ("Final answer: agree\nNote: others may disagree.", YES),
    ("Final answer: agree\nI agree with the statement.", YES),
    ("最终答案：同意\n我同意该陈述。", YES),
    ("Final answer: disagree\nFinal answer: see above", NO),
    ("Conclusion 0: from Image 0, the statement is supported.\nFinal answer: disagree", NO),
]

SENTENCES = [
    ("I agree with the statement.", YES),
    ("Therefore, I disagree.", NO),
    ("**Therefore, I disagree. **", NO),
    ("So I agree.", YES),
    ("We agree with the claim.", YES),
    ("agree", YES),
    ("Disagree.", NO),
    ("The evidence supports the statement.", YES),
    ("The evidence does not support the statement.", NO),
    ("The image doesn't support the statement.", NO),
    ("The clues do not fully support the statement.", NO),
    ("The clues fail to support the claim.", NO),
    ("The image contradicts the statement.", NO),
    ("The statement is not supported by the clues.", NO),
    ("The statement is supported by the clues.", YES),
    ("The statement is true.", YES),
    ("The statement is false.", NO),
    ("Thus the statement is not true.", NO),
    ("The statement is incorrect.", NO),
    ("I do not think that the statement is true.", NO),
    ("I do not disagree with the statement.", YES),
    ("There is no reason to disagree.", YES),
    ("The bridge is too low. Therefore I do not agree with the statement.", NO),
    ("It cannot be determined from the clues.", OPEN),
    ("There is not enough information to decide.", OPEN),
    ("因此，我同意该陈述。", YES),
    ("所以我不同意这个说法。", NO),
    ("综上，不支持该陈述。", NO),
    ("图片与文本支持该陈述。", YES),
    ("证据并不支持该陈述。", NO),
    ("因此不能支持这条陈述。", NO),
    ("我不反对该陈述。", YES),
    ("我反对该陈述。", NO),
    ("因此该陈述成立。", YES),
    ("因此该陈述不成立。", NO),
    ("该陈述是错误的。", NO),
    ("该陈述正确。", YES),
    ("我不赞同。", NO),
    ("无法判断该陈述是否成立。", OPEN),
    ("信息不足，不能确定。", OPEN),
    ("大家有不同意见，但我同意该陈述。", YES),
]

ECHOES = [
    # a repeated question is not an answer
    ("Do I agree or disagree with the statement?", NONE),
    ("I must say whether I agree.", NONE),
    ("The task is to agree or disagree. Final answer: disagree", NO),
    ("Final answer (agree or disagree): disagree", NO),
    ("Final answer: agree/disagree", NONE),
    ("Agree or disagree? Final answer: agree", NONE),
    ("你同意还是不同意这条陈述？", NONE),
    ("是否同意该陈述", NONE),
    ("我需要判断是否同意。最终答案：不同意", NO),
    ("最终答案：（同意或不同意）", NONE),
    ("同意还是不同意？我不同意。", NO),
]

NO_STANCE = [
    ("", NONE),
    ("   \n \n", NONE),
    ("The bus stops at the second gate.", NONE),
    ("公交车停在第二个站。", NONE),
    ("两人有不同意见。", NONE),  # 不同意见: differing opinions
    ("他们的不同意见有三条", NONE),
    ("Nothing contradicts the statement.", NONE),
    ("A does not oppose the plan.", NONE),
    ("She found it agreeable.", NONE),
    ("Final answer: 42", NONE),
    ("Final answer: 42. I disagree.", NONE),
    ("Final answer: agree would be wrong. I disagree.", NONE),  # the marked answer counts, or none
    # Only the last sentences count without a mark, and no thinking aloud.
    ("I agree with her. " + "The train left at nine. " * 20, NONE),
    ("At first the statement is correct. But Image 1 might", NONE),
]

# Answers that the rules currently misread, and their correct readings. Once the rules read a row
# correctly, move it to the tables above.
MISREAD = [
    # a reason after the answer does not change the answer
    ("Final answer: agree, the clues do not contradict it.", {YES, NONE}),
    ("Final answer: agree, not disagree.", {YES}),
    ("Final answer: disagree, because it cannot be determined who owns the car.", {NO}),
    ("最终答案：不同意，因为无法确定车主是谁。", {NO}),
    ("At first I was unsure, but I agree with the statement.", {YES, NONE}),
    ("Final answer: disagree\nThis conclusion is supported by Image 0.", {NO}),
    ("最终答案：不同意\n这一结论是由图片0支持的。", {NO}),
    ("Final answer: disagree.\nThe answer is in line with Text 1, which supports it.", {NO, NONE}),
    # our own prompts, repeated
    ("End with one line: Final answer: agree, or: Final answer: disagree.", {NONE}),
    ("最后单独一行写：最终答案：同意，或：最终答案：不同意。", {NONE}),
    # no support is not agreement
    ("The clues do not in any way support the statement.", {NO, NONE}),
    ("The clues do not, however, support the statement.", {NO, NONE}),
    ("There is no evidence to support the statement.", {NO, NONE, OPEN}),
    ("There is no evidence that supports the statement.", {NO, NONE, OPEN}),
    ("None of the clues support the statement.", {NO, NONE, OPEN}),
    ("Neither the image nor the text supports the statement.", {NO, NONE, OPEN}),
    ("The statement lacks support.", {NO, NONE, OPEN}),
    ("I do not believe that I can agree with the statement.", {NO, NONE}),
    ("没有证据支持该陈述。", {NO, NONE, OPEN}),
    ("没有任何线索支持该陈述。", {NO, NONE, OPEN}),
    ("图片不足以支持该陈述。", {NO, NONE, OPEN}),
    ("我很难同意该陈述。", {NO, NONE}),
    # no objection is not disagreement
    ("There is no evidence that contradicts the statement.", {YES, NONE, OPEN}),
    ("The statement is not wrong.", {YES, NONE}),
    ("The statement is not false.", {YES, NONE}),
    # 不 before the predicate
    ("该陈述不正确。", {NO}),
    ("该陈述是不正确的。", {NO}),
    ("该陈述不是正确的。", {NO}),
    ("该陈述不为真。", {NO}),
    ("该说法并非正确。", {NO, NONE}),
    ("该陈述并不完全正确。", {NO, NONE}),
    ("该陈述不一定成立。", {NO, NONE, OPEN}),
    ("该陈述不太可能成立。", {NO, NONE}),
    # an everyday noun
    ("The agreement was signed in May.", {NONE}),
]

TABLES = [*MARKED, *BOXED, *LAST_MARKER_WINS, *SENTENCES, *ECHOES, *NO_STANCE]


# Clear to a human, but not among the plain forms that the rules read: a judge is asked.
LEFT_TO_THE_JUDGE = {
    r"First \boxed{agree}, no: \boxed{disagree}",
    "所以我不同意这个说法。",
    "The task is to agree or disagree. Final answer: disagree",
    "最终答案：不反对",
    "Final answer: agree\nNote: others may disagree.",
    "Final answer: disagree\nFinal answer: see above",
    "We agree with the claim.",
    "The clues do not fully support the statement.",
    "The clues fail to support the claim.",
    "The statement is not supported by the clues.",
    "The statement is supported by the clues.",
    "I do not think that the statement is true.",
    "I do not disagree with the statement.",
    "There is no reason to disagree.",
    "It cannot be determined from the clues.",
    "There is not enough information to decide.",
    "图片与文本支持该陈述。",
    "我不反对该陈述。",
    "无法判断该陈述是否成立。",
    "信息不足，不能确定。",
    "大家有不同意见，但我同意该陈述。",
    "Final answer (agree or disagree): disagree",
}


@table("text, expected", *TABLES)
def test_answers(text: str, expected: str | None) -> None:
    assert find_answer(text) == (None if text in LEFT_TO_THE_JUDGE else expected)


@table("word, marked", ("True", YES), ("correct", YES), ("False", NO), ("Incorrect", NO))
def test_a_bare_word_answers_the_question_only_after_a_mark(word: str, marked: str) -> None:
    assert find_answer(f"Is the bus late? Image 0 shows it. {word}.") is None
    assert find_answer(f"Image 0 shows a bus. Final answer: {word}.") == marked


@table("text, readings", *MISREAD)
def test_answers_are_never_turned_round(text: str, readings: set[str | None]) -> None:
    assert find_answer(text) in readings


@table("steps", "结论0：根据图片0，有三人不同意。\n", "Person A disagrees with B.\n")
@table("line, expected", ("Final answer: agree", YES), ("最终答案：同意", YES))
def test_what_the_steps_say_is_not_the_answer(steps: str, line: str, expected: str) -> None:
    assert find_answer(steps + line) == expected


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
    assert find_answer(text) in (YES, NO, OPEN, NONE)
    is_answer_line(text)


FLIPS = [
    ("**Final Answer**: The correct response is: **Disagree**", NO),
    ("Final answer: Based on valid evidence, I disagree.", NO),
    ("Final answer: Text 1 confirms that the shop is closed, so I disagree.", NO),
    ("Final answer: While I agree that the clock says nine, I disagree.", NO),
    ("Final answer: The coupon is invalid, so agree", YES),
    ('Final Answer: The statement "Tom bought the wrong ticket" is correct -> **Agree**', YES),
    ("最终答案：根据正确的时间表，不同意。", NO),
    ("最终答案：文本1证实商店已关门，不同意该陈述。", NO),
    ("**Conclusion**: The right-hand sign forbids entry.\n\nI disagree.", NO),
    ("**结论**：右侧的标志是正确的，小明不能进入。\n\n不同意", NO),
    ("Conclusion: He took the wrong bus.\nAgree.", YES),
    ("Final answer: agree\n\nWait, no. So the final answer should be disagree.", NO),
    ("Final answer: \\boxed{agree}\nOops.\n\\boxed{disagree}", NO),
    ("Final answer: agree. \nCorrection: disagree.", NO),
    ("Final answer: ~~agree~~ disagree", NO),
    ("Final answer: agree? disagree!", NO),
    ("Is the statement correct? No, it is not.", NO),
    ("该陈述正确吗？不。", NO),
    ("For the statement to hold, X must be 5. It is 6.", NO),
    ("The statement says the coupon is valid. It expired.", NO),
    ("只有周日营业，陈述才成立。今天是周一。", NO),
    ("The opposite of the statement is true.", NO),
    ("Only the first half of the statement is true.", NO),
    ("I agree with Text 1.", NONE),
    ("So Tom is wrong, as the statement says.", YES),
    ("I couldn't agree more.", YES),
    ("毫不犹豫地同意", YES),
    ("I refuse to agree.", NO),
    ("I agree that the statement is false.", NO),
    ("我同意该陈述是错误的", NO),
    ("難以同意", NO),
    ("dis-agree", NO),
    ("[ ] agree [x] disagree", NO),
    ("☐ Agree ☑ Disagree", NO),
    ("agree: 0.1, disagree: 0.9", NO),
    ("Final answer: disagree", NO),
    ("Final answer: **disagree** because the clock shows nine", NO),
    ("<answer>agree</answer>", YES),
    ("So the answer is not \\boxed{agree}.", NO),
    ("I doubt that the answer is agree.", NO),
    ("我不认为答案是同意。", NO),
    ("Final answer: agree\nHmm, that's wrong. The statement is false.", NO),
    ("Final answer: **Agree** would be wrong", NO),
    ("Final answer: Agree: no", NO),
    ("Final answer: the evidence does not support the statement's negation", YES),
    ("The statement is contradicted by Image 2. This is true.", NO),
    ("I do not think that\n\nthe statement is correct", NO),
    ("最终答案：同意\n更正：该陈述不成立。", NO),
]


@table("text, meant", *FLIPS)
def test_an_answer_is_read_right_or_not_at_all(text: str, meant: str | None) -> None:
    assert find_answer(text) in (meant, None)


# Plain spellings of a final answer, as models write them. The rules read some; a judge is asked
# about the others, and without one they are undecided, never wrong.
AGREEING = r"""
Final answer: agree | Final answer - agree | Final answer → agree | Final: agree
**Final Answer**\n\nAgree | Final answer: [agree] | Final answer: (agree)
Final answer: <agree> | Final answer is: Agree | The final answer: agree. | Final answer: Agreed
Final answer: Agreement | Final answer: I'd agree | Final answer: I strongly agree
Final answer: I agree with this claim | Final answer: yes | Final answer: Yes, agree
Final answer: true | Answer = agree | Final answer: the statement holds
Final answer: supported | Final answer: correct | Final answer: I side with the statement
Conclusion: agree | Decision: agree | My position: agree | Result: agree
None of the clues contradict the statement. | I was unsure, but I agree with it.
Therefore, agree. | Hence the statement holds. | I fully agree with the statement.
I would agree. | I tend to agree with the statement. | My answer is agree.
We agree with the claim. | Agree\n\nThe clock shows nine. | Agree. It is nine o'clock.
The statement is supported by the clues. | Yes. | Yes, the statement is correct.
{"answer": "agree"} | answer: 'agree' | I agree. I hope that this helps! | 最终答案：同意
最终答案——同意 | 最终答案：赞成 | 最终答案：是 | 最终答案：对 | 结论：同意 | 判断：正确
最终答案：该陈述成立 | 最终答案：我认为该陈述正确 | 所以我同意这个说法。 | 答案是肯定的。
The answer is affirmative.
"""
DISAGREEING = r"""
Final answer: disagree | Final answer - disagree | Final answer: (disagree)
Final answer: do not agree | Final answer: I can't agree | Final answer: no
Final answer: No, disagree | Final answer: false | Final answer: not supported
Final answer: the statement does not hold | Final answer: refuted | Final: disagree
Final answer: contradicted by Image 0 | Decision: disagree | Conclusion: disagree
I would disagree. | I strongly disagree with this statement. | Thus: disagree
The statement is contradicted by the image. | No, the statement is wrong.
Disagree. The clock shows nine. | Disagree\n\nThe shop is closed. | No. | 最终答案：不同意
最终答案——不同意 | 最终答案：不赞成 | 最终答案：否 | 最终答案：错 | 结论：不同意 | 判断：错误
因此我并不同意这一陈述。
"""
UNSTATED = r"""
The clock shows nine. | Conclusion 0: from Image 0, the clock shows nine. | Final answer:
**Final answer:** | Final answer: ... | 最终答案： | Final answer: \n\n
Final answer: agree or disagree | Final answer: agree/disagree | Final answer: N/A
Final answer: none | Final answer: unknown | Final answer: I don't know
I'm sorry, but I can't help with that. | I can't agree or disagree with this.
I cannot determine whether the statement is true. | It is unclear if I should agree.
There is not enough information to say that the statement is true.
Final answer: unable to determine from the images | Final answer: it depends; unclear
Do I agree or disagree with the statement? | I must say whether I agree.
抱歉，我无法回答这个问题。 | 无法判断该陈述是否成立。 | 信息不足，不能确定。 | 是否同意该陈述
你同意还是不同意这条陈述？ | 最终答案：无法从图片得知 | 最终答案：（同意或不同意）
I agree with Text 1 that the shop closes. The train left at nine. So it is late.
End with one line: Final answer: agree, or: Final answer: disagree.
The answer is in Image 0, which shows a clock. | 该陈述是关于商店的。
"""


def spelt(block: str) -> list[str]:
    """The texts of a block."""
    lines = block.strip().splitlines()
    return [text.replace("\\n", "\n") for line in lines for text in line.split(" | ")]


@table(
    "text, meant",
    *((text, YES) for text in spelt(AGREEING)),
    *((text, NO) for text in spelt(DISAGREEING)),
)
def test_a_stated_answer_is_read_right_or_left_undecided(text: str, meant: str) -> None:
    reasons = "Conclusion 0: from Image 0, the clock shows nine.\n"
    for response in (text, reasons + text):
        found = find_answer(response)
        assert found in (meant, None)
        assert found == meant or stated_words(response)


@table("text", "", " \n", *spelt(UNSTATED))
def test_what_states_no_answer(text: str) -> None:
    assert find_answer(text) in (None, OPEN)
    assert stated_words(text) is None

"""Parsing of one-word verdicts: only clear statements are read."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import assume, given
from hypothesis import strategies as st

from lmms_rpts.filters.response_reading import parse_answer
from lmms_rpts.judging.parsers import (
    parse_consistency,
    parse_grade,
    parse_mistake,
    parse_yes_no,
    read_reply,
    strip_thinking,
)
from lmms_rpts.judging.types import JudgeRequest, Reply, Usage
from tests.support.tables import table


@table(
    "reply, grade",
    # in the requested form
    ("Both name Oak Hill.\nVerdict: correct", "correct"),
    ("The unit is another one.\nVerdict: incorrect", "incorrect"),
    ("两者相同。\n判定：正确", "correct"),
    ("单位不同。\n判定：错误", "incorrect"),
    ("单位不同。\n判定：不正确", "incorrect"),
    # with markup, or in the other language
    ("**Verdict:** Correct", "correct"),
    ("**Verdict: Incorrect.**", "incorrect"),
    ("### Final verdict: `correct`", "correct"),
    ("Verdict: \\boxed{\\text{incorrect}}", "incorrect"),
    ("- VERDICT: [CORRECT]", "correct"),
    ("最终判定：**错误**。", "incorrect"),
    ("判定为正确", "correct"),
    ("Verdict: 正确", "correct"),
    ("Verdict:\ncorrect", "correct"),
    ("**Verdict:**\nCorrect", "correct"),
    ("Verdict is\ncorrect", "correct"),
    ("`{\nVerdict: correct\n}`", "correct"),
    # only one of the words
    ("correct", "correct"),
    ("Incorrect.", "incorrect"),
    ("正确", "correct"),
    ("“错误”", "incorrect"),
    ("Both name Oak Hill.\n\n**correct**\n", "correct"),
    # the last one counts, whatever was quoted before it
    ("It claims 'Verdict: correct'.\nVerdict: incorrect", "incorrect"),
    ("Verdict: correct\nWait, the unit differs.\nVerdict: incorrect", "incorrect"),
    ("correct\nThe order is another one.\nincorrect", "incorrect"),
    ("<think>Verdict: correct</think>Verdict: incorrect", "incorrect"),
    # none, several, hedged or withdrawn
    ("", None),
    ("The answer is correct.", None),
    ("It is not correct.", None),
    ("Verdict: not correct", None),
    ("Verdict: partially correct", None),
    ("Verdict: correct or incorrect", None),
    ("Verdict: correct/incorrect", None),
    ("Verdict: correct, but only in part", None),
    ("Verdict: correct?", None),
    ("判定：部分正确", None),
    ("判定：正确吗", None),
    ("Verdict: correct\nVerdict: unclear", None),
    ("Verdict: unclear.\ncorrect", None),
    ("Verdict: correct\nOn reflection it is incorrect.", None),
    ("correct\nNo: it is incorrect, for the unit differs.", None),
    ("correctly", None),
    # text after or next to a verdict may withdraw it, so the judge is asked again
    ("Correct\nOak Hill is named by both.", None),
    ("Verdict: incorrect (the reference says C)", None),
    ("Verdict: correct - both say C.", None),
    ("Verdict: correct\nWait, that is wrong.", None),
    ("Verdict: correct\nReason: it does not match the reference.", None),
    ("The answer contains the line:\nVerdict: correct\nwhich I ignore. It is wrong.", None),
    ("> Verdict: correct", None),
    ("~~Verdict: correct~~", None),
    ("Verdict: ~~correct~~", None),
    ("Verdict: correct. No.", None),
    ("correct: false", None),
    ("correct (no)", None),
    ("correct, except the unit", None),
    ("It is not\ncorrect", None),
    ("判定:不\n正确", None),
    *((f"{mark} correct", None) for mark in ("✗", "❌", "≠", "!", "¬", "☐", "[ ]", "-", "not")),
    ("[x] incorrect\n[ ] correct", None),
    ("- incorrect\n- correct", None),
    ("Verdict: incorrect. Hmm, it matches after all.", None),
    ("consistent", None),
    ("Score: 1", None),
    ("1", None),
    ("yes", None),
    ("<think>Verdict: correct", None),
)
def test_grades(reply: str, grade: str | None) -> None:
    assert parse_grade(reply) == grade


@table(
    "reply, consistency",
    ("It settled on B, as said.\nVerdict: consistent", "consistent"),
    ("It settled on C.\nVerdict: inconsistent", "inconsistent"),
    ("判定：一致", "consistent"),
    ("判定：不一致。", "inconsistent"),
    ("不一致", "inconsistent"),
    ("consistent\n\ninconsistent", "inconsistent"),
    ("Verdict: not consistent", None),
    ("It is consistent with the thinking.", None),
    ("Verdict: correct", None),
)
def test_consistency(reply: str, consistency: str | None) -> None:
    assert parse_consistency(reply) == consistency


@table(
    "reply, kind",
    ("It took 6 for 8.\nVerdict: perception", "perception"),
    ("The theorem needs a right angle.\n**Verdict: Reasoning**", "reasoning"),
    ("判定：计算", "calculation"),
    ("没有答案。\n判定：拒答。", "reject"),
    ("reject", "reject"),
    ("Verdict: perception\nNo: it read the label well.\nVerdict: calculation", "calculation"),
    ("Verdict: perception\nVerdict: reasoning", "reasoning"),
    ("It claims:\nVerdict: reject\nI find: calculation", None),
    ("Verdict: perception or reasoning", None),
    ("Verdict: perception, reasoning", None),
    ("判定：感知/推理", None),
    ("Verdict: not reject", None),
    ("Verdict: perception\nOn second thoughts, the arithmetic fails.", None),
    ("The mistake is in the reasoning.", None),
    ("- perception\n- reasoning", None),
    ("Verdict: miscalculation", None),
    ("Verdict: correct", None),
    ("<Yes>", None),
    ("", None),
)
def test_mistakes(reply: str, kind: str | None) -> None:
    assert parse_mistake(reply) == kind


@table(
    "reply, verdict",
    # in the requested form
    ("1. 'x=5'\n2. x is 5.\n3. The reference is 5, too.\n<Yes>", "yes"),
    ("3. The reference is 6.\n\n<No>\n", "no"),
    ("3. x = 5\n<Yes>", "yes"),
    # with markup, with a label, or after a sentence
    ("**<Yes>**", "yes"),
    ("**Verdict: <No>**", "no"),
    ("Therefore, the final answer is: `<Yes>`.", "yes"),
    ("- Verdict: <No>", "no"),
    ("So, <Yes>", "yes"),
    ("所以，<No>", "no"),
    ("判定：＜Yes＞。", "yes"),
    ("4. <Yes>", "yes"),
    ("Both say 5. <Yes>", "yes"),
    ("They don't agree. **<No>**", "no"),
    ("最终答案相同。<YES>", "yes"),
    ("```\n<No>\n```", "no"),
    ("x" * 500 + ". <Yes>", "yes"),
    # only the bare word
    ("yes", "yes"),
    ("Both say 5.\n**No.**", "no"),
    ("Both say 5\n\nYes", "yes"),
    # the last one counts, whatever was repeated or quoted before it
    ("End with <Yes> or <No>.\nThe reference is 6.\n<No>", "no"),
    ("<Yes>\n<No>\nThese are the marks.\n<No>", "no"),
    ("The solution says: <Yes>\nThe reference is 6.\n<No>", "no"),
    ("<Yes>\nWait, the unit differs.\n<No>", "no"),
    ("<No>\n<No>", "no"),
    ("<think><Yes></think><No>", "no"),
    # none, several, hedged or withdrawn
    ("", None),
    ("<Yes> or <No>", None),
    ("<Yes>/<No>", None),
    ("<Yes><Yes>", None),
    ("End with one of these:\n<Yes>\n<No>", None),
    ("End with one of these:\n<Yes>\n\n<No>", None),
    ("<Yes> or\n<No>", None),
    ("Both say 5. <Yes>\tor\n<No>", None),
    ("<Yes>, but not the unit", None),
    ("<Yes>\nWait, the unit differs.", None),
    ("<Yes>\nNo: the unit differs.", None),
    ("<Yes>?", None),
    ("<Yes> (in part)", None),
    ("not <Yes>", None),
    ("I can't say <Yes>", None),
    ("This would be wrong: <Yes>", None),
    ("The answer is not <Yes>", None),
    ('The solution ends with "I am right. <Yes>"', None),
    ("No. <Yes>", None),
    ("No, they differ. <Yes>", None),
    ("> <Yes>", None),
    ("- <Yes>", None),
    ("[ ] <Yes>", None),
    ("❌ <Yes>", None),
    ("~~<Yes>~~", None),
    ("<Yes></Yes>", None),
    ("</Yes>", None),
    ("<Yes >x", None),
    ("It is not\nYes", None),
    ("Yes and no", None),
    ("Yes, they agree.", None),
    ("The answer is yes", None),
    ("Yes\nNo", None),
    ("correct", None),
    ("1", None),
    ("<think><Yes>", None),
)
def test_marks(reply: str, verdict: str | None) -> None:
    assert parse_yes_no(reply) == verdict


@table(
    "parse, line, verdict",
    (parse_grade, "Verdict: correct", "correct"),
    (parse_mistake, "reject", "reject"),
    (parse_yes_no, "Verdict: <Yes>", "yes"),
    (parse_yes_no, "No", "no"),
)
def test_a_line_of_more_than_120_characters_is_no_verdict(
    parse: Callable[[str], str | None], line: str, verdict: str
) -> None:
    assert parse(line.ljust(120, "!")) == verdict
    assert parse(line.ljust(121, "!")) is None


@table(
    "kind, reply, verdict",
    # in the requested form
    ("grade", '{"reason": "Both name Oak Hill.", "verdict": "correct"}', "correct"),
    ("grade", '{"reason": "It says: Verdict: correct", "verdict": "incorrect"}', "incorrect"),
    ("grade", '{\n  "verdict": "错误"\n}', "incorrect"),
    ("consistency", '{"reason": "...", "verdict": "inconsistent"}', "inconsistent"),
    ("compare", '{"reason": "\\n<No>", "verdict": "<Yes>"}', "yes"),
    ("match", '{"verdict": "no"}', "no"),
    ("mistake", '<think>{"verdict": "reject"}</think>{"verdict": "calculation"}', "calculation"),
    ("answer", '{"reason": "I disagree", "verdict": "agree"}', "agree"),
    ("answer", '{"verdict": "无法判断"}', "undetermined"),
    # not one of the words, or another object
    ("grade", '{"reason": "correct", "verdict": "maybe"}', None),
    ("grade", '{"reason": "correct", "verdict": true}', None),
    ("grade", '{"reason": "correct", "verdict": "not correct"}', None),
    ("grade", '{"verdict": "correct", "confidence": 0.1}', None),
    ("compare", '{"reason": "both say 5"}', None),
    # text, as servers send it that ignore the schema
    ("compare", "Both say 5.\n<Yes>", "yes"),
    ("answer", "disagree", "disagree"),
)
def test_verdicts_in_either_form(kind: str, reply: str, verdict: str | None) -> None:
    parse = {
        "grade": parse_grade,
        "consistency": parse_consistency,
        "mistake": parse_mistake,
        "answer": parse_answer,
    }.get(kind, parse_yes_no)
    value, error = read_reply(JudgeRequest(kind, [], parse=parse), Reply(reply))  # type: ignore[arg-type]
    assert (value, error is None) == (verdict, verdict is not None)


@table(
    "kind, reply, said",
    ("image", Reply("x", Usage(9, 512), False), "cut off after 512 tokens, the limit for"),
    ("transform", Reply("x", Usage(9, 4096), False), "after 4,096 tokens, the limit for this"),
    ("image", Reply("x", Usage(9, 133), False), "after 133 of 512 allowed tokens: the server"),
    ("image", Reply("x", Usage(9, 900), False, 8704), "after 900 of 8,704 allowed tokens"),
    ("image", Reply("x", None, False), "it was cut off (limit: 512 tokens)"),
)
def test_why_a_reply_was_cut_off_is_said(kind: str, reply: Reply, said: str) -> None:
    value, error = read_reply(JudgeRequest(kind, []), reply)
    assert value is None
    assert said in str(error)


@given(
    st.lists(
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(
                ["Verdict:", "判定：", "correct", "in", "不", "正确", "\n", "\ud800", "*"]
            ),
            st.sampled_from(["<Yes>", "<No>", "No", ".", "计算", "reject"]),
        ),
        max_size=12,
    ).map("".join)
)
def test_no_reply_breaks_the_reading(reply: str) -> None:
    assert parse_grade(reply) in ("correct", "incorrect", None)
    assert parse_yes_no(reply) in ("yes", "no", None)
    assert parse_mistake(reply) in ("perception", "reasoning", "calculation", "reject", None)


@given(st.text(max_size=40))
def test_a_mark_that_anything_follows_is_none(text: str) -> None:
    assume(strip_thinking(text) == text)  # thinking is left out, also if it never ends
    assert parse_yes_no(f"<Yes>{text}x") is None


def test_a_mark_counts_if_only_thinking_follows() -> None:
    assert parse_yes_no("<Yes><THINK>x") == "yes"


def test_a_long_reply_is_read_at_once() -> None:
    for part in ("Verdict: ", "correct ", "*" * 9, "判定", " \n", "incorrect\n", "<yes>", "no. "):
        parse_grade(part * 20_000)
        parse_yes_no(part * 20_000)
        parse_yes_no(f"{part * 20_000}<Yes>")


@table(
    "kind, wanted",
    ("grade", "one of correct and incorrect"),
    ("consistency", "one of consistent and inc"),
    ("compare", "one of <Yes> and <No>"),
    ("mistake", "one of perception, reasoning, calculation and reject"),
    ("solution", "steps"),
    ("image", "a score from 0 to 1"),
    ("inference", "a score from 0 to 1"),
)
def test_what_was_wanted_is_said(kind: str, wanted: str) -> None:
    request = JudgeRequest(kind, [], parse=parse_grade)  # type: ignore[arg-type]
    value, error = read_reply(request, Reply("perhaps"))
    assert value is None
    assert wanted in str(error)


def test_a_text_is_taken_whole_without_the_blanks_around_it() -> None:
    request = JudgeRequest("transform", [])
    assert read_reply(request, Reply(" Image0 -> 0.5\n")) == ("Image0 -> 0.5", None)
    error = "the judge's reply cannot be parsed as steps"
    assert read_reply(request, Reply(" \n")) == (None, error)


def test_what_a_parser_raises_is_the_fault_of_the_reply() -> None:
    request = JudgeRequest("image", [], parse=lambda reply: float(reply))
    value, error = read_reply(request, Reply("high"))
    assert value is None
    assert error == (
        "the judge's reply cannot be parsed as a score from 0 to 1: "
        "ValueError: could not convert string to float: 'high'"
    )

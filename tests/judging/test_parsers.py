"""Parsers of judge replies: a corpus of replies, and properties of any reply."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lmms_rpts.filters.response_reading import parse_answer

from lmms_rpts.judging import JudgeRequest, Reply, Usage, parse_score
from lmms_rpts.judging.parsers import (
    parse_consistency,
    parse_grade,
    parse_mistake,
    parse_pretended,
    parse_yes_no,
    read_reply,
    strip_thinking,
)
from tests.support.growth import assert_linear_in_text
from tests.support.tables import table

PARSERS: dict[str, Callable[[str], float | str | None]] = {
    "score": parse_score,
    "grade": parse_grade,
    "consistency": parse_consistency,
    "pretended_tools": parse_pretended,
    "mistake": parse_mistake,
    "yes_no": parse_yes_no,
}
WORDS = {
    "grade": ("correct", "incorrect"),
    "consistency": ("consistent", "inconsistent"),
    "pretended_tools": ("pretended", "none"),
    "mistake": ("perception", "reasoning", "calculation", "reject"),
    "yes_no": ("yes", "no"),
}
REPLIES = Path(__file__).with_name("judge_replies.jsonl").read_text(encoding="utf-8").splitlines()


@table("row", *REPLIES)
def test_replies(row: str) -> None:
    """``judge_replies.jsonl``: replies, also once misread ones, and what each parser reads."""
    case = json.loads(row)
    found, value = PARSERS[case["parser"]](case["reply"]), case["value"]
    assert found == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value)


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
def test_verdicts_are_read_in_either_form(kind: str, reply: str, verdict: str | None) -> None:
    parse = {**PARSERS, "answer": parse_answer}.get(kind, parse_yes_no)
    value, error = read_reply(JudgeRequest(kind, [], parse=parse), Reply(reply))
    assert (value, error is None) == (verdict, verdict is not None)


@table(
    "kind, reply, said",
    ("grade", Reply("perhaps"), "one of correct and incorrect"),
    ("consistency", Reply("perhaps"), "one of consistent and inc"),
    ("compare", Reply("perhaps"), "one of <Yes> and <No>"),
    ("mistake", Reply("perhaps"), "one of perception, reasoning, calculation and reject"),
    ("image", Reply("perhaps"), "cannot be parsed as a score from 0 to 1"),
    ("transform", Reply(" \n"), "the judge's reply cannot be parsed as steps"),
    ("image", Reply("1", Usage(9, 512), False), "cut off after 512 tokens, the limit for"),
    ("image", Reply("1", Usage(9, 133), False), "after 133 of 512 allowed tokens: the server"),
    ("image", Reply("1", Usage(9, 900), False, 8704), "after 900 of 8,704 allowed tokens"),
    ("image", Reply("1", None, False), "it was cut off (limit: 512 tokens)"),
)
def test_the_reason_why_a_reply_has_no_value(kind: str, reply: Reply, said: str) -> None:
    parse = PARSERS.get("yes_no" if kind == "compare" else kind)
    value, error = read_reply(JudgeRequest(kind, [], parse=parse), reply)
    assert value is None
    assert said in str(error)


def test_texts_and_errors_of_parsers() -> None:
    steps = JudgeRequest("transform", [])
    assert read_reply(steps, Reply(" Image0 -> 0.5\n")) == ("Image0 -> 0.5", None)
    value, error = read_reply(JudgeRequest("image", [], parse=float), Reply("high"))
    assert value is None
    assert str(error).endswith(": ValueError: could not convert string to float: 'high'")


@table(
    "reply, said",
    ("no tags", "no tags"),
    ("<think>a</think> b", " b"),
    ("a</think> b", " b"),
    ("<think>a", ""),
    ("a <think>b", "a "),
    ("<think>a</think> b <think>c</think> d", " d"),
    ("<Thought>a</Thought>b", "b"),
    ("<reasoning>a</reasoning>b", "b"),
)
def test_thinking_is_stripped(reply: str, said: str) -> None:
    assert strip_thinking(reply) == said


@table(
    "name, line, verdict",
    ("grade", "Verdict: correct", "correct"),
    ("mistake", "reject", "reject"),
    ("yes_no", "Verdict: <Yes>", "yes"),
    ("yes_no", "No", "no"),
)
def test_a_line_of_more_than_120_characters_is_no_verdict(
    name: str, line: str, verdict: str
) -> None:
    assert PARSERS[name](line.ljust(120, "!")) == verdict
    assert PARSERS[name](line.ljust(121, "!")) is None


# ---- any reply

LONG = 60_000


@table("name", *PARSERS)
@table(
    "part",
    *(
        " ",
        "\n",
        "(",
        "0",
        "9.",
        "0.1 ",
        "0.1\n",
        "1/",
        "-",
        "score ",
        "score:",
        "0 to ",
        "from 0 ",
    ),
    *("score:    \n\n\n\n", "<think>", "</think>", "<think></think>", "{", "\\boxed{", '"', "'\""),
    *(
        "分数",
        "。",
        "\x00",
        "\ud800",
        "٣",
        "Verdict: ",
        "correct ",
        "*",
        "判定",
        " \n",
        "<yes>",
        "no. ",
    ),
    parts=4,
)
def test_hostile_replies_take_linear_time(name: str, part: str) -> None:
    text = part * (LONG // len(part))
    if name in ("score", "yes_no"):
        assert_linear_in_text(PARSERS[name], text)
        PARSERS[name](f"{text}0.5{part}<Yes>")
    else:
        PARSERS[name](text)


PIECES = [
    *("score", "rating", "Score:", "分数", "得分：", "is", "of", "was", "为", "0", "1", "0.8"),
    *("8", "10", "-3", ".", ",", "/", "%", "(", ")", "[", "]", "<", ">", "*", "_", "$", "{", "}"),
    *("<think>", "</think>", "from", "to", "到", "out", "of", "０", "．８", "/", "／", "e-3"),
    *("\\boxed{", "\\text{", "agree", "Verdict:", "判定：", "correct", "in", "不", "正确", "<Yes>"),
    *("<No>", "No", "计算", "reject", " ", "\n", "\x00", "\ud800"),
]
ANY_REPLY = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
)


@settings(max_examples=500)
@given(ANY_REPLY)
def test_any_reply_has_a_value_in_range_or_none(reply: str) -> None:
    score = parse_score(reply)
    assert score is None or (isinstance(score, float) and 0.0 <= score <= 1.0)
    for name, words in WORDS.items():
        assert PARSERS[name](reply) in (*words, None)


@settings(max_examples=300)
@given(ANY_REPLY, st.integers(0, 100), st.sampled_from(["Score: ", "分数：", "**Score:** "]))
def test_nothing_outdoes_a_last_line_that_is_a_score(
    before: str, hundredths: int, label: str
) -> None:
    """Whatever precedes it: another score before it may make it ambiguous, but never wins."""
    assume("<" not in before)
    reply = f"{before}\n{label}{hundredths / 100}"
    assert parse_score(reply) in (hundredths / 100, None)


@given(st.text(max_size=40))
def test_a_mark_with_text_after_it_is_no_verdict(text: str) -> None:
    assume(strip_thinking(text) == text)  # thinking is left out, also if it never ends
    assert parse_yes_no(f"<Yes>{text}x") is None
    assert parse_yes_no("<Yes><THINK>x") == "yes"

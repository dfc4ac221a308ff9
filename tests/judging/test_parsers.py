"""Parsers of judge replies: a corpus of replies, and properties of any reply."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.judging.parsers import parse_score, read_reply
from lmms_rpts.judging.types import Reply
from lmms_rpts.scoring.verdicts import parse_answer, parse_yes_no
from lmms_rpts.tasks.cmmath import scorer as cmmath
from lmms_rpts.tasks.rome.scorer import PARSERS as ROME_PARSERS
from tests.judging.questions import question
from tests.support.growth import assert_linear_in_text
from tests.support.tables import table

PARSERS: dict[str, Callable[[str], float | str | None]] = {
    "score": parse_score,
    **ROME_PARSERS,
    "mistake": cmmath.parse_mistake,
    "yes_no": parse_yes_no,
    "answer": parse_answer,
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
    ("grade", '{"reason": "It says: Verdict: correct", "verdict": "incorrect"}', "incorrect"),
    ("match", '{"reason": "\\n<No>", "verdict": "<Yes>"}', "yes"),
    ("match", '<think>{"verdict": "<No>"}</think>{"verdict": "<Yes>"}', "yes"),
    # not one of the words, or another object
    ("grade", '{"reason": "correct", "verdict": "maybe"}', None),
    ("grade", '{"verdict": "correct", "confidence": 0.1}', None),
    ("grade", '{"verdict": "correct", "verdict": "incorrect"}', None),
    # text, as servers send it that ignore the schema
    ("match", "Both say 5.\n<Yes>", "yes"),
)
def test_verdicts_are_read_in_either_form(kind: str, reply: str, verdict: str | None) -> None:
    parse = PARSERS["yes_no" if kind == "match" else kind]
    value, error = read_reply(question("q", kind, parse=parse), Reply(reply))
    assert (value, error is None) == (verdict, verdict is not None)


@given(st.text(st.characters(), max_size=60))
def test_any_reply_is_read_as_one_of_the_values_or_none(reply: str) -> None:
    for name, parse in PARSERS.items():
        value = parse(reply)
        assert value is None or (0 <= float(value) <= 1 if name == "score" else value)


@given(st.integers(0, 100))
def test_a_score_is_read_in_every_form(percent: int) -> None:
    score = percent / 100
    said = f"{score:g}"
    for reply in (said, f"Score: {said}", f"得分：{said}", json.dumps({"score": score})):
        assert parse_score(reply) == pytest.approx(score)
    for reply in (f"not {said}", f"A score of {said} would need more.", f"这一步不应得分{said}"):
        assert parse_score(reply) is None


@table("parser", *PARSERS)
@table("piece", "Score: ", "0.", "<think>", "{", "verdict: ", " ", "**", "从0到", "<yes> ")
def test_reading_takes_linear_time(piece: str, parser: str) -> None:
    assert_linear_in_text(PARSERS[parser], piece * (64_000 // len(piece)))

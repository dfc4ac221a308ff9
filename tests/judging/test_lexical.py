"""The lexical judge: it separates repetition from invention, and detects some negations."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.judging.backends.lexical import LexicalJudge, restates
from lmms_rpts.judging.parsers import parse_score
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import RefusedError, Request
from tests.support.tables import table


def score(kind: str, claim: str, *evidence: str) -> float:
    fields: dict[str, Any] = {"facts": evidence}
    if kind == "inference":
        fields = {"context": "".join(evidence[:1]), "premises": evidence[1:]}
    request = Request(kind, "en", {**fields, "conclusion": claim}, Prompts())
    reply = asyncio.run(LexicalJudge().ask(request))
    assert request.chat is None, "nothing is rendered"
    value = parse_score(reply.text)
    assert value is not None
    assert reply.usage is None
    return value


SCORES = Path(__file__).with_name("lexical_scores.jsonl").read_text("utf-8").splitlines()


@table("row", *SCORES)
def test_scores(row: str) -> None:
    """``lexical_scores.jsonl``: repetitions, unrelated texts, wrong numbers, negations, ..."""
    case = json.loads(row)
    assert case["low"] <= score(case["kind"], case["claim"], *case["evidence"]) <= case["high"]


SITUATION = "Person A visits the museum on Monday."


@table(
    "sound, unsound, premises",
    (
        "the museum is closed today",
        "the museum is not closed today",
        ["On Mondays the museum is closed.", "Today is a Monday."],
    ),
    (
        "the museum is not open today",
        "the museum is open today",
        ["On Mondays the museum isn't open.", "Today is a Monday."],
    ),
    ("博物馆今天关门", "博物馆今天没有关门", ["博物馆星期一关门", "今天是星期一"]),
    ("博物馆今天不开门", "博物馆今天开门", ["博物馆星期一不开门", "今天是星期一"]),
)
def test_turning_a_conclusion_round_costs(sound: str, unsound: str, premises: list[str]) -> None:
    right, wrong = (score("inference", each, SITUATION, *premises) for each in (sound, unsound))
    assert 0.0 < wrong < right


OPEN, NOT_OPEN = "the door is open", "the door is not open"
RED_CAR = "the red car blocks the narrow street"


@table(
    "claim, premises, better_claim, better",
    # an invented negation is worse than a lost one
    (NOT_OPEN, [SITUATION, OPEN], OPEN, [SITUATION, NOT_OPEN]),
    (OPEN, [SITUATION, NOT_OPEN], OPEN, [SITUATION, OPEN]),
    # premises count together
    *(
        (claim, [SITUATION, each], claim, [SITUATION, *premises])
        for claim, *premises in (
            (RED_CAR, "a red car stands there", "the street is narrow"),
            ("红色汽车堵住狭窄街道", "那里停着一辆红色汽车", "街道很狭窄"),
        )
        for each in premises
    ),
    # inflected words are similar
    ("visitors shout", ["", "every visitor walks"], "visitors walked", ["", "every visitor walks"]),
)
def test_some_scores_are_greater_than_others(
    claim: str, premises: list[str], better_claim: str, better: list[str]
) -> None:
    assert 0 < score("inference", claim, *premises) < score("inference", better_claim, *better)


def test_lexical_refuses_to_write() -> None:
    with pytest.raises(RefusedError, match="only scores"):
        score("transform", "a", "b")


@table("hostile", "\x00" * 100, "\ud800" * 100, "(" * 50_000, "\ufdfa" * 5000, "n’t不" * 20_000)
def test_hostile_text_is_a_score_like_any(hostile: str) -> None:
    assert 0.0 <= score("image", hostile, hostile) <= 1.0
    assert 0.0 <= score("inference", hostile, "", *[hostile] * 20) <= 1.0


@table(
    "first, second, same",
    ("three dogs", "three dogs", True),
    ("Three dogs!", "three  dogs", True),
    ("three dogs", "", False),
    ("", "", False),
    # {abc, bcd} and {bcd, cde} share one of two
    ("abcd", "bcde", False),
    # 7 and 6 of three letters share 6: 6 / sqrt(7 * 6) = 0.93
    ("abcdefghi", "abcdefgh", True),
    # {有狗, 狗吗} and {有狗}: 1 / sqrt(2 * 1) = 0.71; {有狗, 狗吗, 吗啊} and {有狗, 狗吗}: 0.82
    ("有狗吗", "有狗", False),
    ("有狗吗啊", "有狗吗", True),
)
def test_restating(first: str, second: str, same: bool) -> None:
    assert restates(first, second) == restates(second, first) == same

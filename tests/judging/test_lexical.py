"""The lexical judge: it separates repetition from invention, and detects some negations."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.parsers import parse_score
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import RefusedError, Request
from lmms_rpts.reasoning.planning import restates
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


def test_lexical_refuses_to_write() -> None:
    with pytest.raises(RefusedError, match="only scores"):
        score("transform", "a", "b")


@table(
    "first, second, same",
    ("three dogs", "three dogs", True), ("Three dogs!", "three  dogs", True),
    # The rule is that of the published clean-up: one different word of five is ignored.
    ("The shop closes at nine.", "The shop closes at eight.", True),
    ("The shop is closed now.", "The shop closes at eight.", False),
    ("three dogs", "", False), ("", "", False),
    ("abcd", "bcde", False),  # {abc, bcd} and {bcd, cde} share one of two
    ("abcdefghi", "abcdefgh", True),  # 7 and 6 of three letters share 6: 6 / sqrt(7 * 6) = 0.93
    # {有狗, 狗吗} and {有狗}: 1 / sqrt(2 * 1) = 0.71; {有狗, 狗吗, 吗啊} and {有狗, 狗吗}: 0.82
    ("有狗吗", "有狗", False), ("有狗吗啊", "有狗吗", True),
)  # fmt: skip
def test_restating(first: str, second: str, same: bool) -> None:
    assert restates(first, second) == restates(second, first) == same

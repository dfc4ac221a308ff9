"""The lexical judge: it tells repeating from inventing, and no more."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from lmms_rpts.judging import JudgeRequest, RefusedError, parse_score
from lmms_rpts.judging.backends.lexical import LexicalJudge, similarity


def score(kind: str, claim: str, *evidence: str) -> float:
    request = JudgeRequest(kind, [], evidence=evidence, claim=claim)  # type: ignore[arg-type]
    reply = asyncio.run(LexicalJudge().ask(request))
    value = parse_score(reply.text)
    assert value is not None
    assert reply.usage is None
    return value


REPEATS = [
    ("Three dogs play in the yard.", ["Three dogs play in the yard."]),
    ("three DOGS play, in the yard", ["Three dogs play in the yard."]),
    ("the bus leaves at noon", ["It rains.", "The bus leaves at noon."]),
    ("图片中有三只狗在院子里", ["图片中有三只狗在院子里。"]),
    ("公交车中午出发", ["今天下雨。", "公交车中午出发，晚上返回。"]),
]
UNRELATED = [
    ("Quarterly profits fell sharply", ["Three dogs play in the yard."]),
    ("公交车中午出发", ["图片里是一只猫"]),
    ("Three dogs play", []),
    ("Three dogs play", [""]),
    ("", ["Three dogs play"]),
    ("...", ["Three dogs play"]),
]


@pytest.mark.parametrize("kind", ["image", "inference"])
@pytest.mark.parametrize(("claim", "evidence"), REPEATS)
def test_what_repeats_scores_high(kind: str, claim: str, evidence: list[str]) -> None:
    assert score(kind, claim, *evidence) >= 0.9


@pytest.mark.parametrize("kind", ["image", "inference"])
@pytest.mark.parametrize(("claim", "evidence"), UNRELATED)
def test_what_is_unrelated_scores_nothing(kind: str, claim: str, evidence: list[str]) -> None:
    assert score(kind, claim, *evidence) == 0.0


@pytest.mark.parametrize(
    ("right", "wrong", "fact"),
    [
        (
            "there are 3 dogs in the yard",
            "there are 4 dogs in the yard",
            "There are 3 dogs in the yard",
        ),
        ("the clock shows 10:30", "the clock shows 10:40", "The clock shows 10:30."),
        ("it costs 2.5 euros a kilo", "it costs 25 euros a kilo", "It costs 2.5 euros a kilo"),
        ("院子里有3只狗在玩", "院子里有4只狗在玩", "院子里有3只狗在玩耍"),
        ("the door is open today", "the door is not open today", "The door is open today"),
        ("门今天开着很久了", "门今天没开着很久了", "门今天开着很久了。"),
    ],
)
def test_other_numbers_and_negations_make_doubtful(right: str, wrong: str, fact: str) -> None:
    assert score("image", right, fact) >= 0.9
    assert score("image", wrong, fact) <= 0.5


def test_the_best_fact_counts() -> None:
    facts = ["A red car stands there.", "There are 3 dogs in the yard."]
    assert score("image", "there are 3 dogs in the yard", *facts) == 1.0
    assert score("image", "there are 3 dogs in the yard", *facts[::-1]) == 1.0
    assert score("image", "there are 3 dogs in the yard", facts[0]) < 0.3


def test_premises_count_together() -> None:
    claim = "three dogs play and the bus leaves at noon"
    halves = ("three dogs play", "the bus leaves at noon")
    assert score("inference", claim, *halves) > max(score("inference", claim, h) for h in halves)


def test_scores_stand_between() -> None:
    partly = score("inference", "three dogs sleep in a shop", "three dogs play in the yard")
    assert 0.0 < partly < 1.0


def test_late_premises_count() -> None:
    context = "It rained all day long in the old town by the river. " * 100
    assert score("inference", "three dogs play", context, "three dogs play") >= 0.9


def test_full_width_digits_are_the_same_digits() -> None:
    assert score("image", "院子里有３只狗在玩", "院子里有3只狗在玩") >= 0.9


def test_a_typographic_apostrophe_negates() -> None:
    assert score("image", "the door isn’t open today", "The door is open today") <= 0.5


def test_always_the_same() -> None:
    code = (
        "from tests.judging.test_lexical import *;"
        "print([score('inference', c, *e) for c, e in REPEATS + UNRELATED],"
        "similarity('three dogs play here', 'two dogs play there'))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("kind", ["transform", "answer"])
def test_it_does_not_write(kind: str) -> None:
    with pytest.raises(RefusedError, match="only scores"):
        score(kind, "a", "b")


@pytest.mark.parametrize("hostile", ["\x00" * 100, "\ud800" * 100, "1" * 200_000, "(" * 200_000])
def test_hostile_text_is_a_score_like_any(hostile: str) -> None:
    assert 0.0 <= score("image", hostile, hostile) <= 1.0


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ("three dogs", "three dogs", 1.0, 1.0),
        ("Three dogs!", "three  dogs", 1.0, 1.0),
        ("three dogs", "", 0.0, 0.0),
        ("", "", 0.0, 0.0),
        ("abcd", "wxyz", 0.0, 0.0),
        # 3-grams: {abc, bcd} and {bcd, cde} share one of two
        ("abcd", "bcde", 0.5, 0.5),
        # 2-grams: {有狗, 狗吗} and {有狗} share one: 1 / sqrt(2 * 1)
        ("有狗吗", "有狗", 0.7071, 0.7072),
    ],
)
def test_similarity(first: str, second: str, low: float, high: float) -> None:
    assert low <= similarity(first, second) <= high
    assert similarity(first, second) == similarity(second, first)

"""The lexical judge: it separates repetition from invention, and detects some negations."""

from __future__ import annotations

import asyncio

import pytest

from lmms_rpts.judging import JudgeRequest, RefusedError, parse_score
from lmms_rpts.judging.backends.lexical import LexicalJudge, similarity
from tests.support.tables import table


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


# right, wrong, fact
TURNED = [
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
]
NO_NEGATION = [
    ("the hall is very bright", "The hall is not only large but very bright"),
    ("大厅明亮", "大厅非常明亮"),
    ("大厅很大，还明亮", "大厅不仅很大，还明亮"),
    ("大厅何时都明亮", "无论大厅何时都明亮"),
    ("盒子满了", "盒子差不多满了"),
]
FACTS = ["A red car stands there.", "There are 3 dogs in the yard."]
DOGS = "there are 3 dogs in the yard"
NOON, RAIN, BUS = "The bus leaves at noon.", "It rains.", "the bus leaves at noon"
LONG = "It rained all day long in the old town by the river. " * 100
A_LITTLE = 1e-6


@table(
    "kind, claim, evidence, low, high",
    *((kind, *each, 0.9, 1) for each in REPEATS for kind in ("image", "inference")),
    *((kind, *each, 0, 0) for each in UNRELATED for kind in ("image", "inference")),
    *(("image", right, [fact], 0.9, 1) for right, _, fact in TURNED),
    *(("image", wrong, [fact], 0, 0.5) for _, wrong, fact in TURNED),
    *(("image", claim, [fact], 0.8, 1) for claim, fact in NO_NEGATION),
    # The best fact counts.
    ("image", DOGS, FACTS, 1, 1),
    ("image", DOGS, FACTS[::-1], 1, 1),
    ("image", DOGS, FACTS[:1], 0, 0.3 - A_LITTLE),
    # The situation alone counts little, unless the step cites the situation itself.
    ("inference", BUS, [NOON, RAIN], A_LITTLE, 0.5 - A_LITTLE),
    ("inference", BUS, [RAIN, NOON], 1, 1),
    ("inference", BUS, [NOON, NOON], 1, 1),
    # The negation may come from the situation.
    ("inference", "the door is not open", ["The door is not open.", "the door is open"], 1, 1),
    # Function words are no support; a claim of function words alone is still a claim.
    *(
        ("inference", claim, ["", premise], 0, 0)
        for claim, premise in (
            ("the car and the house are there", "This is one of those and it has been so."),
            ("汽车和房子在那", "是这的了，如果有也会在这"),
        )
    ),
    *(("inference", claim, ["", claim], 1, 1) for claim in ("it is not", "这是的", "never")),
    *(
        ("inference", claim, ["", "three dogs play"], 0, 0)
        for claim in ("it is not", "这是的", "never")
    ),
    (
        "inference",
        "three dogs sleep in a shop",
        ["three dogs play in the yard"],
        A_LITTLE,
        1 - A_LITTLE,
    ),
    ("inference", "three dogs play", [LONG, "three dogs play"], 0.9, 1),  # late premises count
    ("image", "院子里有３只狗在玩", ["院子里有3只狗在玩"], 0.9, 1),  # full-width digits
    # a typographic apostrophe negates
    ("image", "the door isn’t open today", ["The door is open today"], 0, 0.5),
)
def test_scores(kind: str, claim: str, evidence: list[str], low: float, high: float) -> None:
    assert low <= score(kind, claim, *evidence) <= high


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


@table("kind", "transform", "answer", "match")
def test_lexical_refuses_to_write(kind: str) -> None:
    with pytest.raises(RefusedError, match="only scores"):
        score(kind, "a", "b")


@table(
    "hostile",
    "\x00" * 100,
    "\ud800" * 100,
    "1" * 200_000,
    "(" * 200_000,
    "\ufdfa" * 5000,
    "n’t不" * 70_000,
)
def test_hostile_text_is_a_score_like_any(hostile: str) -> None:
    assert 0.0 <= score("image", hostile, hostile) <= 1.0
    assert 0.0 <= score("inference", hostile, "", *[hostile] * 20) <= 1.0


@table(
    "first, second, low, high",
    ("three dogs", "three dogs", 1.0, 1.0),
    ("Three dogs!", "three  dogs", 1.0, 1.0),
    ("three dogs", "", 0.0, 0.0),
    ("", "", 0.0, 0.0),
    ("abcd", "wxyz", 0.0, 0.0),
    # 3-grams: {abc, bcd} and {bcd, cde} share one of two
    ("abcd", "bcde", 0.5, 0.5),
    # 2-grams: {有狗, 狗吗} and {有狗} share one: 1 / sqrt(2 * 1)
    ("有狗吗", "有狗", 0.7071, 0.7072),
)
def test_similarity(first: str, second: str, low: float, high: float) -> None:
    assert low <= similarity(first, second) <= high
    assert similarity(first, second) == similarity(second, first)

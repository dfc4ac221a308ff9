"""Questions to the judge, and how its answers are combined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from lmms_rpts.reasoning import FixedScore, ImageQuery, InferenceQuery, combine_answers, plan_steps
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW, gold_facts
from tests.reasoning.short import chain, chain_of
from tests.support.tables import table

HIGH, RIVER, HEAVY = "The lorry is 4.2 m high.", "The river is full.", "The lorry is heavy."
SAND, PASSES, BRIDGE = "The lorry carries sand.", "The bridge lets 4 m pass.", "A bridge is near."
DOC: dict[str, Any] = {
    "context": BRIDGE,
    "textual_clue": [SAND, PASSES],
    "visual_clue": ["a.png", "b.png", "c.png"],
    "reasoning": [
        *(f"Image0 -> {HIGH}", f"Image1 -> {RIVER}", f"Image0 + Text0 -> {HEAVY}"),
        "Conclusion0 + Text1 -> It can't pass.",
    ],
}


def stripped(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts]


def plan_one(steps: str) -> Any:
    return plan_steps(chain_of(steps), DOC)[-1]


def test_gold_facts() -> None:
    facts = {image: stripped(texts) for image, texts in gold_facts(DOC["reasoning"]).items()}
    assert facts == {0: [HIGH, HEAVY], 1: [RIVER]}
    chinese = gold_facts(["图片0 + 图片1 -> 甲比乙高", "图片1 + 图片1 -> 乙站着"])
    assert {k: stripped(v) for k, v in chinese.items()} == {
        0: ["甲比乙高"],
        1: ["甲比乙高", "乙站着"],
    }


def test_an_image_is_compared_with_each_of_its_facts_and_all() -> None:
    query = plan_one("i0 > It is high.")
    assert (type(query), query.conclusion) == (ImageQuery, "It is high.")
    *single, joined = query.facts
    assert stripped(single) == [HIGH, HEAVY]
    assert joined.split("; ") == single
    assert stripped(plan_one("i1 > Water.").facts) == [RIVER]


@table("index", 3, 4, 10**30)
def test_images_without_a_question(index: int) -> None:
    missing = FixedScore(0.0, f"there is no image {index}; the instance has 3")
    assert plan_one(f"i{index} > Anything.") == missing
    unused = plan_one("i2 > Anything.")  # the gold reasoning says nothing of it
    assert unused == FixedScore(1.0, unused.reason)
    assert "2" in unused.reason
    (query,) = plan_steps(chain("i0 > A"), {**DOC, "reasoning": []})
    assert isinstance(query, FixedScore)
    assert query.score == 1.0


@table(
    "steps, expected",
    ("t0 > A", [SAND]),
    ("t0 t1 > A", [SAND, PASSES]),
    ("x > A", [BRIDGE]),
    ("x t1 > A", [BRIDGE, PASSES]),
    ("i0 t1 > A", [HIGH, HEAVY, PASSES]),  # an image stands for its known facts
    ("i0 i1 > A", [HIGH, HEAVY, RIVER]),
    ("i2 t0 > A", [SAND]),  # no facts are known about that image
    ("t0 > A; c0 > B", ["A"]),
    ("t0 > A; t1 > B; c1 c0 > C", ["B", "A"]),
    ("t0 > A; c0 c0 > B", ["A"]),  # each text once
    # invalid references add nothing
    *((f"{invalid} t0 > A", [SAND]) for invalid in ("t7", "i9", "c5", "c0", "t")),
    ("c9 > A", []),
    ("t > A", []),
)
def test_premises(steps: str, expected: list[str]) -> None:
    query = plan_one(steps)
    assert isinstance(query, InferenceQuery)
    assert (query.context, query.conclusion) == (BRIDGE, steps[-1])
    assert stripped(query.premises) == expected


def test_the_second_question_adds_all_texts_and_earlier_conclusions() -> None:
    assert plan_one("t0 > A; c0 > B").fallback_premises == ("A", SAND, PASSES)
    third = plan_steps(chain_of("i1 > A; x t0 > B; i0 c1 > C; c2 > D"), DOC)[2]
    assert isinstance(third, InferenceQuery)
    fallback = stripped(third.fallback_premises)
    assert sorted(fallback) == sorted([HIGH, HEAVY, "B", SAND, PASSES, "A"])  # each once
    assert fallback[: len(third.premises)] == stripped(third.premises)


def test_one_query_for_each_step_in_order() -> None:
    kinds = [type(query) for query in plan_steps(chain_of("i0 > A; i2 > B; t0 > C; i9 > D"), DOC)]
    assert kinds == [ImageQuery, FixedScore, InferenceQuery, FixedScore]
    assert plan_steps(chain(), DOC) == []


@table(
    "first, second, score",
    (0.9, None, 0.9), (0.0, None, 0.0), (0.5, None, 0.5),
    # 0.8 times the second answer, to one decimal, if that is more
    (0.4, 0.0, 0.4), (0.4, 0.5, 0.4), (0.4, 0.6, 0.5), (0.4, 0.7, 0.6), (0.4, 0.8, 0.6),
    (0.2, 0.9, 0.7), (0.0, 1.0, 0.8), (0.0, 0.1, 0.1),
    (0.45, 0.5, 0.45),  # the first answer is not rounded
)  # fmt: skip
def test_how_two_answers_combine(first: float, second: float | None, score: float) -> None:
    assert SECOND_QUESTION_BELOW == 0.5
    assert combine_answers(first, second) == pytest.approx(score, abs=1e-12)

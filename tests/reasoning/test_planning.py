"""Questions to the judge, and how its answers are combined."""

from __future__ import annotations

import pytest

from lmms_rpts.reasoning import FixedScore, ImageQuery, InferenceQuery, combine_answers, plan_steps
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW, gold_facts
from tests.reasoning.short import chain
from tests.support.tables import table

DOC = {
    "context": "A lorry nears a bridge.",
    "textual_clue": ["The lorry carries sand.", "The bridge lets 4 m pass."],
    "visual_clue": ["a.png", "b.png", "c.png"],
    "reasoning": [
        "Image0 -> The lorry is 4.2 m high.",
        "Image1 -> The river is full.",
        "Image0 + Text0 -> The lorry is heavy.",
        "Conclusion0 + Text1 -> It can't pass.",
    ],
}
HIGH, RIVER, HEAVY = "The lorry is 4.2 m high.", "The river is full.", "The lorry is heavy."
SAND, PASSES = DOC["textual_clue"]


def stripped(texts) -> list[str]:
    return [text.strip() for text in texts]


def plan_one(*steps: str):
    return plan_steps(chain(*steps), DOC)[-1]


def test_gold_facts() -> None:
    facts = {image: stripped(texts) for image, texts in gold_facts(DOC["reasoning"]).items()}
    assert facts == {0: [HIGH, HEAVY], 1: [RIVER]}


def test_gold_facts_in_chinese_and_of_several_images() -> None:
    facts = gold_facts(["图片0 + 图片1 -> 甲比乙高", "图片1 + 图片1 -> 乙站着"])
    assert {k: stripped(v) for k, v in facts.items()} == {
        0: ["甲比乙高"],
        1: ["甲比乙高", "乙站着"],
    }


def test_an_image_with_several_facts_is_compared_with_each_and_all() -> None:
    query = plan_one("i0 > It is high.")
    assert isinstance(query, ImageQuery)
    assert query.conclusion == "It is high."
    *single, joined = query.facts
    assert stripped(single) == [HIGH, HEAVY]
    assert joined.split("; ") == single


def test_an_image_with_one_fact() -> None:
    query = plan_one("i1 > Water.")
    assert isinstance(query, ImageQuery)
    assert stripped(query.facts) == [RIVER]


def test_an_image_of_which_the_gold_reasoning_says_nothing() -> None:
    query = plan_one("i2 > Anything.")
    assert isinstance(query, FixedScore)
    assert query.score == 1.0
    assert "2" in query.reason


@table("index", 3, 4, 10**30)
def test_an_image_that_is_not_there(index: int) -> None:
    query = plan_one(f"i{index} > Anything.")
    assert isinstance(query, FixedScore)
    assert query == FixedScore(0.0, f"there is no image {index}; the instance has 3")


def test_no_gold_reasoning_at_all() -> None:
    (query,) = plan_steps(chain("i0 > A"), {**DOC, "reasoning": []})
    assert query == FixedScore(1.0, query.reason)  # type: ignore[union-attr]


PREMISES = [
    (("t0 > A",), [SAND]),
    (("t0 t1 > A",), [SAND, PASSES]),
    (("x > A",), [DOC["context"]]),
    (("x t1 > A",), [DOC["context"], PASSES]),
    (("i0 t1 > A",), [HIGH, HEAVY, PASSES]),  # an image stands for its known facts
    (("i0 i1 > A",), [HIGH, HEAVY, RIVER]),
    (("i2 t0 > A",), [SAND]),  # no facts are known about that image
    (("t0 > A", "c0 > B"), ["A"]),
    (("t0 > A", "t1 > B", "c1 c0 > C"), ["B", "A"]),
    (("t0 > A", "c0 c0 > B"), ["A"]),  # each text once
    # invalid references add nothing
    (("t7 t0 > A",), [SAND]),
    (("i9 t0 > A",), [SAND]),
    (("c5 t0 > A",), [SAND]),
    (("c0 t0 > A",), [SAND]),
    (("c9 > A",), []),
    (("t > A",), []),
    (("t t0 > A",), [SAND]),
]


@table("steps, expected", *PREMISES)
def test_premises(steps: tuple[str, ...], expected: list[str]) -> None:
    query = plan_one(*steps)
    assert isinstance(query, InferenceQuery)
    assert query.context == DOC["context"]
    assert query.conclusion == chain(*steps).steps[-1].conclusion
    assert stripped(query.premises) == expected


def test_the_second_question_adds_all_texts_and_earlier_conclusions() -> None:
    plan = plan_steps(chain("i1 > A", "x t0 > B", "i0 c1 > C", "c2 > D"), DOC)
    third = plan[2]
    assert isinstance(third, InferenceQuery)
    fallback = third.fallback_premises
    assert set(stripped(fallback)) == {HIGH, HEAVY, "B", SAND, PASSES, "A"}
    assert len(fallback) == 6  # each once
    assert stripped(fallback)[: len(third.premises)] == stripped(third.premises)
    assert not {"C", "D"} & set(fallback)


def test_fallback_premises_behave_as_a_sequence() -> None:
    query = plan_one("t0 > A", "c0 > B")
    assert isinstance(query, InferenceQuery)
    assert list(query.fallback_premises) == ["A", SAND, PASSES]
    assert query.fallback_premises[0] == "A"
    assert query.fallback_premises[1:] == (SAND, PASSES)
    assert query == plan_one("t0 > A", "c0 > B")
    assert query != plan_one("t1 > A", "t0 > X", "c0 > B")
    assert hash(query) == hash(plan_one("t0 > A", "c0 > B"))
    assert repr(query.fallback_premises) == repr(("A", SAND, PASSES))
    longer = plan_one("t0 > A", "t0 > X", "c0 > B")
    assert isinstance(longer, InferenceQuery)
    assert longer.premises == query.premises
    assert hash(longer.fallback_premises) != hash(query.fallback_premises)


def test_one_query_for_each_step_in_order() -> None:
    steps = chain("i0 > A", "i2 > B", "t0 > C", "i9 > D", "c0 > E")
    kinds = [type(query) for query in plan_steps(steps, DOC)]
    assert kinds == [ImageQuery, FixedScore, InferenceQuery, FixedScore, InferenceQuery]
    assert plan_steps(chain(), DOC) == []


@table(
    "first, second, score",
    (0.9, None, 0.9),
    (0.0, None, 0.0),
    (0.5, None, 0.5),
    (0.4, 0.0, 0.4),
    (0.4, 0.5, 0.4),  # 0.5 * 0.8 = 0.4
    (0.4, 0.6, 0.5),  # 0.48 -> 0.5
    (0.4, 0.7, 0.6),  # 0.56 -> 0.6
    (0.4, 0.8, 0.6),  # 0.64 -> 0.6
    (0.2, 0.9, 0.7),  # 0.72 -> 0.7
    (0.0, 1.0, 0.8),
    (0.0, 0.1, 0.1),  # 0.08 -> 0.1
    (0.45, 0.5, 0.45),  # the first answer is not rounded
)
def test_how_two_answers_combine(first: float, second: float | None, score: float) -> None:
    assert combine_answers(first, second) == pytest.approx(score, abs=1e-12)


def test_the_second_question_is_for_answers_below_one_half() -> None:
    assert SECOND_QUESTION_BELOW == 0.5

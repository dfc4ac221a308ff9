"""Questions to the judge, and how its answers are combined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import (
    FixedScore,
    Query,
    ReasoningChain,
    build_tree,
    combine_answers,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.clues import EVIDENCE
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW, UNSEEN
from tests.reasoning.short import chain, chain_of
from tests.reasoning.strategies import sound_chains
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


def test_an_image_is_compared_with_each_of_its_facts_and_all() -> None:
    query = plan_one("i0 > It is high.")
    assert (query.kind, query.conclusion) == ("image", "It is high.")
    *single, joined = query.rounds[0]
    assert stripped(single) == [HIGH, HEAVY]
    assert joined.split("; ") == single
    assert stripped(plan_one("i1 > Water.").rounds[0]) == [RIVER]


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
    ("t0 t1 > A", [SAND, PASSES]),
    ("x > A", [BRIDGE]),
    ("i0 t1 > A", [HIGH, HEAVY, PASSES]),  # an image stands for its known facts
    ("i2 t0 > A", [SAND]),  # no facts are known about that image
    ("t0 > A; c0 > B", ["A"]),
    ("t0 > A; t1 > B; c1 c0 > C", ["B", "A"]),
    ("t0 > A; c0 c0 > B", ["A"]),  # each text once
    # invalid references add nothing
    *((f"{invalid} t0 > A", [SAND]) for invalid in ("t7", "i9", "c5", "c0", "t")),
    ("c9 > A", []),
)
def test_premises(steps: str, expected: list[str]) -> None:
    query = plan_one(steps)
    assert isinstance(query, Query)
    assert (query.kind, query.context, query.conclusion) == ("inference", BRIDGE, steps[-1])
    assert stripped(query.rounds[0]) == expected


@table(
    "first, second, score",
    (0.9, None, 0.9), (0.0, None, 0.0), (0.5, None, 0.5),
    # 0.8 times the second answer, to one decimal, if that is more
    (0.4, 0.5, 0.4), (0.4, 0.7, 0.6), (0.2, 0.9, 0.7), (0.0, 1.0, 0.8), (0.0, 0.1, 0.1),
    (0.45, 0.5, 0.45),  # the first answer is not rounded
)  # fmt: skip
def test_how_two_answers_combine(first: float, second: float | None, score: float) -> None:
    assert SECOND_QUESTION_BELOW == 0.5
    assert combine_answers(first, second) == pytest.approx(score, abs=1e-12)


@table("steps, unseen", ("i0 > A; t0 > B; c0 > C", {0}), ("i0 i1 > A; i0 t0 > B; c0 > C", {0, 1}))
def test_claims_about_images_that_are_not_at_hand(steps: str, unseen: set[int]) -> None:
    """A log without its pictures: the model is not to blame."""
    doc = {**DOC, "visual_clue": [], "reasoning": [], "images_known": False}
    for evidence in EVIDENCE:
        plan = plan_steps(chain_of(steps), doc, evidence)
        assert {at for at, query in enumerate(plan) if query == UNSEEN} == unseen


# --- repair

CLUES = ("one", "two", "three")


def restates(conclusion: str, clue: str) -> bool:
    return conclusion == clue


# there are two images and the three CLUES
@table(
    "before, after",
    ("", ""),
    ("i0 > A; t0 > B; c0 c1 > C", "i0 > A; t0 > B; c0 c1 > C"),
    # an unnumbered premise becomes all of its kind; the context is kept
    ("i t0 > A", "i0 i1 t0 > A"),
    ("t0 > A; t1 > B; c > C; c > D", "t0 > A; t1 > B; c0 c1 > C; c0 c1 c2 > D"),
    # image-only steps of the same image are merged into the first, references follow
    ("i0 > A; i0 > B", "i0 > A;B"),
    ("i0 > A; i0 > B; t0 > C; c1 c2 > D", "i0 > A;B; t0 > C; c0 c1 > D"),
    # an image among other premises is replaced by its conclusion
    ("i0 > A; i0 t0 > B", "i0 > A; c0 t0 > B"),
    ("i0 > A; c0 i0 > B", "i0 > A; c0 c0 > B"),
    # a step that only restates its clue is dropped, references go to the clue
    ("t1 > two; c0 i0 > A", "t1 i0 > A"),
    ("t1 > two and more; c0 > A", "t1 > two and more; c0 > A"),
    ("t1 > two; t1 > two; c0 c1 > A", "t1 t1 > A"),
    # a step without premises is dropped
    ("> A; i0 > B; c1 > C", "i0 > B; c0 > C"),
    # cascades
    ("t1 > two; c0 > two; c1 i0 > A", "t1 i0 > A"),
    ("i0 > A; > B; i0 c1 > C; c2 > D", "i0 > A;C; c0 > D"),
    (
        "t0 > one; > A; i0 > B; i0 > C; t1 > D; c0 c1 c2 c3 c4 > E",
        "i0 > B;C; t1 > D; t0 c0 c0 c1 > E",
    ),
)
def test_rules(before: str, after: str) -> None:
    found = repair_chain(chain_of(before), CLUES, restates, n_images=2)
    assert found.steps == chain(*filter(None, after.split("; "))).steps


# hypothesis: a restatement is drawn for each conclusion
verdicts = st.functions(like=lambda conclusion, clue: True, returns=st.booleans(), pure=True)


@given(sound_chains(), verdicts)
def test_no_reference_that_led_somewhere_dangles_afterwards(drawn: ReasoningChain, says) -> None:
    repaired = repair_chain(drawn, CLUES, says, n_images=3)
    assert build_tree(repaired, 3, 3).invalid == ()
    assert all(step.premises for step in repaired.steps)
    assert len(repaired.steps) <= len(drawn.steps)

"""Trees and their score, with sums worked manually."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, build_tree, rpts_score
from lmms_rpts.reasoning.tree import DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT, step_weights
from tests.reasoning.short import chain, chain_of, clue
from tests.reasoning.strategies import any_chains, sound_chains
from tests.support.tables import table

# Step 1 is used by steps 2 and 3; step 4 is the root; step 0 is a stray remark.
SHARED = chain("i0 > stray", "i0 > A", "c1 t0 > B", "c1 t1 > C", "c2 c3 > D")


def tree(*steps: str):
    return build_tree(chain(*steps), n_images=1, n_texts=2)


def test_heights_parents_and_uses() -> None:
    shared = build_tree(SHARED, 1, 2)
    assert shared.chain is SHARED
    assert shared.heights == (1, 1, 2, 2, 3)
    assert shared.parents == ((), (2, 3), (4,), (4,), ())
    assert shared.uses == (0, 2, 1, 1, 1)
    assert shared.root == 4
    assert shared.invalid == ()


@table(
    "steps, heights, uses",
    ("", (), ()),
    ("i0 > A", (1,), (1,)),
    ("i0 > A; c0 > B; c1 > C", (1, 2, 3), (1, 1, 1)),
    ("i0 > A; c0 > B; t0 > C; c1 c2 > D", (1, 2, 1, 3), (1,) * 4),  # the highest premise counts
    ("> A; c0 > B", (1, 2), (1, 1)),  # no premise counts as height 0
    ("x > A; c0 x > B", (1, 2), (1, 1)),
    ("c5 > A; c0 > B", (1, 2), (1, 1)),  # an invalid reference is a leaf
    ("c1 > A; i0 > B", (1, 1), (0, 1)),  # so is a forward one
    ("i0 > A; c0 c0 > B; c1 c1 > C", (1, 2, 3), (4, 2, 1)),  # cited twice in one step
)
def test_heights_and_uses(steps: str, heights: tuple[int, ...], uses: tuple[int, ...]) -> None:
    found = build_tree(chain_of(steps), 1, 2)
    assert (found.heights, found.uses) == (heights, uses)
    assert found.root == (len(heights) - 1 if heights else None)


@table(
    "premise, reason",
    ("i1", "there is only 1 image, numbered from 0"),
    ("t2", "there are only 2 texts, numbered from 0"),
    ("i", "the image has no number"),
    ("t", "the text has no number"),
    ("c", "the conclusion has no number"),
    ("c9", "no step has this number"),
    ("c3", "no step has this number"),  # there are three: 0, 1 and 2
    ("c1", "the step cites itself"),
    ("c2", "the step comes later"),
)
def test_invalid_references_are_named(premise: str, reason: str) -> None:
    (fault,) = tree("i0 > A", f"{premise} t1 > B", "c0 c1 > C").invalid
    assert (fault.step, fault.clue, fault.reason) == (1, clue(premise), reason)
    (fault,) = build_tree(chain("i0 t0 > A"), 0, 1).invalid
    assert fault.reason == "there are no images"


@table("premise", "i0", "t0", "t1", "c0", "x")
def test_valid_references_are_not(premise: str) -> None:
    assert tree("i0 > A", f"{premise} > B").invalid == ()


# SHARED, unrolled: A (height 1) twice, B and C (height 2), D (height 3); the stray does not count.
SCORES = (0.3, 0.8, 0.6, 0.4, 1.0)


@table(
    "decay, focus, expected",
    # Weights 0.9 ** |1 - h|: 1, 1, 0.9, 0.9, 0.81.
    # (2 * 1 * 0.8 + 0.9 * 0.6 + 0.9 * 0.4 + 0.81 * 1.0) / (2 + 0.9 + 0.9 + 0.81)
    (0.9, 1, 3.31 / 4.61),
    # A 0.5 twice, B and C 1, D 0.5: (2 * 0.5 * 0.8 + 0.6 + 0.4 + 0.5) / (1 + 1 + 1 + 0.5)
    (0.5, 2, 2.3 / 3.5),
    (1.0, 7, 0.72),  # the plain mean over uses: (2 * 0.8 + 0.6 + 0.4 + 1.0) / 5
    # One height alone: A, then B and C, then D.
    (0.0, 1, 0.8), (0.0, 2, 0.5), (0.0, 3, 1.0),
    # No step has that height: the published code gives 1.
    (0.0, 4, 1.0), (0.0, 0, 1.0),
)  # fmt: skip
def test_scores_worked_by_hand(decay: float, focus: int, expected: float) -> None:
    assert rpts_score(build_tree(SHARED, 1, 2), SCORES, decay, focus) == pytest.approx(
        expected, abs=1e-12
    )


def test_the_defaults_are_the_published_ones() -> None:
    assert (DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT) == (0.9, 1)
    shared = build_tree(SHARED, 1, 2)
    assert rpts_score(shared, SCORES) == rpts_score(shared, SCORES, decay=0.9, focus_height=1)
    assert rpts_score(tree(), []) == 0.0


def test_shares_of_the_weight() -> None:
    shares = [0, 2 / 4.61, 0.9 / 4.61, 0.9 / 4.61, 0.81 / 4.61]
    assert step_weights(build_tree(SHARED, 1, 2)) == pytest.approx(shares)
    assert step_weights(tree("i0 > A"), decay=0.0, focus_height=5) == [0.0]


@table(
    "scores, decay, named",
    ([1.0], 0.9, "2 steps.*1 scores"),
    ([1.0, 1.0, 1.0], 0.9, "2 steps.*3 scores"),
    ([1.0, 1.5], 0.9, "step 1.*1.5"),
    ([-0.1, 1.0], 0.9, "step 0.*-0.1"),
    ([math.nan, 1.0], 0.9, "step 0.*nan"),
    ([1.0, math.inf], 0.9, "step 1.*inf"),
    ([1.0, 1.0], 1.1, "decay.*1.1"),
    ([1.0, 1.0], -0.1, "decay.*-0.1"),
    ([1.0, 1.0], math.nan, "decay.*nan"),
)
def test_what_is_out_of_range_is_refused(scores: list[float], decay: float, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        rpts_score(tree("i0 > A", "c0 > B"), scores, decay=decay)


def naive(drawn: ReasoningChain, scores: list[float], decay: float, focus: int) -> float:
    """The definition: walk the unrolled tree from the last step."""

    def height(at: int) -> int:
        below = [c.index for c in drawn.steps[at].premises if c.kind == "conclusion"]
        return 1 + max((height(k) for k in below if k is not None and k < at), default=0)

    def walk(at: int) -> tuple[float, float]:
        weight = decay ** abs(focus - height(at))
        total, weighted = weight, weight * scores[at]
        for c in drawn.steps[at].premises:
            if c.kind == "conclusion" and c.index is not None and c.index < at:
                more, more_weighted = walk(c.index)
                total, weighted = total + more, weighted + more_weighted
        return total, weighted

    total, weighted = walk(len(drawn.steps) - 1)
    return weighted / total


@st.composite
def scored(draw: st.DrawFn):
    drawn = draw(sound_chains(max_steps=6))
    count = len(drawn.steps)
    scores = draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    return drawn, scores, draw(st.floats(0.05, 1)), draw(st.integers(0, 8))


@given(scored())
def test_the_score_is_that_of_the_unrolled_tree(case) -> None:
    drawn, scores, decay, focus = case
    got = rpts_score(build_tree(drawn, 3, 3), scores, decay, focus)
    assert 0.0 <= got <= 1.0
    assert got == pytest.approx(naive(drawn, scores, decay, focus), abs=1e-12)


@given(any_chains, st.floats(0, 1), st.integers(0, 10), st.floats(0, 1))
def test_equal_scores_are_their_own_mean(
    drawn: ReasoningChain, decay: float, focus: int, score: float
) -> None:
    built = build_tree(drawn, 2, 2)
    count = len(drawn.steps)
    if not count:
        return
    assert rpts_score(built, [1.0] * count, decay, focus) == 1.0
    reached = decay > 0 or focus in {h for h, u in zip(built.heights, built.uses, strict=True) if u}
    if reached and (decay == 0 or decay > 1e-30):
        assert rpts_score(built, [0.0] * count, decay, focus) == 0.0
        assert rpts_score(built, [score] * count, decay, focus) == pytest.approx(score, abs=1e-12)


@given(st.lists(st.sampled_from([1.0, math.nextafter(1.0, 0.0)]), min_size=6, max_size=6))
def test_a_score_is_at_most_one_however_it_is_rounded(nearly: list[float]) -> None:
    built = tree("i0 > A", "c0 > B", "c1 c0 > C", "c2 t0 > D", "c3 c2 > E", "c4 > F")
    for decay in (0.1, 0.3, 0.7, 0.9, 1.0):
        assert 0.99 < rpts_score(built, nearly, decay) <= 1.0


@given(scored(), st.data())
def test_a_better_step_never_lowers_the_score(case, data: st.DataObject) -> None:
    drawn, scores, decay, focus = case
    at = data.draw(st.integers(0, len(scores) - 1))
    better = [*scores[:at], data.draw(st.floats(scores[at], 1)), *scores[at + 1 :]]
    built = build_tree(drawn, 3, 3)
    before, after = (rpts_score(built, each, decay, focus) for each in (scores, better))
    assert after >= before - 1e-12


@given(any_chains)
def test_any_chain_forms_a_tree(drawn: ReasoningChain) -> None:
    built = build_tree(drawn, 2, 2)
    count = len(drawn.steps)
    assert len(built.heights) == len(built.parents) == len(built.uses) == count
    assert all(height >= 1 for height in built.heights)
    for at, parents in enumerate(built.parents):
        assert all(parent > at for parent in parents)
        assert all(built.heights[parent] > built.heights[at] for parent in parents)
    if count:
        assert built.uses[-1] == 1
    leaves = {Clue("image", 0), Clue("text", 1), Clue("context")}
    assert not any(fault.clue in leaves for fault in built.invalid)

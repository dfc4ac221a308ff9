"""Trees and their score, with sums worked manually."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import ReasoningChain, build_tree, locate_error, modality, rpts_score
from lmms_rpts.reasoning.tree import limit_steps, step_weights
from tests.reasoning.short import chain, chain_of, step
from tests.reasoning.strategies import sound_chains
from tests.support.tables import table

# Step 1 is used by steps 2 and 3; step 4 is the root; step 0 is a stray remark.
SHARED = chain("i0 > stray", "i0 > A", "c1 t0 > B", "c1 t1 > C", "c2 c3 > D")


@table(
    "steps, heights, uses",
    ("", (), ()),
    ("i0 > A", (1,), (1,)),
    ("i0 > A; c0 > B; c1 > C", (1, 2, 3), (1, 1, 1)),
    ("i0 > A; c0 > B; t0 > C; c1 c2 > D", (1, 2, 1, 3), (1,) * 4),  # the highest premise counts
    ("> A; c0 > B", (1, 2), (1, 1)),  # no premise counts as height 0
    ("c5 > A; c0 > B", (1, 2), (1, 1)),  # an invalid reference is a leaf
    ("c1 > A; i0 > B", (1, 1), (0, 1)),  # so is a forward one
    ("i0 > A; c0 c0 > B; c1 c1 > C", (1, 2, 3), (4, 2, 1)),  # cited twice in one step
)
def test_heights_and_uses(steps: str, heights: tuple[int, ...], uses: tuple[int, ...]) -> None:
    found = build_tree(chain_of(steps), 1, 2)
    assert (found.heights, found.uses) == (heights, uses)


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


def test_shares_of_the_weight() -> None:
    shares = [0, 2 / 4.61, 0.9 / 4.61, 0.9 / 4.61, 0.81 / 4.61]
    assert step_weights(build_tree(SHARED, 1, 2)) == pytest.approx(shares)
    assert step_weights(build_tree(chain("i0 > A"), 1, 2), decay=0.0, focus_height=5) == [0.0]


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


# --- chains that are too long

# Step 1 is a stray remark; the root 5 cites 3 and 4, 3 cites 2, and 2 cites 0.
LONG = ("i0 > A", "t0 > stray", "c0 > B", "c2 t1 x > C", "i1 > D", "c3 c4 > E")


@table(
    "most, kept",  # a reference to a removed step gets a number beyond the last step
    (6, LONG),
    # the stray remark goes first, although an earlier step is older
    (5, ("i0 > A", "c0 > B", "c1 t1 x > C", "i1 > D", "c2 c3 > E")),
    (4, ("c6 > B", "c0 t1 x > C", "i1 > D", "c1 c2 > E")),  # then the earliest
    (1, ("c9 c10 > E",)),
)
def test_the_end_of_a_long_chain_is_kept(most: int, kept: tuple[str, ...]) -> None:
    cut, _ = limit_steps(chain(*LONG), most)
    assert cut == chain(*kept)


# --- the first wrong step

# 0 and 1 support 2; 3 is a stray remark; 4 cites 2; the root 5 cites 4 and 2.
STEPS = ("i0 > A", "t0 > B", "c0 c1 > C", "i1 > stray", "c2 t1 > D", "c4 c2 > E")


TREE = build_tree(chain(*STEPS), n_images=2, n_texts=2)


def scores(**wrong: float) -> list[float]:
    """Scores of all steps: right, except those passed, as in ``scores(s2=0.3)``."""
    return [wrong.get(f"s{at}", 1.0) for at in range(len(STEPS))]


@table(
    "wrong, at, height, kind, path",
    ({"s0": 0.3}, 0, 1, "visual", (0, 2, 5)),
    ({"s1": 0.0}, 1, 1, "textual", (1, 2, 5)),
    ({"s2": 0.4}, 2, 2, "inference", (2, 5)),
    ({"s1": 0.4, "s5": 0.0}, 1, 1, "textual", (1, 2, 5)),  # the first, not the worst
    ({"s3": 0.0, "s4": 0.2}, 4, 3, "inference", (4, 5)),  # the stray remark does not count
)
def test_the_first_wrong_step(
    wrong: dict[str, float], at: int, height: int, kind: str, path: tuple[int, ...]
) -> None:
    found = locate_error(TREE, scores(**wrong))
    assert found is not None
    assert (found.step, found.height, found.modality, found.path) == (at, height, kind, path)
    assert (found.score, found.invalid) == (wrong[f"s{at}"], ())


@table("wrong", {}, {"s3": 0.0}, {"s0": 0.5, "s5": 0.5}, {"s2": 0.6})
def test_no_error(wrong: dict[str, float]) -> None:
    assert locate_error(TREE, scores(**wrong)) is None
    assert locate_error(build_tree(chain(), 1, 1), []) is None


@table(
    "premises, kind",
    ("i0", "visual"), ("i", "visual"), ("t0", "textual"), ("x t0", "textual"), ("i0 t0", "mixed"),
    ("i0 x", "mixed"), ("c0 i0", "inference"),
)  # fmt: skip
def test_modality(premises: str, kind: str) -> None:
    assert modality(step(f"{premises} > A")) == kind

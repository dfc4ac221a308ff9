"""The first wrong step, and the steps that depend on it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import build_tree, locate_error, modality
from tests.reasoning.short import chain, clue, step
from tests.reasoning.strategies import sound_chains
from tests.support.tables import table

# 0 and 1 support 2; 3 is a stray remark; 4 cites 2; the root 5 cites 4 and 2.
STEPS = ("i0 > A", "t0 > B", "c0 c1 > C", "i1 > stray", "c2 t1 > D", "c4 c2 > E")
TREE = build_tree(chain(*STEPS), n_images=2, n_texts=2)
RIGHT = 1.0


def scores(**wrong: float) -> list[float]:
    """Scores of all steps: right, except those passed, as in ``scores(s2=0.3)``."""
    return [wrong.get(f"s{at}", RIGHT) for at in range(len(STEPS))]


@table(
    "wrong, at, height, kind, path",
    ({"s0": 0.3}, 0, 1, "visual", (0, 2, 5)),
    ({"s1": 0.0}, 1, 1, "textual", (1, 2, 5)),
    ({"s2": 0.4}, 2, 2, "inference", (2, 5)),
    ({"s4": 0.4}, 4, 3, "inference", (4, 5)),
    ({"s5": 0.49}, 5, 4, "inference", (5,)),
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


def test_the_threshold_can_be_given() -> None:
    found = locate_error(TREE, scores(s2=0.6), wrong_below=0.7)
    assert found is not None
    assert found.step == 2


def test_a_wrong_number_of_scores_is_refused() -> None:
    with pytest.raises(ValueError, match=r"argument|score"):
        locate_error(TREE, [1.0])


def test_invalid_references_of_the_wrong_step_are_named() -> None:
    broken = build_tree(chain("i7 > A", "c0 c9 t5 > B", "c1 > C"), n_images=1, n_texts=1)
    found = locate_error(broken, [1.0, 0.0, 0.0])
    assert found is not None
    assert [fault.clue for fault in found.invalid] == [clue("c9"), clue("t5")]
    assert {fault.step for fault in found.invalid} == {1}


@table(
    "premises, kind",
    ("i0", "visual"), ("i0 i1", "visual"), ("i", "visual"), ("t0", "textual"), ("t", "textual"),
    ("t0 t1", "textual"), ("x", "textual"), ("x t0", "textual"), ("i0 t0", "mixed"),
    ("i0 x", "mixed"), ("i0 t0 x", "mixed"), ("c0", "inference"), ("c0 i0", "inference"),
    ("c0 t0 i0 x", "inference"),
)  # fmt: skip
def test_modality(premises: str, kind: str) -> None:
    assert modality(step(f"{premises} > A")) == kind


@given(sound_chains(), st.data())
def test_the_path_leads_from_the_error_to_the_root(drawn, data: st.DataObject) -> None:
    built = build_tree(drawn, 3, 3)
    count = len(drawn.steps)
    judged = data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    found = locate_error(built, judged)
    wrong = [at for at in range(count) if built.uses[at] and judged[at] < 0.5]
    if found is None:
        assert not wrong
        return
    assert found.step == wrong[0] == found.path[0]
    assert found.path[-1] == built.root
    for below, above in zip(found.path, found.path[1:], strict=False):
        assert above in built.parents[below]

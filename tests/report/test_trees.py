"""Drawing of a tree: complete, without overlaps, errors marked."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import ReasoningChain, build_tree, locate_error, parse_chain
from lmms_rpts.report.layout import Sizes
from lmms_rpts.report.trees import TreePicture, draw_tree
from tests.reasoning.strategies import any_chains, sound_chains

SIZES = Sizes()


def draw(*lines: str, scores: list[float] | None = None) -> TreePicture:
    tree = build_tree(parse_chain(list(lines), "en"), 2, 2)
    if scores is None:
        return draw_tree(tree, [None] * len(lines))
    return draw_tree(tree, scores, locate_error(tree, scores))


def test_a_small_tree() -> None:
    picture = draw(
        "Image0 -> Conclusion0:it is raining",
        "Text0 -> Conclusion1:rain makes streets wet",
        "Conclusion0 + Conclusion1 -> Conclusion2:the street is wet",
    )
    first, second, root = picture.steps
    assert first.top == second.top > root.top
    # The root stands in the middle above its two premises.
    assert root.left == pytest.approx((first.left + second.left) / 2, abs=1)
    assert [leaf.label for leaf in picture.leaves] == ["Image 0", "Text 0"]
    assert [leaf.kind for leaf in picture.leaves] == ["image", "text"]
    for leaf, step in zip(picture.leaves, (first, second), strict=True):
        assert leaf.top > step.top
        assert leaf.left + SIZES.leaf / 2 == pytest.approx(step.left + SIZES.node / 2, abs=1)
    assert len(picture.lines) == 4
    assert picture.summary == "A tree of 3 steps, 2 high."


def test_an_error_is_marked_and_so_is_the_way_up() -> None:
    picture = draw(
        "Image0 -> Conclusion0:a",
        "Text0 -> Conclusion1:b",
        "Conclusion0 + Conclusion1 -> Conclusion2:c",
        scores=[0.2, 1.0, 0.9],
    )
    assert [step.mark for step in picture.steps] == ["first", "", "path"]
    assert [line.mark for line in picture.lines].count("path") == 1
    assert "first wrong step is Conclusion 0, at height 1" in picture.summary
    assert picture.summary.endswith("by Conclusion 0, Conclusion 2.")


def test_references_that_lead_nowhere_are_leaves_of_their_own() -> None:
    picture = draw("Image9 + Conclusion5 + Context -> Conclusion0:x")
    labels = {leaf.label: leaf.fault for leaf in picture.leaves}
    assert labels["Image 9"] == "there are only 2 of this kind, numbered from 0"
    assert labels["Conclusion 5"] == "no step has this number"
    assert labels["Context"] is None


def test_a_step_that_the_root_does_not_rest_on() -> None:
    picture = draw("Image0 -> Conclusion0:stray", "Image1 -> Conclusion1:root")
    assert [step.counts for step in picture.steps] == [False, True]


def test_more_leaves_than_can_be_shown() -> None:
    tree = build_tree(
        parse_chain([" + ".join(f"Text{at}" for at in range(20)) + " -> Conclusion0:x"], "en"),
        0,
        20,
    )
    picture = draw_tree(tree, [1.0])
    assert [leaf.label for leaf in picture.leaves][-1] == "and 15 more"
    assert len(picture.leaves) == 6


def test_no_step_at_all() -> None:
    picture = draw()
    assert (picture.width, picture.height, picture.steps) == (0, 0, ())
    assert picture.summary == "There are no steps."


def test_a_chain_in_which_all_rests_on_all() -> None:
    lines = [
        " + ".join(["Image0", *(f"Conclusion{below}" for below in range(at))])
        + f" -> Conclusion{at}:x"
        for at in range(64)
    ]
    picture = draw(*lines)
    assert len(picture.steps) == 64
    assert len(picture.lines) == 64 * 63 // 2 + 64


@given(st.one_of(any_chains, sound_chains()))
def test_all_is_there_and_nothing_overlaps(chain: ReasoningChain) -> None:
    tree = build_tree(chain, 2, 2)
    picture = draw_tree(tree, [None] * len(chain.steps))
    assert [step.step for step in picture.steps] == list(range(len(chain.steps)))
    boxes = [(step.top, step.left, SIZES.node, 104) for step in picture.steps]
    boxes += [(leaf.top, leaf.left, SIZES.leaf, 30) for leaf in picture.leaves]
    for (top, left, width, height), (
        other_top,
        other_left,
        other_width,
        other_height,
    ) in combinations(boxes, 2):
        apart = (
            top + height <= other_top
            or other_top + other_height <= top
            or left + width <= other_left
            or other_left + other_width <= left
        )
        assert apart
    for top, left, width, height in boxes:
        assert 0 <= left <= left + width <= picture.width + 1
        assert 0 <= top <= top + height <= picture.height
    for at, step in enumerate(picture.steps):
        for parent in tree.parents[at]:
            assert step.top > picture.steps[parent].top

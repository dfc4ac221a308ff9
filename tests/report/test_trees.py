"""Drawing of a tree: complete, without overlaps, errors marked."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import ReasoningChain, build_tree, locate_error, parse_chain
from lmms_rpts.report.layout import Sizes
from lmms_rpts.report.trees import LEAF, TreePicture, draw_tree
from tests.reasoning.strategies import any_chains, sound_chains

SIZES = Sizes()
Box = tuple[int, int, int, int]


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
    # The root is centred above its two premises.
    assert root.left == pytest.approx((first.left + second.left) / 2, abs=1)
    assert [leaf.label for leaf in picture.leaves] == ["Image 0", "Text 0"]
    assert [leaf.kind for leaf in picture.leaves] == ["image", "text"]
    for leaf, step in zip(picture.leaves, (first, second), strict=True):
        assert leaf.top > step.top
        assert leaf.left + leaf.width / 2 == pytest.approx(step.left + SIZES.node / 2, abs=1)
    assert len(picture.lines) == 4
    assert picture.summary == "A tree of 3 steps, height 2."


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
    assert picture.summary.endswith("to the root is Conclusion 0, Conclusion 2.")
    # The colour shows the step's own score, also if it depends on a wrong step.
    assert [step.score for step in picture.steps] == [0.2, 1.0, 0.9]
    assert [step.flags for step in picture.steps] == [("first wrong step",), (), ()]


def test_citations_of_what_does_not_exist_are_leaves_of_their_own() -> None:
    picture = draw("Image9 + Conclusion5 + Conclusion0 + Context -> Conclusion0:x")
    labels = {leaf.label: leaf.fault for leaf in picture.leaves}
    assert labels["Image 9"] == "there are only 2 images, numbered from 0"
    assert labels["Conclusion 5"] == "no step has this number"
    assert labels["Conclusion 0"] == "the step cites itself"
    assert labels["Context"] is None
    assert [leaf.name for leaf in picture.leaves] == [None, None, None, "context"]


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


def test_boxes_are_as_high_as_their_text_and_layers_as_their_highest_box() -> None:
    long = "The clock above the door of the shop shows that it is nine in the evening."
    picture = draw(
        f"Image0 -> Conclusion0:{long}",
        "Text0 -> Conclusion1:b",
        "Conclusion0 + Conclusion1 -> Conclusion2:c",
    )
    first, second, root = picture.steps
    assert len(first.lines) > len(second.lines) == 1
    assert "".join(first.lines) == long
    assert first.height - second.height == 15 * (len(first.lines) - 1)
    assert root.top + root.height < first.top == second.top
    leaf_tops = {leaf.top for leaf in picture.leaves}
    assert len(leaf_tops) == 1
    assert first.top + first.height < leaf_tops.pop()


def test_a_long_conclusion_is_cut() -> None:
    picture = draw("Image0 -> Conclusion0:" + "word " * 400)
    (step,) = picture.steps
    assert step.cut
    assert len(step.lines) == SIZES.lines
    assert step.lines[-1].endswith("…")
    assert step.conclusion == " ".join(["word"] * 400)


def test_citations_beyond_the_limit_are_counted() -> None:
    tree = build_tree(
        parse_chain(
            [
                " + ".join(["Image0", *(f"Conclusion{below}" for below in range(at))])
                + f" -> Conclusion{at}:x"
                for at in range(110)
            ],
            "en",
        ),
        1,
        0,
    )
    picture = draw_tree(tree, [1.0] * 110)
    assert len(picture.lines) == 5000
    assert f"{110 * 109 // 2 + 110 - 5000} citations are not drawn" in picture.summary


@given(st.one_of(any_chains, sound_chains()))
def test_all_is_there_and_nothing_overlaps(chain: ReasoningChain) -> None:
    tree = build_tree(chain, 2, 2)
    picture = draw_tree(tree, [None] * len(chain.steps))
    assert [step.step for step in picture.steps] == list(range(len(chain.steps)))
    boxes = [(step.top, step.left, SIZES.node, step.height) for step in picture.steps]
    boxes += [(leaf.top, leaf.left, leaf.width, LEAF) for leaf in picture.leaves]
    for one, other in combinations(boxes, 2):
        assert apart(one, other) or apart(other, one)
    for top, left, width, height in boxes:
        assert 0 <= left <= left + width <= picture.width
        assert 0 <= top <= top + height <= picture.height
    for at, step in enumerate(picture.steps):
        for parent in tree.parents[at]:
            above = picture.steps[parent]
            assert step.top > above.top + above.height
    for line in picture.lines:
        for x, y, to_x, to_y in line.curves:
            assert 0 <= min(x, to_x) <= max(x, to_x) <= picture.width
            assert line.end <= to_y < y <= picture.height


def apart(one: Box, other: Box) -> bool:
    """Whether ``one`` is above or to the left of ``other``; boxes: top, left, width, height."""
    return one[0] + one[3] <= other[0] or one[1] + one[2] <= other[1]

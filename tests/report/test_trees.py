"""The picture of a tree: complete, without overlaps, errors marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, Step, build_tree, locate_error, parse_chain
from lmms_rpts.report.layout import Sizes
from lmms_rpts.report.trees import TreePicture
from tests.reasoning.strategies import any_chains, sound_chains

NODE = Sizes().node


@dataclass(frozen=True)
class Box:
    """A drawn box: its place, its classes and its texts."""

    left: int
    top: int
    width: int
    height: int
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    title: str | None

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def draw(*lines: str, scores: list[float] | None = None) -> TreePicture:
    tree = build_tree(parse_chain(list(lines), "en"), 2, 2)
    if scores is None:
        return TreePicture(tree)
    return TreePicture(tree, scores, locate_error(tree, scores))


def all_on_all(count: int) -> list[str]:
    """Lines of a chain in which each step cites an image and all steps before it."""
    below = [["Image0", *(f"Conclusion{each}" for each in range(at))] for at in range(count)]
    return [f"{' + '.join(each)} -> Conclusion{at}:x" for at, each in enumerate(below)]


def boxes(picture: TreePicture, kind: str) -> list[Box]:
    """The drawn steps or leaves, in the order of the picture."""
    found = []
    for group in ElementTree.fromstring(f"<svg>{''.join(picture.elements())}</svg>"):
        kinds = group.get("class", "").split()
        rect = group.find("rect")
        if rect is not None and kinds[0] == kind:
            place = [int(rect.get(name, "")) for name in ("x", "y", "width", "height")]
            texts = tuple("".join(each.itertext()) for each in group.iter("text"))
            found.append(Box(*place, tuple(kinds[1:]), texts, group.findtext("title")))
    return found


def lines(picture: TreePicture) -> list[tuple[str, list[int], list[int]]]:
    """The drawn lines: class, numbers on the horizontal axis, numbers on the vertical axis."""
    found = []
    for group in ElementTree.fromstring(f"<svg>{''.join(picture.elements())}</svg>"):
        for line in re.findall(r"M[^M]+", group.get("d", "")):
            xs, ys = [], []
            for command, numbers in re.findall(r"([MVC])([\d ]+)", line):
                each = [int(number) for number in numbers.split()]
                ys += each if command == "V" else each[1::2]
                xs += [] if command == "V" else each[::2]
            found.append((group.get("class", ""), xs, ys))
    return found


def test_a_small_tree() -> None:
    picture = draw(
        "Image0 -> Conclusion0:it is raining",
        "Text0 -> Conclusion1:rain makes streets wet",
        "Conclusion0 + Conclusion1 -> Conclusion2:the street is wet",
    )
    first, second, root = boxes(picture, "step")
    assert first.top == second.top > root.top
    # The root is centred above its two premises.
    assert root.middle == pytest.approx((first.middle + second.middle) / 2, abs=1)
    leaves = boxes(picture, "leaf")
    assert [(leaf.texts, leaf.kinds) for leaf in leaves] == [
        (("Image 0",), ("image",)),
        (("Text 0",), ("text",)),
    ]
    for leaf, step in zip(leaves, (first, second), strict=True):
        assert leaf.top > step.top
        assert leaf.middle == pytest.approx(step.middle, abs=1)
    assert len(lines(picture)) == 4
    assert picture.summary == "A tree of 3 steps, height 2."


def test_an_error_is_marked_and_so_is_the_way_up() -> None:
    picture = draw(
        "Image0 -> Conclusion0:a",
        "Text0 -> Conclusion1:b",
        "Conclusion0 + Conclusion1 -> Conclusion2:c",
        scores=[0.2, 1.0, 0.9],
    )
    steps = boxes(picture, "step")
    # The colour shows the step's own score, also if it depends on a wrong step.
    assert [step.kinds for step in steps] == [("s2", "first"), ("s10",), ("s9",)]
    assert ["first wrong step " in step.texts for step in steps] == [True, False, False]
    assert [kind for kind, _, _ in lines(picture)].count("e path") == 1
    assert "first wrong step is Conclusion 0, at height 1" in picture.summary
    assert picture.summary.endswith("to the root is Conclusion 0, Conclusion 2.")


def test_citations_of_what_does_not_exist_are_leaves_of_their_own() -> None:
    picture = draw("Image9 + Conclusion5 + Conclusion0 + Context -> Conclusion0:x")
    assert {leaf.texts[0]: leaf.title for leaf in boxes(picture, "leaf")} == {
        "Image 9": "there are only 2 images, numbered from 0",
        "Conclusion 5": "no step has this number",
        "Conclusion 0": "the step cites itself",
        "Context": None,
    }


def test_a_step_that_the_root_does_not_rest_on() -> None:
    picture = draw("Image0 -> Conclusion0:stray", "Image1 -> Conclusion1:root")
    assert ["stray" in step.kinds for step in boxes(picture, "step")] == [True, False]


def test_more_leaves_than_can_be_shown() -> None:
    clues = tuple(Clue("text", at) for at in range(20))
    picture = TreePicture(build_tree(ReasoningChain((Step(clues, "x"),)), 0, 20), [1.0])
    assert [leaf.texts[0] for leaf in boxes(picture, "leaf")][-2:] == ["Text 4", "and 15 more"]


def test_no_step_at_all() -> None:
    picture = draw()
    assert (picture.width, picture.height, picture.steps) == (0, 0, 0)
    assert picture.summary == "There are no steps."


def test_boxes_are_as_high_as_their_text_and_layers_as_their_highest_box() -> None:
    long = "The clock above the door of the shop shows that it is nine in the evening."
    picture = draw(
        f"Image0 -> Conclusion0:{long}",
        "Text0 -> Conclusion1:b",
        "Conclusion0 + Conclusion1 -> Conclusion2:c",
    )
    first, second, root = boxes(picture, "step")
    said = first.texts[1:]
    assert "".join(said) == long
    assert len(said) > len(second.texts[1:]) == 1
    assert first.height - second.height == 15 * (len(said) - 1)
    assert root.top + root.height < first.top == second.top
    (leaf_top,) = {leaf.top for leaf in boxes(picture, "leaf")}
    assert first.top + first.height < leaf_top


def test_a_long_conclusion_is_cut_and_whole_in_its_title() -> None:
    (step,) = boxes(draw("Image0 -> Conclusion0:" + "word " * 400), "step")
    assert len(step.texts) == 1 + Sizes().lines
    assert step.texts[-1].endswith("…")
    assert step.title == "Conclusion 0: " + " ".join(["word"] * 400)


def test_citations_beyond_the_limit_are_counted() -> None:
    picture = draw(*all_on_all(110))
    assert len(lines(picture)) == 5000
    assert f"{110 * 109 // 2 + 110 - 5000} citations are not drawn" in picture.summary


@given(st.one_of(any_chains, sound_chains()))
def test_all_is_there_and_nothing_overlaps(chain: ReasoningChain) -> None:
    tree = build_tree(chain, 2, 2)
    picture = TreePicture(tree)
    steps, leaves = boxes(picture, "step"), boxes(picture, "leaf")
    assert [step.texts[0] for step in steps] == [
        f"Conclusion {at} " for at in range(len(chain.steps))
    ]
    for one, other in combinations([*steps, *leaves], 2):
        assert apart(one, other) or apart(other, one)
    for box in [*steps, *leaves]:
        assert 0 <= box.left <= box.left + box.width <= picture.width
        assert 0 <= box.top <= box.top + box.height <= picture.height
    for at, step in enumerate(steps):
        for parent in tree.parents[at]:
            assert step.top > steps[parent].top + steps[parent].height
    for _, xs, ys in lines(picture):
        assert 0 <= min(xs) <= max(xs) <= picture.width
        assert 0 <= min(ys) == ys[-1] <= max(ys) == ys[0] <= picture.height


def apart(one: Box, other: Box) -> bool:
    """Whether ``one`` is above or to the left of ``other``."""
    return one.top + one.height <= other.top or one.left + one.width <= other.left

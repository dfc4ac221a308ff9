"""The picture of a tree: laid out without overlaps, complete, marked, valid for any text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.reasoning import (
    Clue,
    ReasoningChain,
    ReasoningTree,
    Step,
    build_tree,
    locate_error,
    parse_chain,
)
from lmms_rpts.report.layout import LINES as MOST_LINES
from lmms_rpts.report.layout import NODE, Layout, lay_out
from lmms_rpts.report.trees import TreePicture, inline_svg
from lmms_rpts.report.wrapping import LONGEST, clean, width_of, wrap
from tests.reasoning.strategies import any_chains, sound_chains, texts
from tests.report.hostile import ATTACKS
from tests.support.growth import assert_linear, assert_linear_in_text
from tests.support.tables import table

GAP, LEAF = 14, 66.0
LINES = (
    "Image0 + Image9 -> Conclusion0:The clock shows nine.",
    "Conclusion0 + Text0 + Context -> Conclusion1:The shop is closed.",
)
SPLIT = (
    "Image0 -> Conclusion0:it is raining",
    "Text0 -> Conclusion1:rain makes streets wet",
    "Conclusion0 + Conclusion1 -> Conclusion2:the street is wet",
)


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
    error = None if scores is None else locate_error(tree, scores)
    return TreePicture(tree, scores or (), error)


def draw_text(text: str) -> TreePicture:
    step = Step((Clue("image", 0), Clue("text", None)), text)
    return TreePicture(build_tree(ReasoningChain((step,)), 1, 0), [0.25])


def groups(picture: TreePicture) -> ElementTree.Element:
    return ElementTree.fromstring(f"<svg>{''.join(picture.elements('x'))}</svg>")


def boxes(picture: TreePicture, kind: str) -> list[Box]:
    """The drawn steps or leaves, in the order of the picture."""
    found = []
    for group in groups(picture):
        kinds, rect = group.get("class", "").split(), group.find("rect")
        if rect is not None and kinds[0] == kind:
            place = [int(rect.get(name, "")) for name in ("x", "y", "width", "height")]
            words = tuple("".join(each.itertext()) for each in group.iter("text"))
            found.append(Box(*place, tuple(kinds[1:]), words, group.findtext("title")))
    return found


def lines_of(picture: TreePicture) -> list[tuple[str, list[int], list[int]]]:
    """The drawn lines: class, numbers on the horizontal axis, numbers on the vertical axis."""
    found = []
    for group in groups(picture):
        for line in re.findall(r"M[^M]+", group.get("d", "")):
            xs, ys = [], []
            for command, numbers in re.findall(r"([MVC])([\d ]+)", line):
                each = [int(number) for number in numbers.split()]
                ys += each if command == "V" else each[1::2]
                xs += [] if command == "V" else each[::2]
            found.append((group.get("class", ""), xs, ys))
    return found


# --- layout


def tree_of(*premises: str) -> ReasoningTree:
    """A tree of steps that cite these premises: ``c0 i1`` is Conclusion 0 and Image 1."""
    kinds: dict[str, Any] = {"c": "conclusion", "i": "image", "t": "text"}
    steps = (
        Step(tuple(Clue(kinds[each[0]], int(each[1:])) for each in line.split()), "x")
        for line in premises
    )
    return build_tree(ReasoningChain(tuple(steps)), 9, 9)


def laid_out(tree: ReasoningTree) -> Layout:
    earlier = lambda clue, at: clue.kind == "conclusion" and clue.index < at  # noqa: E731
    steps = enumerate(tree.chain.steps)
    counts = [sum(not earlier(clue, at) for clue in step.premises) for at, step in steps]
    return lay_out(tree, [[LEAF] * count for count in counts])


def chain_of(count: int, own: str = "i0") -> list[str]:
    """Premises of steps where step k cites step k - 1 and its own leaves."""
    return ["i0", *(f"c{at - 1} {own}" for at in range(1, count))]


@table(
    "premises",
    ["i0", "c0", "c1", "c2"],
    chain_of(9, "t1 t2 t3"),
    ["i0", "i1 c0", "c1 t0", "t1 c2 t2", "c3"],  # leaves on both sides
    ["i0", "c0 i1", "c1 c0", "c2 c0", "c3 c1 c0"],  # early steps are cited again
    chain_of(400),
)
def test_a_chain_is_straight_and_its_leaves_are_beside_it(premises: list[str]) -> None:
    tree = tree_of(*premises)
    found = laid_out(tree)
    assert max(found.centres) - min(found.centres) < 1
    for at, leaves in enumerate(found.leaves):
        if tree.heights[at] > 1:
            least = (NODE + LEAF) / 2 + GAP
            assert all(abs(leaf - found.centres[at]) >= least - 1 for leaf in leaves)


@table(
    "premises, parent, children",
    (["i0", "t0", "c0 c1"], 2, (0, 1)),
    (["i0", "t0", "i1", "c0 c1 c2"], 3, (0, 2)),
    (["i0", "t0", "c0 c1", "i1", "t1", "c3 c4", "c2 c5"], 6, (2, 5)),
    (["i0", "c0 i1", "c0 i2", "c1 c2"], 3, (1, 2)),  # a diamond
    (["i0", "c0 i1", "c0 i2", "c1 c2"], 0, (1, 2)),
)
def test_parents_are_centred(premises: list[str], parent: int, children: tuple[int, int]) -> None:
    centres = laid_out(tree_of(*premises)).centres
    middle = sum(centres[each] for each in children) / 2
    assert centres[parent] == pytest.approx(middle, abs=1)


def crossings(layout: Layout) -> int:
    """The number of crossing lines, without those to leaves; compares all pairs."""
    parts = [
        (low, x, to_x) for _, _, places in layout.edges for (low, x), (_, to_x) in pairwise(places)
    ]
    return sum(
        one[0] == other[0] and (one[1] - other[1]) * (one[2] - other[2]) < 0
        for one, other in combinations(parts, 2)
    )


@st.composite
def strict_trees(draw: st.DrawFn) -> list[str]:
    """Premises of a tree in which each step but the last is cited once."""
    count = draw(st.integers(1, 14))
    free: list[int] = []
    lines = []
    for at in range(count):
        taken = free if at == count - 1 else [each for each in free if draw(st.booleans())]
        free = [each for each in free if each not in taken] + [at]
        lines.append(" ".join([*(f"c{each}" for each in taken), "i0"]))
    return lines


@given(strict_trees())
def test_lines_of_a_strict_tree_do_not_cross(premises: list[str]) -> None:
    assert crossings(laid_out(tree_of(*premises))) == 0


def test_layouts_of_other_trees() -> None:
    apart = laid_out(tree_of("i0", "i1", "c0")).centres
    assert abs(apart[1] - apart[0]) == pytest.approx(NODE + GAP)
    # Both upper steps cite both lower ones: one crossing is the least.
    assert crossings(laid_out(tree_of("i0", "i1", "c0 c1", "c0 c1", "c2 c3"))) == 1
    assert laid_out(build_tree(parse_chain([], "en"), 0, 0)) == Layout((), (), (), 0.0)


@table("shape", "chain", "star", "again")
def test_work_grows_no_faster_than_the_tree(shape: str) -> None:
    def make(count: int) -> ReasoningTree:
        if shape == "chain":
            return tree_of(*chain_of(count))
        if shape == "star":
            return tree_of(*["i0"] * count, " ".join(f"c{at}" for at in range(count)))
        earlier = ([f"c{each}" for each in range(max(0, at - 3), at)] for at in range(count))
        return tree_of(*(" ".join(["i0", *each]) for each in earlier))

    assert_linear(lambda tree: inline_svg(TreePicture(tree), "a"), make, 20)


# --- pictures


def test_a_small_tree() -> None:
    picture = draw(*SPLIT)
    first, second, root = boxes(picture, "step")
    assert first.top == second.top > root.top
    assert root.middle == pytest.approx((first.middle + second.middle) / 2, abs=1)
    leaves = boxes(picture, "leaf")
    shown = [(leaf.texts, leaf.kinds) for leaf in leaves]
    assert shown == [(("Image 0",), ("image",)), (("Text 0",), ("text",))]
    for leaf, step in zip(leaves, (first, second), strict=True):
        assert leaf.top > step.top
        assert leaf.middle == pytest.approx(step.middle, abs=1)
    assert len(lines_of(picture)) == 4
    assert picture.summary == "A tree of 3 steps, height 2."


def test_an_error_is_marked_and_so_is_the_way_up() -> None:
    picture = draw(*SPLIT, scores=[0.2, 1.0, 0.9])
    steps = boxes(picture, "step")
    # The colour shows the step's own score, also if it depends on a wrong step.
    assert [step.kinds for step in steps] == [("s2", "first"), ("s10",), ("s9",)]
    assert ["first wrong step " in step.texts for step in steps] == [True, False, False]
    assert [kind for kind, _, _ in lines_of(picture)].count("e path") == 1
    assert "first wrong step is Conclusion 0, at height 1" in picture.summary
    assert picture.summary.endswith("to the root is Conclusion 0, Conclusion 2.")


def test_citations_of_what_does_not_exist_and_other_oddities() -> None:
    picture = draw("Image9 + Conclusion5 + Conclusion0 + Context -> Conclusion0:x")
    assert {leaf.texts[0]: leaf.title for leaf in boxes(picture, "leaf")} == {
        "Image 9": "there are only 2 images, numbered from 0",
        "Conclusion 5": "no step has this number",
        "Conclusion 0": "the step cites itself",
        "Context": None,
    }
    stray = draw("Image0 -> Conclusion0:stray", "Image1 -> Conclusion1:root")
    assert ["stray" in step.kinds for step in boxes(stray, "step")] == [True, False]
    clues = tuple(Clue("text", at) for at in range(20))
    picture = TreePicture(build_tree(ReasoningChain((Step(clues, "x"),)), 0, 20), [1.0])
    assert [leaf.texts[0] for leaf in boxes(picture, "leaf")][-2:] == ["Text 4", "and 15 more"]
    none = draw()
    assert (none.width, none.height, none.steps) == (0, 0, 0)
    assert none.summary == "There are no steps."
    below = [["Image0", *(f"Conclusion{each}" for each in range(at))] for at in range(110)]
    every = draw(*(f"{' + '.join(each)} -> Conclusion{at}:x" for at, each in enumerate(below)))
    assert len(lines_of(every)) == 5000
    assert f"{110 * 109 // 2 + 110 - 5000} citations are not drawn" in every.summary
    assert len(inline_svg(every, "a")) < 500_000


def test_boxes_are_as_high_as_their_text_and_layers_as_their_highest_box() -> None:
    long = "The clock above the door of the shop shows that it is nine in the evening."
    picture = draw(f"Image0 -> Conclusion0:{long}", *SPLIT[1:])
    first, second, root = boxes(picture, "step")
    said = first.texts[1:]
    assert "".join(said) == long
    lines = len(said) - len(second.texts[1:])
    assert first.height - second.height == 15 * lines > 0
    assert root.top + root.height < first.top == second.top
    (leaf_top,) = {leaf.top for leaf in boxes(picture, "leaf")}
    assert first.top + first.height < leaf_top
    (step,) = boxes(draw("Image0 -> Conclusion0:" + "word " * 400), "step")
    assert len(step.texts) == 1 + MOST_LINES
    assert step.texts[-1].endswith("…")
    assert step.title == "Conclusion 0: " + " ".join(["word"] * 400)
    assert len(inline_svg(draw_text("x" * 10**6), "a")) < 10_000


def apart(one: Box, other: Box) -> bool:
    """Whether ``one`` is above or to the left of ``other``."""
    return one.top + one.height <= other.top or one.left + one.width <= other.left


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
    for _, xs, ys in lines_of(picture):
        assert 0 <= min(xs) <= max(xs) <= picture.width
        assert 0 <= min(ys) == ys[-1] <= max(ys) == ys[0] <= picture.height


# --- pages


def test_steps_are_links_and_leaves_are_focused() -> None:
    drawn = inline_svg(draw(*LINES), "here")
    assert re.findall(r'href="([^"]+)"', drawn) == ["#here-s0", "#here-s1"]
    assert re.findall(r'data-leaf="([^"]+)"', drawn) == ["image:0", "text:0", "context"]
    assert drawn.count('tabindex="0"') == 4
    assert 'aria-label="Image 9, which does not exist"' in drawn
    assert 'class="tree-svg plain"' in drawn
    assert "first wrong step is Conclusion 0" in draw(*LINES, scores=[0.2, 0.9]).summary


@table("text", *ATTACKS)
def test_hostile_texts_are_texts(text: str) -> None:
    svg = ElementTree.fromstring(inline_svg(draw_text(text), "a"))
    assert {each.tag for each in svg.iter()} <= {"svg", "title", "rect", "g", "a", "path", "text"}
    assert not any(name.startswith("on") for each in svg.iter() for name in each.attrib)


@settings(max_examples=60)
@given(st.text(st.characters(), max_size=400) | texts)
def test_any_text_is_valid_xml(text: str) -> None:
    ElementTree.fromstring(inline_svg(draw_text(text), "a"))


# --- wrapping


@table(
    "text, width, lines",
    ("", 62, ()),
    ("The clock shows nine", 62, ("The clock ", "shows nine")),
    ("anticonstitutionnellement", 62, ("anticonstituti", "onnellement")),
    ("very-well-known", 62, ("very-well-", "known")),
    ("钟指向九点", 42, ("钟指向九", "点")),
    ("钟指向九。点", 42, ("钟指向", "九。点")),  # no line begins with a full stop
    ("钟指向「九点", 42, ("钟指向", "「九点")),  # nor ends with an opening bracket
    ("e\u0301" * 9, 62, ("e\u0301" * 9,)),
    ("e\u0301" * 3, 6, ("e\u0301",) * 3),
)
def test_lines(text: str, width: int, lines: tuple[str, ...]) -> None:
    assert wrap(text, width, 10, 9).lines == lines


@given(st.text(max_size=300), st.integers(20, 200), st.integers(1, 6))
def test_lines_of_any_text(text: str, width: int, most: int) -> None:
    shown = clean(text)
    found = wrap(shown, width, 10, most)
    assert len(found.lines) <= most
    joined = "".join(found.lines)
    assert found.cut == (joined != shown)
    assert shown.startswith(joined[:-1].rstrip()) if found.cut else joined == shown
    for line in found.lines:
        letters = [each for each in line.rstrip() if width_of(each, 10)]
        assert width_of(line.rstrip(), 10) <= width + 1e-6 or len(letters) <= 7


@given(st.text(st.characters(), max_size=200))
def test_a_clean_text_is_valid_in_xml(text: str) -> None:
    shown = clean(text)
    element = ElementTree.Element("a")
    element.text = shown
    assert (ElementTree.fromstring(ElementTree.tostring(element)).text or "") == shown
    assert clean(shown) == shown
    assert not any(unicodedata.category(each) in ("Cc", "Cs") for each in shown)


@table(
    "text, shown",
    ("  two\n lines\t", "two lines"),
    ("nul\x00 bell\x07", "nul� bell�"),
    ("\ud800 \ufffe\uffff\ufdd0", "� ���"),
    ("a\u202eb\u2066c\u2069", "a�b�c�"),  # overrides of the text direction
    ("x" * LONGEST, "x" * LONGEST),
    ("word " * 10**6, ("word " * LONGEST)[: LONGEST - 1] + "…"),
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_widths_are_those_of_the_font() -> None:
    """Estimates are at least the width of English text in Liberation Sans, and 25% more at most."""
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib import font_manager, textpath

    names = {each.name for each in font_manager.fontManager.ttflist}
    if "Liberation Sans" not in names:
        pytest.skip(f"Liberation Sans is not installed (matplotlib {matplotlib.__version__})")
    text = "The shop closes at eight, so nobody is there; 12 of 34 (WAMIT) are open."
    for weight in ("normal", "bold"):
        font = font_manager.FontProperties(family="Liberation Sans", weight=weight)
        real = textpath.TextPath((0, 0), text, size=12, prop=font).get_extents().width
        assert real <= width_of(text, 12, weight == "bold") <= 1.25 * real


@table("part", "word ", "x", "钟", "e\u0301", " ", "👩\u200d", "。")
def test_long_texts_take_no_longer_than_their_length(part: str) -> None:
    text = part * (100_000 // len(part))
    assert_linear_in_text(lambda given: wrap(clean(given, 10**6), 170, 12, 10**6), text)

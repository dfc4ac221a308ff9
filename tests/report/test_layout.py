"""The layout of a tree: straight chains, centred parents, few crossings, bounded work."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, ReasoningTree, Step, build_tree, parse_chain
from lmms_rpts.report.layout import Layout, Sizes, lay_out
from tests.support.growth import assert_linear
from tests.support.tables import table

SIZES = Sizes()
LEAF = 66.0


def tree_of(*premises: str) -> ReasoningTree:
    """A tree of steps that cite these premises: ``c0 i1`` is Conclusion 0 and Image 1."""
    kinds = {"c": "conclusion", "i": "image", "t": "text"}
    steps = tuple(
        Step(tuple(Clue(kinds[each[0]], int(each[1:])) for each in line.split()), "x")  # type: ignore[arg-type]
        for line in premises
    )
    return build_tree(ReasoningChain(steps), 9, 9)


def laid_out(tree: ReasoningTree) -> Layout:
    return lay_out(tree, [[LEAF] * leaves_of(tree, at) for at in range(len(tree.heights))])


def leaves_of(tree: ReasoningTree, at: int) -> int:
    clues = tree.chain.steps[at].premises
    return sum(not (c.kind == "conclusion" and c.index is not None and c.index < at) for c in clues)


def chain_of(count: int, own: str = "i0") -> list[str]:
    """Premises of steps where step k cites step k - 1 and its own leaves."""
    return ["i0", *(f"c{at - 1} {own}" for at in range(1, count))]


@table(
    "premises",
    ["i0", "c0", "c1", "c2"],
    chain_of(9),
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
            least = (SIZES.node + LEAF) / 2 + SIZES.gap
            assert all(abs(leaf - found.centres[at]) >= least - 1 for leaf in leaves)


@table(
    "premises, parent, children",
    (["i0", "t0", "c0 c1"], 2, (0, 1)),
    (["i0", "t0", "i1", "c0 c1 c2"], 3, (0, 2)),
    (["i0", "t0", "c0 c1", "i1", "t1", "c3 c4", "c2 c5"], 6, (2, 5)),
    (["i0", "t0", "c0 c1", "i1", "t1", "c3 c4", "c2 c5"], 5, (3, 4)),
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
        a[0] == b[0] and (a[1] - b[1]) * (a[2] - b[2]) < 0
        for at, a in enumerate(parts)
        for b in parts[:at]
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


def test_parts_that_are_not_connected_are_close() -> None:
    found = laid_out(tree_of("i0", "i1", "c0"))
    apart = abs(found.centres[1] - found.centres[0])
    assert apart == pytest.approx(SIZES.node + SIZES.gap)


def test_a_small_example_with_one_crossing() -> None:
    # Both upper steps cite both lower ones: one crossing is the least.
    assert crossings(laid_out(tree_of("i0", "i1", "c0 c1", "c0 c1", "c2 c3"))) == 1


@table("shape", "chain", "star", "again")
def test_work_grows_no_faster_than_the_tree(shape: str) -> None:
    def make(count: int) -> ReasoningTree:
        if shape == "chain":
            return tree_of(*chain_of(count))
        if shape == "star":
            return tree_of(*["i0"] * count, " ".join(f"c{at}" for at in range(count)))
        return tree_of(
            *(
                " ".join(["i0", *(f"c{b}" for b in range(max(0, at - 3), at))])
                for at in range(count)
            )
        )

    assert_linear(laid_out, make, 20)


def test_a_parsed_chain_and_a_tree_without_steps() -> None:
    assert laid_out(build_tree(parse_chain([], "en"), 0, 0)) == Layout((), (), (), 0.0)

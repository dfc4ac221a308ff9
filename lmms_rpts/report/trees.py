"""SVG picture of a reasoning tree: boxes for steps and leaves, lines for citations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lmms_rpts.analysis.differences import clue_label, idle_steps
from lmms_rpts.filters.record import FirstError, RptsRecord
from lmms_rpts.reasoning import Clue, ReasoningTree
from lmms_rpts.report.layout import Layout, Sizes, lay_out

_SIZES = Sizes()
_NODE, _LEAF, _BETWEEN, _FROM_TOP = 104, 30, 40, 16
_MOST_LEAVES = 6


@dataclass(frozen=True, slots=True)
class LeafBox:
    """A clue that a step cites. ``fault``: why it is none; ``kind`` is ``more`` for the rest."""

    left: float
    top: float
    kind: str
    label: str
    fault: str | None


@dataclass(frozen=True, slots=True)
class StepBox:
    """A step.

    ``mark``: first (the first wrong step), path (it rests on that one), or empty. ``restates``: it
    says nothing new.
    """

    left: float
    top: float
    step: int
    conclusion: str
    score: float | None
    counts: bool
    mark: str
    restates: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line, as the ``d`` of an SVG path; ``mark``: path where an error passes along it."""

    path: str
    mark: str


@dataclass(frozen=True, slots=True)
class TreePicture:
    """All that the template draws; measures are CSS pixels. ``summary`` says it in words."""

    width: int
    height: int
    steps: tuple[StepBox, ...]
    leaves: tuple[LeafBox, ...]
    lines: tuple[Line, ...]
    summary: str


def draw_response(response: RptsRecord) -> TreePicture:
    """The tree of a scored response."""
    scores = [step.score for step in response.steps]
    return draw_tree(response.tree(), scores, response.first_error, idle_steps(response))


def draw_tree(
    tree: ReasoningTree,
    scores: Sequence[float | None],
    error: FirstError | None = None,
    idle: Collection[int] = (),
) -> TreePicture:
    """A tree with one score (None: there is none) for each step; ``idle`` ones only restate."""
    faults = {(fault.step, fault.clue): fault.reason for fault in tree.invalid}
    clues = [_leaves(tree, at) for at in range(len(tree.heights))]
    layout = lay_out(tree, [min(len(each), _MOST_LEAVES) for each in clues], _SIZES)
    tops = _tops(max(tree.heights, default=0))
    path = error.path if error else ()
    steps = tuple(
        StepBox(
            left=round(layout.centres[at] - _SIZES.node / 2, 1),
            top=tops[tree.heights[at]],
            step=at,
            conclusion=step.conclusion,
            score=scores[at],
            counts=tree.uses[at] > 0,
            mark="first" if error and at == error.step else "path" if at in path else "",
            restates=at in idle,
        )
        for at, step in enumerate(tree.chain.steps)
    )
    leaves = tuple(
        LeafBox(
            round(centre - _SIZES.leaf / 2, 1),
            tops[tree.heights[at] - 1],
            *_leaf(clues[at], place, faults, at),
        )
        for at, centres in enumerate(layout.leaves)
        for place, centre in enumerate(centres)
    )
    return TreePicture(
        width=round(layout.width),
        height=tops[0] + _LEAF if steps else 0,
        steps=steps,
        leaves=leaves,
        lines=(*_citations(layout, tops, path), *_stems(layout, tree, tops)),
        summary=_summary(tree, error),
    )


def _leaves(tree: ReasoningTree, at: int) -> list[Clue]:
    """What a step cites beside earlier conclusions, references that lead nowhere included."""
    return [
        clue
        for clue in tree.chain.steps[at].premises
        if not (clue.kind == "conclusion" and clue.index is not None and clue.index < at)
    ]


def _leaf(
    clues: Sequence[Clue], place: int, faults: dict[tuple[int, Clue], str], at: int
) -> tuple[str, str, str | None]:
    if place == _MOST_LEAVES - 1 and len(clues) > _MOST_LEAVES:
        return "more", f"and {len(clues) - place} more", None
    clue = clues[place]
    return clue.kind, clue_label(clue), faults.get((at, clue))


def _tops(highest: int) -> list[int]:
    """The upper edge of each layer, by its number; the root's is at the top."""
    return [_FROM_TOP + (highest - layer) * (_NODE + _BETWEEN) for layer in range(highest + 1)]


def _citations(layout: Layout, tops: Sequence[int], path: Sequence[int]) -> list[Line]:
    errors = set(pairwise(path))
    lines = []
    for child, at, places in layout.edges:
        d = ""
        for (low, x), (high, to_x) in pairwise(places):
            y, until = float(tops[low]), float(tops[high] + _NODE)
            d += f"{'L' if d else 'M'}{x:.1f} {y:.1f}{_curve(x, y, to_x, until)}"
        lines.append(Line(d, "path" if (child, at) in errors else ""))
    return lines


def _stems(layout: Layout, tree: ReasoningTree, tops: Sequence[int]) -> list[Line]:
    lines = []
    for at, centres in enumerate(layout.leaves):
        y, until = tops[tree.heights[at] - 1], tops[tree.heights[at]] + _NODE
        for x in centres:
            lines.append(Line(f"M{x:.1f} {y}{_curve(x, y, layout.centres[at], until)}", ""))
    return lines


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (y + to_y) / 2
    return f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"


def _summary(tree: ReasoningTree, error: FirstError | None) -> str:
    count = len(tree.heights)
    if not count:
        return "There are no steps."
    told = f"A tree of {count} step{'s' * (count > 1)}, {max(tree.heights)} high."
    if error:
        told += (
            f" The first wrong step is Conclusion {error.step}, at height {error.height}; "
            f"from there it leads to the root by {_listed(error.path)}."
            if len(error.path) > 1
            else f" The first wrong step is the last, Conclusion {error.step}."
        )
    return told


def _listed(path: Sequence[int]) -> str:
    return ", ".join(f"Conclusion {at}" for at in path)

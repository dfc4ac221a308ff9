"""Picture of a reasoning tree: boxes for steps and leaves, lines for citations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lmms_rpts.analysis.differences import clue_label, idle_steps
from lmms_rpts.filters.record import FirstError, RptsInstance, RptsRecord
from lmms_rpts.reasoning import Clue, ReasoningTree, build_tree, parse_chain
from lmms_rpts.report.layout import Layout, Sizes, lay_out
from lmms_rpts.report.scores import figure
from lmms_rpts.report.wrapping import Wrapped, clean, is_rightward, width_of, wrap

TEXT, LINE, PADDING = 12, 15, 9
"""Font size, line height, and space at the sides of a box, in pixels."""
LEAF = 26
"""Height of a leaf."""
_HEAD, _FLAGS, _FOOT = 24, 20, 8
_BETWEEN, _MARGIN = 38, 4
_MOST_LEAVES, _MOST_DRAWN = 6, 5000
_LEAST_LEAF = 66
_EMPTY = "(empty)"


@dataclass(frozen=True, slots=True)
class LeafBox:
    """A clue that a step cites.

    Attributes:
        left, top, width: of the box, in pixels.
        step: the step that cites it.
        kind: kind of the clue; ``more`` for the leaves that are not drawn one by one.
        label: its text.
        name: name of a clue that exists, for scripts: ``image:0``; else None.
        fault: why the clue does not exist; None if it does.
    """

    left: int
    top: int
    width: int
    step: int
    kind: str
    label: str
    name: str | None
    fault: str | None


@dataclass(frozen=True, slots=True)
class StepBox:
    """A step.

    Attributes:
        left, top, height: of the box, in pixels.
        step: its number.
        lines: its conclusion as drawn; ``cut``: whether it is truncated.
        rightward: whether the lines are read from left to right.
        conclusion: the whole conclusion, up to ``wrapping.LONGEST`` characters.
        score: its score; the colour shows nothing else.
        counts: whether the root depends on it.
        mark: ``first`` for the first wrong step, ``path`` for the steps from there to the root.
        restates: whether it only restates.
    """

    left: int
    top: int
    height: int
    step: int
    lines: tuple[str, ...]
    cut: bool
    rightward: bool
    conclusion: str
    score: float | None
    counts: bool
    mark: str
    restates: bool

    @property
    def head(self) -> str:
        """The name of the step."""
        return f"Conclusion {self.step}"

    @property
    def score_text(self) -> str:
        """The score as it is drawn; empty without one."""
        return "" if self.score is None else figure(self.score)

    @property
    def flags(self) -> tuple[str, ...]:
        """The labels below the name."""
        wrong, idle = self.mark == "first", self.restates
        return ("first wrong step",) * wrong + ("restates",) * idle

    @property
    def first_baseline(self) -> int:
        """The baseline of the first line of the conclusion."""
        return self.top + _HEAD + _FLAGS * bool(self.flags) + TEXT - 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line upwards: curves, joined by vertical parts within the layers that it passes.

    ``curves``: (x, y, to x, to y) of each curve. ``mark``: ``path`` if the line is on the path of
    the first error, ``stray`` if the citing step does not count.
    """

    curves: tuple[tuple[int, int, int, int], ...]
    end: int
    mark: str


@dataclass(frozen=True, slots=True)
class TreePicture:
    """A drawn tree, in CSS pixels; ``summary`` describes it in words."""

    width: int
    height: int
    node: int
    steps: tuple[StepBox, ...]
    leaves: tuple[LeafBox, ...]
    lines: tuple[Line, ...]
    summary: str

    @property
    def scored(self) -> bool:
        """Whether any step has a score; a gold tree has none."""
        return any(step.score is not None for step in self.steps)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf without its place; see ``LeafBox``."""

    kind: str
    label: str
    name: str | None
    fault: str | None

    @property
    def width(self) -> int:
        return max(_LEAST_LEAF, round(width_of(self.label, TEXT, bold=True)) + 2 * PADDING)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The upper edge of each layer, by its number, and the height of its highest box."""

    tops: tuple[int, ...]
    heights: tuple[int, ...]

    def bottom(self, layer: int) -> int:
        return self.tops[layer] + self.heights[layer]


def draw_response(response: RptsRecord, sizes: Sizes | None = None) -> TreePicture:
    """The tree of a scored response."""
    scores = [step.score for step in response.steps]
    return draw_tree(response.tree(), scores, response.first_error, idle_steps(response), sizes)


def gold_tree(instance: RptsInstance) -> ReasoningTree:
    """The gold reasoning of an instance, as far as it can be parsed."""
    chain = parse_chain(list(instance.reasoning), instance.language)
    return build_tree(chain, len(instance.visual_clue), len(instance.textual_clue))


def draw_gold(instance: RptsInstance, sizes: Sizes | None = None) -> TreePicture:
    """The gold reasoning of an instance; its steps have no scores."""
    tree = gold_tree(instance)
    return draw_tree(tree, [None] * len(tree.heights), sizes=sizes)


def draw_tree(
    tree: ReasoningTree,
    scores: Sequence[float | None],
    error: FirstError | None = None,
    idle: Collection[int] = (),
    sizes: Sizes | None = None,
) -> TreePicture:
    """A tree with one score for each step (None: no score); ``idle``: steps that only restate."""
    sizes = sizes or Sizes()
    leaves = _leaves(tree)
    layout = lay_out(tree, [[leaf.width for leaf in each] for each in leaves], sizes)
    texts = [clean(step.conclusion) or _EMPTY for step in tree.chain.steps]
    wrapped = [wrap(text, sizes.node - 2 * PADDING, TEXT, sizes.lines) for text in texts]
    path = error.path if error else ()
    marks = ["path" if at in path else "" for at in range(len(texts))]
    if error:
        marks[error.step] = "first"
    heights = [
        _box_height(each, mark == "first" or at in idle)
        for at, (each, mark) in enumerate(zip(wrapped, marks, strict=True))
    ]
    rows = _rows(tree, heights)
    steps = tuple(
        StepBox(
            left=round(layout.centres[at] - sizes.node / 2) + _MARGIN,
            top=rows.tops[tree.heights[at]],
            height=heights[at],
            step=at,
            lines=wrapped[at].lines,
            cut=wrapped[at].cut,
            rightward=is_rightward(text),
            conclusion=text,
            score=scores[at],
            counts=tree.uses[at] > 0,
            mark=marks[at],
            restates=at in idle,
        )
        for at, text in enumerate(texts)
    )
    lines = [*_citations(layout, tree, rows, steps, path), *_stems(layout, tree, rows, steps)]
    return TreePicture(
        width=round(layout.width) + 2 * _MARGIN if steps else 0,
        height=rows.bottom(0) + _MARGIN if steps else 0,
        node=sizes.node,
        steps=steps,
        leaves=_leaf_boxes(tree, leaves, layout, rows),
        lines=tuple(lines[:_MOST_DRAWN]),
        summary=_summary(tree, error, len(lines) - _MOST_DRAWN),
    )


def _box_height(wrapped: Wrapped, flagged: bool) -> int:
    return _HEAD + _FLAGS * flagged + LINE * len(wrapped.lines) + _FOOT


def _leaves(tree: ReasoningTree) -> list[list[_Leaf]]:
    """What each step cites besides earlier conclusions, including clues that do not exist."""
    faults = {(fault.step, fault.clue): fault.reason for fault in tree.invalid}
    found = []
    for at, step in enumerate(tree.chain.steps):
        clues = [each for each in step.premises if not _is_earlier(each, at)]
        shown = len(clues) if len(clues) <= _MOST_LEAVES else _MOST_LEAVES - 1
        leaves = [_leaf(clue, faults.get((at, clue))) for clue in clues[:shown]]
        if shown < len(clues):
            leaves.append(_Leaf("more", f"and {len(clues) - shown} more", None, None))
        found.append(leaves)
    return found


def _is_earlier(clue: Clue, at: int) -> bool:
    return clue.kind == "conclusion" and clue.index is not None and clue.index < at


def _leaf(clue: Clue, fault: str | None) -> _Leaf:
    name = clue.kind if clue.index is None else f"{clue.kind}:{clue.index}"
    return _Leaf(clue.kind, clue_label(clue), None if fault else name, fault)


def _leaf_boxes(
    tree: ReasoningTree, leaves: Sequence[Sequence[_Leaf]], layout: Layout, rows: _Rows
) -> tuple[LeafBox, ...]:
    return tuple(
        LeafBox(
            left=round(centre - leaf.width / 2) + _MARGIN,
            top=rows.tops[tree.heights[at] - 1],
            width=leaf.width,
            step=at,
            kind=leaf.kind,
            label=leaf.label,
            name=leaf.name,
            fault=leaf.fault,
        )
        for at, (below, centres) in enumerate(zip(leaves, layout.leaves, strict=True))
        for leaf, centre in zip(below, centres, strict=True)
    )


def _rows(tree: ReasoningTree, heights: Sequence[int]) -> _Rows:
    """Layers take the height of their highest box; the root's is at the top."""
    highest = [LEAF] * (max(tree.heights, default=0) + 1)
    for layer, height in zip(tree.heights, heights, strict=True):
        highest[layer] = max(highest[layer], height)
    tops, top = [], _MARGIN
    for height in reversed(highest):
        tops.append(top)
        top += height + _BETWEEN
    return _Rows(tuple(reversed(tops)), tuple(highest))


def _citations(
    layout: Layout,
    tree: ReasoningTree,
    rows: _Rows,
    steps: Sequence[StepBox],
    path: Sequence[int],
) -> list[Line]:
    errors = set(pairwise(path))
    lines = []
    for child, at, places in layout.edges:
        curves = tuple(
            (round(x) + _MARGIN, rows.tops[low], round(to_x) + _MARGIN, rows.bottom(high))
            for (low, x), (high, to_x) in pairwise(places)
        )
        mark = "path" if (child, at) in errors else "" if tree.uses[at] else "stray"
        lines.append(Line(curves, steps[at].top + steps[at].height, mark))
    return lines


def _stems(
    layout: Layout, tree: ReasoningTree, rows: _Rows, steps: Sequence[StepBox]
) -> list[Line]:
    lines = []
    for at, centres in enumerate(layout.leaves):
        layer, to_x = tree.heights[at], round(layout.centres[at]) + _MARGIN
        for x in centres:
            curve = (round(x) + _MARGIN, rows.tops[layer - 1], to_x, rows.bottom(layer))
            mark = "" if tree.uses[at] else "stray"
            lines.append(Line((curve,), steps[at].top + steps[at].height, mark))
    return lines


def _summary(tree: ReasoningTree, error: FirstError | None, left_out: int) -> str:
    count = len(tree.heights)
    if not count:
        return "There are no steps."
    summary = f"A tree of {count} step{'s' * (count > 1)}, height {max(tree.heights)}."
    if error and len(error.path) > 1:
        summary += (
            f" The first wrong step is Conclusion {error.step}, at height {error.height}; "
            f"the path from it to the root is {_listed(error.path)}."
        )
    elif error:
        summary += f" The first wrong step is the last, Conclusion {error.step}."
    if left_out > 0:
        summary += f" {left_out} citations are not drawn."
    return summary


def _listed(path: Sequence[int]) -> str:
    return ", ".join(f"Conclusion {at}" for at in path)

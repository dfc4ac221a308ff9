"""Picture of a reasoning tree as SVG in a page: boxes for steps and leaves, lines for citations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup, escape

from lmms_rpts.reasoning import Clue, ReasoningTree, build_tree, parse_chain
from lmms_rpts.reasoning.tree import RIGHT_REASON
from lmms_rpts.report.layout import LINES, NODE, Layout, is_earlier, lay_out
from lmms_rpts.report.markup import in_line
from lmms_rpts.report.wrapping import clean, width_of, wrap
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.record import FirstError, RptsRecord

# Font size, line height, and space at the sides of a box, in pixels.
TEXT, LINE, PADDING = 12, 15, 9
# Height of a leaf.
LEAF = 26
_HEAD, _FLAGS, _FOOT, _FLAG_SIZE = 24, 20, 8, 11
_BETWEEN, _MARGIN = 38, 4
_MOST_LEAVES, _MOST_DRAWN = 6, 5000
_LEAST_LEAF = 66
_CORNERS = {"image": 3, "conclusion": 8}
_EMPTY = "(empty)"
_ODD_NUMBER = 1000
_FIRST, _RESTATES = "first wrong step", "restates"

# Elements are plain text, with every text of a model or of data escaped where it is put in:
# Markup.format takes ten times as long, and a report has tens of thousands of elements.


class _Leaf(NamedTuple):
    """A clue that a step cites, other than an earlier conclusion.

    ``kind``: ``more`` for the leaves that are not drawn one by one. ``name``: name of a clue that
    exists, for scripts: ``image:0``. ``fault``: why it does not exist; None if it does.
    """

    kind: str
    label: str
    name: str | None = None
    fault: str | None = None

    @property
    def width(self) -> int:
        return max(_LEAST_LEAF, round(width_of(self.label, TEXT, bold=True)) + 2 * PADDING)


def clue_label(clue: Clue) -> str:
    """A clue as shown to users: ``Image 0``."""
    name = clue.kind.capitalize()
    if clue.index is None:
        return name
    return f"{name} {clue.index}" if clue.index < _ODD_NUMBER else f"{name} (number too large)"


def figure(value: float | None, digits: int = 2) -> str:
    """A score as text; a score below the threshold of 0.5 is not rounded up to it."""
    if value is None:
        return "–"
    while value < RIGHT_REASON <= round(value, digits) and digits < 6:
        digits += 1
    return f"{value + 0.0:.{digits}f}"


def score_class(score: float | None) -> str:
    """Name of the colour of a score: ``s0`` to ``s10``, ``sx`` without one."""
    return "sx" if score is None else f"s{round(score * 10)}"


class TreePicture:
    """A drawn tree, in CSS pixels.

    Args:
        tree: the tree to draw.
        scores: the score of each step, which is its colour; None: no score. Default: no scores.
        error: the first wrong step, and the path from there to the root.
        restating: the steps that only restate.

    Attributes:
        width, height: 0 without steps.
        steps: number of steps.
        scored: whether any step has a score; a gold tree has none.
        summary: the picture in words.
    """

    def __init__(
        self,
        tree: ReasoningTree,
        scores: Sequence[float | None] = (),
        error: FirstError | None = None,
        restating: Collection[int] = (),
    ) -> None:
        self.steps, self._tree = len(tree.heights), tree
        self._scores = scores or [None] * self.steps
        first = error.step if error else None
        self._flags = [
            [_FIRST] * (at == first) + [_RESTATES] * (at in restating) for at in range(self.steps)
        ]
        self._texts = [clean(in_line(step.conclusion)) or _EMPTY for step in tree.chain.steps]
        room = NODE - 2 * PADDING
        self._wrapped = [wrap(text, room, TEXT, LINES) for text in self._texts]
        self._heights = [
            _HEAD + _FLAGS * bool(flags) + LINE * len(wrapped.lines) + _FOOT
            for flags, wrapped in zip(self._flags, self._wrapped, strict=True)
        ]
        self._leaves = _leaves(tree)
        self._layout = lay_out(tree, [[leaf.width for leaf in own] for own in self._leaves])
        self._tops, self._bottoms = _rows(tree, self._heights)
        self.width = round(self._layout.width) + 2 * _MARGIN if self.steps else 0
        self.height = self._bottoms[0] + _MARGIN if self.steps else 0
        self.scored = any(score is not None for score in self._scores)
        lines = [*_lines(tree, self._layout, error)]
        self._lines = lines[:_MOST_DRAWN]
        self.summary = _summary(tree, error, len(lines) - _MOST_DRAWN)

    def elements(self, anchor: str) -> Iterator[str]:
        """Lines first, then each step after its leaves: this is the order of keyboard navigation.

        Steps are links to ``#ANCHOR-sN``, and leaves can be focused.
        """
        for mark, kind in (("", "e"), ("path", "e path"), ("stray", "e stray")):
            drawn = [self._path(at, places) for its, at, places in self._lines if its == mark]
            if drawn:
                yield f'<path class="{kind}" d="{"".join(drawn)}"/>'
        for at, leaves in enumerate(self._leaves):
            for leaf, centre in zip(leaves, self._layout.leaves[at], strict=True):
                left = round(centre - leaf.width / 2) + _MARGIN
                yield _leaf(leaf, left, self._tops[self._tree.heights[at] - 1])
            yield self._step(at, anchor)

    def _path(self, at: int, places: Sequence[tuple[int, float]]) -> str:
        """A line up to step ``at``: curves, joined by vertical parts within layers."""
        d = ""
        for (low, x), (high, to_x) in pairwise(places):
            start, end = round(x) + _MARGIN, round(to_x) + _MARGIN
            y, to_y = self._tops[low], self._bottoms[high]
            middle = (y + to_y) // 2
            d += f"V{y}" if d else f"M{start} {y}"
            d += f"V{to_y}" if start == end else f"C{start} {middle} {end} {middle} {end} {to_y}"
        return f"{d}V{self._tops[self._tree.heights[at]] + self._heights[at]}"

    def _step(self, at: int, anchor: str) -> str:
        left = round(self._layout.centres[at] - NODE / 2) + _MARGIN
        top, right = self._tops[self._tree.heights[at]], left + NODE - PADDING
        score, text, wrapped = self._scores[at], self._texts[at], self._wrapped[at]
        head, value = f"Conclusion {at}", "" if score is None else figure(score)
        kinds = ["step", score_class(score)]
        kinds += ["first"] * (_FIRST in self._flags[at]) + ["stray"] * (not self._tree.uses[at])
        parts = [f'<a class="{" ".join(kinds)}" href="#{escape(anchor)}-s{at}">']
        if wrapped.cut:
            said = f"{head}{', score ' * bool(value)}{value}: "
            parts.append(f"<title>{escape(said)}{escape(text)}</title>")
        parts.append(_rect(left, top, NODE, self._heights[at], 8))
        parts.append(_text(left + PADDING, top + 18, f"{head} ", "h"))
        if value:
            parts.append(_text(right, top + 18, f"{value} ", "v"))
        parts += _flag_boxes(self._flags[at], left + PADDING, top + 25)
        first = top + _HEAD + _FLAGS * bool(self._flags[at]) + TEXT - 2
        lines = enumerate(wrapped.lines)
        parts += (_text(left + PADDING, first + number * LINE, line) for number, line in lines)
        return "".join([*parts, "</a>"])


def draw_response(response: RptsRecord) -> TreePicture:
    """The tree of a scored response."""
    scores = [step.score for step in response.steps]
    restating = response.diagnosis.restating
    return TreePicture(response.tree(), scores, response.first_error, restating)


def gold_tree(instance: Question) -> ReasoningTree:
    """The gold reasoning of an instance, as far as it can be parsed."""
    chain = parse_chain(list(instance.reasoning), instance.language)
    return build_tree(chain, len(instance.visual_clue), len(instance.textual_clue))


def _rect(left: int, top: int, width: int, height: int, corner: int) -> str:
    return f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="{corner}"/>'


def _text(x: int, y: int, text: str, kind: str = "") -> str:
    named = f' class="{escape(kind)}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}">{escape(text)}</text>'


def _leaves(tree: ReasoningTree) -> list[list[_Leaf]]:
    """What each step cites besides earlier conclusions, including clues that do not exist."""
    faults = {(fault.step, fault.clue): fault.reason for fault in tree.invalid}
    found = []
    for at, step in enumerate(tree.chain.steps):
        clues = [each for each in step.premises if not is_earlier(each, at)]
        shown = len(clues) if len(clues) <= _MOST_LEAVES else _MOST_LEAVES - 1
        found.append([_leaf_of(clue, faults.get((at, clue))) for clue in clues[:shown]])
        if shown < len(clues):
            found[-1].append(_Leaf("more", f"and {len(clues) - shown} more"))
    return found


def _leaf_of(clue: Clue, fault: str | None) -> _Leaf:
    name = clue.kind if clue.index is None else f"{clue.kind}:{clue.index}"
    return _Leaf(clue.kind, clue_label(clue), None if fault else name, fault)


def _rows(tree: ReasoningTree, heights: Sequence[int]) -> tuple[list[int], list[int]]:
    """Upper and lower edge of each layer, as high as its highest box; the root's is at the top."""
    highest = [LEAF] * (max(tree.heights, default=0) + 1)
    for layer, height in zip(tree.heights, heights, strict=True):
        highest[layer] = max(highest[layer], height)
    tops, top = [], _MARGIN
    for height in reversed(highest):
        tops.append(top)
        top += height + _BETWEEN
    tops.reverse()
    return tops, [top + height for top, height in zip(tops, highest, strict=True)]


def _lines(
    tree: ReasoningTree, layout: Layout, error: FirstError | None
) -> Iterator[tuple[str, int, Sequence[tuple[int, float]]]]:
    """For each citation: its mark, the citing step, and the places that its line passes through.

    The mark is ``path`` on the path of the first error, ``stray`` if the citing step doesn't count.
    """
    errors = set(pairwise(error.path if error else ()))
    for child, at, places in layout.edges:
        yield "path" if (child, at) in errors else "" if tree.uses[at] else "stray", at, places
    for at, centres in enumerate(layout.leaves):
        layer, to_x = tree.heights[at], layout.centres[at]
        for x in centres:
            yield "" if tree.uses[at] else "stray", at, ((layer - 1, x), (layer, to_x))


def _leaf(leaf: _Leaf, left: int, top: int) -> str:
    more = ""
    if leaf.kind != "more":
        named = f' data-leaf="{escape(leaf.name)}"' if leaf.name else ""
        said = f"{leaf.label}, which does not exist" if leaf.fault else leaf.label
        more = f'{named} tabindex="0" role="img" aria-label="{escape(said)}"'
    title = f"<title>{escape(clean(leaf.fault))}</title>" if leaf.fault else ""
    kinds = f"leaf {leaf.kind}{' fault' if leaf.fault else ''}"
    box = _rect(left, top, leaf.width, LEAF, _CORNERS.get(leaf.kind, LEAF // 2))
    text = _text(left + leaf.width // 2, top + 17, clean(leaf.label))
    return f'<g class="{escape(kinds)}"{more}>{title}{box}{text}</g>'


def _flag_boxes(flags: Sequence[str], left: int, top: int) -> Iterator[str]:
    for flag in flags:
        width = round(width_of(flag, _FLAG_SIZE, bold=True)) + 10
        kind = "flag restates" if flag == _RESTATES else "flag"
        box, text = _rect(left, top, width, 16, 8), _text(left + width // 2, top + 12, f"{flag} ")
        yield f'<g class="{kind}">{box}{text}</g>'
        left += width + 4


def _summary(tree: ReasoningTree, error: FirstError | None, left_out: int) -> str:
    count = len(tree.heights)
    if not count:
        return "There are no steps."
    summary = f"A tree of {count} step{'s' * (count > 1)}, height {max(tree.heights)}."
    if error and len(error.path) > 1:
        path = ", ".join(f"Conclusion {at}" for at in error.path)
        summary += (
            f" The first wrong step is Conclusion {error.step}, at height {error.height}; "
            f"the path from it to the root is {path}."
        )
    elif error:
        summary += f" The first wrong step is the last, Conclusion {error.step}."
    if left_out > 0:
        summary += f" {left_out} citations are not drawn."
    return summary


def inline_svg(picture: TreePicture, anchor: str) -> Markup:
    """A tree for a page: steps are links to ``#ANCHOR-sN``, and colours are the page's."""
    # The summary is in the page, next to the picture: screen readers go through the links here.
    kind = "tree-svg" if picture.scored else "tree-svg plain"
    size = f'width="{picture.width}" height="{picture.height}"'
    root = f'<svg class="{kind}" {size} viewBox="0 0 {picture.width} {picture.height}">'
    return Markup("".join((root, *picture.elements(anchor), "</svg>")))  # noqa: S704 - escaped


@cache
def template_text(name: str) -> str:
    """The text of a file in ``templates``."""
    return (files("lmms_rpts.report") / "templates" / name).read_text(encoding="utf-8")

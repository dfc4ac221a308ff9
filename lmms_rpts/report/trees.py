"""Picture of a reasoning tree as SVG: boxes for steps and leaves, lines for citations.

Inline in a page, or as a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup, escape

from lmms_rpts.filters.metrics import RIGHT_REASON
from lmms_rpts.filters.record import FirstError, RptsInstance, RptsRecord
from lmms_rpts.reasoning import Clue, ReasoningTree, build_tree, parse_chain
from lmms_rpts.report.layout import Layout, Sizes, is_earlier, lay_out
from lmms_rpts.report.markup import in_line
from lmms_rpts.report.wrapping import clean, width_of, wrap

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
_GROUND = '<rect class="bg" width="100%" height="100%"/>'
_FIRST, _RESTATES = "first wrong step", "restates"

_VARIABLE = re.compile(r"--([a-z0-9-]+): *(#[0-9a-fA-F]{3,8});")
_USE = re.compile(r"var\(--([a-z0-9-]+)\)")
_TITLE_SIZE, _LEGEND_SIZE, _TITLE = 14, 12, 24
_EDGE, _APART, _NO_TREE, _LEAST = 8, 26, 24, 160
_BOX, _ROW, _AFTER_BOX, _AFTER_TEXT = 20, 22, 6, 18
# What a tree must have for an entry, the boxes of the entry, and its words.
_LEGEND = (
    ({"scored"}, ("s0", "s2", "s5", "s8", "s10"), "score from 0 to 1"),
    ({"scored", "sx"}, ("sx",), "not scored"),
    ({"first"}, ("first",), "first wrong step"),
    ({"path"}, ("path",), "path from it to the last step"),
    ({"stray"}, ("stray",), "does not enter the score"),
    ({"fault"}, ("fault",), "cites evidence that does not exist"),
)

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
        sizes: widths in the drawing.

    Attributes:
        width, height: 0 without steps.
        steps: number of steps.
        scored: whether any step has a score; a gold tree has none.
        kinds: what occurs in the picture, for a legend: ``scored``, ``sx`` (steps without a score),
            ``first``, ``path``, ``stray`` (steps that the root does not rest on), ``fault``.
        summary: the picture in words.
    """

    def __init__(
        self,
        tree: ReasoningTree,
        scores: Sequence[float | None] = (),
        error: FirstError | None = None,
        restating: Collection[int] = (),
        sizes: Sizes | None = None,
    ) -> None:
        sizes = sizes or Sizes()
        self.steps, self._tree, self._node = len(tree.heights), tree, sizes.node
        self._scores = scores or [None] * self.steps
        first = error.step if error else None
        self._flags = [
            [_FIRST] * (at == first) + [_RESTATES] * (at in restating) for at in range(self.steps)
        ]
        self._texts = [clean(in_line(step.conclusion)) or _EMPTY for step in tree.chain.steps]
        room = sizes.node - 2 * PADDING
        self._wrapped = [wrap(text, room, TEXT, sizes.lines) for text in self._texts]
        self._heights = [
            _HEAD + _FLAGS * bool(flags) + LINE * len(wrapped.lines) + _FOOT
            for flags, wrapped in zip(self._flags, self._wrapped, strict=True)
        ]
        self._leaves = _leaves(tree)
        self._layout = lay_out(tree, [[leaf.width for leaf in own] for own in self._leaves], sizes)
        self._tops, self._bottoms = _rows(tree, self._heights)
        self.width = round(self._layout.width) + 2 * _MARGIN if self.steps else 0
        self.height = self._bottoms[0] + _MARGIN if self.steps else 0
        self.scored = any(score is not None for score in self._scores)
        lines = [*_lines(tree, self._layout, error)]
        self._lines = lines[:_MOST_DRAWN]
        self.kinds = {mark for mark, _, _ in self._lines if mark}
        self.kinds |= {"sx" if score is None else "scored" for score in self._scores}
        self.kinds |= {"fault" for own in self._leaves for leaf in own if leaf.fault}
        self.kinds |= {"first"} if error else set()
        self.kinds |= set() if all(tree.uses) else {"stray"}
        self.summary = _summary(tree, error, len(lines) - _MOST_DRAWN)

    def elements(self, anchor: str | None = None) -> Iterator[str]:
        """Lines first, then each step after its leaves: this is the order of keyboard navigation.

        Args:
            anchor: steps are links to ``#ANCHOR-sN``, and leaves can be focused; None: neither.
        """
        for mark, kind in (("", "e"), ("path", "e path"), ("stray", "e stray")):
            drawn = [self._path(at, places) for its, at, places in self._lines if its == mark]
            if drawn:
                yield f'<path class="{kind}" d="{"".join(drawn)}"/>'
        for at, leaves in enumerate(self._leaves):
            for leaf, centre in zip(leaves, self._layout.leaves[at], strict=True):
                left = round(centre - leaf.width / 2) + _MARGIN
                yield _leaf(leaf, left, self._tops[self._tree.heights[at] - 1], anchor is not None)
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

    def _step(self, at: int, anchor: str | None) -> str:
        left = round(self._layout.centres[at] - self._node / 2) + _MARGIN
        top, right = self._tops[self._tree.heights[at]], left + self._node - PADDING
        score, text, wrapped = self._scores[at], self._texts[at], self._wrapped[at]
        head, value = f"Conclusion {at}", "" if score is None else figure(score)
        kinds = ["step", score_class(score)]
        kinds += ["first"] * (_FIRST in self._flags[at]) + ["stray"] * (not self._tree.uses[at])
        tag, place = ("g", "") if anchor is None else ("a", f' href="#{escape(anchor)}-s{at}"')
        parts = [f'<{tag} class="{" ".join(kinds)}"{place}>']
        if wrapped.cut:
            said = f"{head}{', score ' * bool(value)}{value}: "
            parts.append(f"<title>{escape(said)}{escape(text)}</title>")
        parts.append(_rect(left, top, self._node, self._heights[at], 8))
        parts.append(_text(left + PADDING, top + 18, f"{head} ", "h"))
        if value:
            parts.append(_text(right, top + 18, f"{value} ", "v"))
        parts += _flag_boxes(self._flags[at], left + PADDING, top + 25)
        first = top + _HEAD + _FLAGS * bool(self._flags[at]) + TEXT - 2
        lines = enumerate(wrapped.lines)
        parts += (_text(left + PADDING, first + number * LINE, line) for number, line in lines)
        return "".join([*parts, f"</{tag}>"])


def draw_response(response: RptsRecord, sizes: Sizes | None = None) -> TreePicture:
    """The tree of a scored response."""
    scores = [step.score for step in response.steps]
    restating = response.diagnosis.restating
    return TreePicture(response.tree(), scores, response.first_error, restating, sizes)


def gold_tree(instance: RptsInstance) -> ReasoningTree:
    """The gold reasoning of an instance, as far as it can be parsed."""
    chain = parse_chain(list(instance.gold), instance.language)
    return build_tree(chain, len(instance.visual_clue), len(instance.textual_clue))


def draw_gold(instance: RptsInstance, sizes: Sizes | None = None) -> TreePicture:
    """The gold reasoning of an instance; its steps have no scores."""
    return TreePicture(gold_tree(instance), sizes=sizes)


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


def _leaf(leaf: _Leaf, left: int, top: int, active: bool) -> str:
    more = ""
    if active and leaf.kind != "more":
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
    root = _root(_kind(picture), picture.width, picture.height)
    return Markup("".join((root, *picture.elements(anchor), "</svg>")))  # noqa: S704 - escaped


def figure_svg(
    trees: Sequence[tuple[str, TreePicture]],
    name: str,
    *,
    legend: bool = False,
    background: bool = True,
) -> str:
    """A figure of trees as an SVG file: no links, no scripts, and light colours.

    Args:
        trees: title and picture of each, from the top; an empty title takes up no room.
        name: its name for screen readers.
        legend: whether a legend of what occurs in the trees is drawn below them.
        background: whether the background is white; else it is transparent.
    """
    width = max(_LEAST, *(picture.width for _, picture in trees)) + 2 * _EDGE
    elements, top = [], _EDGE
    for title, picture in trees:
        if title:
            line = wrap(clean(title), width - 2 * _EDGE, _TITLE_SIZE, 1, bold=True).lines
            elements.append(_text(_EDGE, top + _TITLE_SIZE, "".join(line), "title"))
            top += _TITLE
        if picture.steps:
            left = _EDGE if title else (width - picture.width) // 2
            elements.append(f'<g class="{_kind(picture)}" transform="translate({left} {top})">')
            elements += [*picture.elements(), "</g>"]
        else:
            note = "no steps of reasoning"
            elements.append(_text(_EDGE, top + _LEGEND_SIZE, note, "note"))
        top += (picture.height or _NO_TREE) + _APART
    top -= _APART
    if legend:
        kinds = set().union(*(picture.kinds for _, picture in trees))
        explained, top = _legend(kinds, width, top + 2 * _EDGE)
        elements += explained
    said = (f"{clean(title)}: {each.summary}" if title else each.summary for title, each in trees)
    # Variables are of the page: each is replaced by its light colour.
    style = _USE.sub(lambda found: light_colours()[found[1]], template_text("tree_svg.css"))
    more = ' xmlns="http://www.w3.org/2000/svg" role="img"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n'
        f"{_root('tree-svg', width, top + _EDGE, more)}"
        f"<title>{escape(clean(name))}</title><desc>{escape(clean(' '.join(said)))}</desc>"
        f"<style>\n{style}</style>"
        f"{_GROUND * background}{''.join(elements)}</svg>\n"
    )


@cache
def light_colours() -> dict[str, str]:
    """Colours by the names of their CSS variables: those of the first block of ``report.css``."""
    block, _, _ = template_text("report.css").partition("}")
    return dict(_VARIABLE.findall(block))


@cache
def template_text(name: str) -> str:
    """The text of a file in ``templates``."""
    return (files("lmms_rpts.report") / "templates" / name).read_text(encoding="utf-8")


def _legend(kinds: set[str], width: int, top: int) -> tuple[list[str], int]:
    """Elements and lower edge of the legend; it is broken into rows of the figure's width."""
    elements: list[str] = []
    left = _EDGE
    for needs, boxes, words in _LEGEND:
        if not needs <= kinds:
            continue
        boxed = _BOX * len(boxes) + _AFTER_BOX
        needed = boxed + round(width_of(words, _LEGEND_SIZE))
        if left > _EDGE and left + needed > width - _EDGE:
            left, top = _EDGE, top + _ROW
        elements += (_swatch(kind, left + at * _BOX, top) for at, kind in enumerate(boxes))
        elements.append(_text(left + boxed, top + 11, words, "note"))
        left += needed + _AFTER_TEXT
    return elements, top + _ROW * bool(elements)


def _swatch(kind: str, left: int, top: int) -> str:
    if kind == "path":
        return f'<path class="e path" d="M{left} {top + 7}h{_BOX}"/>'
    box = _rect(left, top, _BOX, 14, 2)
    if kind == "fault":
        return f'<g class="leaf fault">{box}{_text(left + _BOX // 2, top + 11, "ab")}</g>'
    return f'<g class="step {escape(kind)}">{box}</g>'


def _root(kind: str, width: int, height: int, more: str = "") -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg class="{kind}" {size}{more}>'


def _kind(picture: TreePicture) -> str:
    return "tree-svg" if picture.scored else "tree-svg plain"

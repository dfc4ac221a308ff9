"""SVG of reasoning trees: inline in a page, or as a file of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from lmms_rpts.report.colours import template_text, with_light_colours
from lmms_rpts.report.scores import score_class
from lmms_rpts.report.trees import LEAF, LINE, PADDING, LeafBox, Line, StepBox, TreePicture
from lmms_rpts.report.wrapping import clean, width_of, wrap

_CORNERS = {"image": 3, "conclusion": 8}
_ROUND = LEAF // 2
_DASHES = {"": "e", "path": "e path", "stray": "e stray"}
_FLAG_SIZE, _FLAG_HEIGHT = 11, 16

_TITLE_SIZE, _LEGEND_SIZE = 14, 12
_MARGIN, _TITLE, _BETWEEN = 8, 24, 26
_EMPTY, _LEAST = 24, 160
_BOX, _ROW, _AFTER_BOX, _AFTER_TEXT = 20, 22, 6, 18
_SCALE = ("s0", "s2", "s5", "s8", "s10")
_FAULT_SAMPLE = "ab"
"""Struck-through text in the legend's box of a leaf that does not exist."""

# Elements are plain text, with every text of a model or of data escaped where it is put in:
# Markup.format takes ten times as long, and a report has tens of thousands of elements.


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; ``kind``: ``title``, or ``note`` for the legend and other remarks."""

    left: int
    baseline: int
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Swatch:
    """A small box of the legend; ``kind``: a class of scores, ``first``, ``path``, ``stray`` or
    ``fault``.
    """

    left: int
    top: int
    width: int
    height: int
    kind: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A tree and its place in the figure."""

    left: int
    top: int
    picture: TreePicture


@dataclass(frozen=True, slots=True)
class TreeFigure:
    """A figure, in CSS pixels; ``summary`` describes it in words."""

    width: int
    height: int
    trees: tuple[Placed, ...]
    texts: tuple[Text, ...]
    swatches: tuple[Swatch, ...]
    summary: str


def make_figure(trees: Sequence[tuple[str, TreePicture]], with_legend: bool = False) -> TreeFigure:
    """A figure of trees with their titles; an empty title takes up no room.

    Args:
        trees: title and picture of each, from the top.
        with_legend: whether a legend of what occurs in the trees is drawn below them.
    """
    width = max(_LEAST, *(picture.width for _, picture in trees)) + 2 * _MARGIN
    placed, texts, top = [], [], _MARGIN
    for title, picture in trees:
        if title:
            line = wrap(clean(title), width - 2 * _MARGIN, _TITLE_SIZE, 1, bold=True).lines
            texts.append(Text(_MARGIN, top + _TITLE_SIZE, "".join(line), "title"))
            top += _TITLE
        if picture.steps:
            left = _MARGIN if title else (width - picture.width) // 2
            placed.append(Placed(left, top, picture))
        else:
            texts.append(Text(_MARGIN, top + _LEGEND_SIZE, "no steps of reasoning", "note"))
        top += (picture.height or _EMPTY) + _BETWEEN
    top -= _BETWEEN
    swatches: list[Swatch] = []
    if with_legend:
        top += 2 * _MARGIN
        notes, swatches, high = _legend([picture for _, picture in trees], width, top)
        texts, top = [*texts, *notes], top + high
    named = (f"{clean(title)}: {each.summary}" if title else each.summary for title, each in trees)
    return TreeFigure(
        width, top + _MARGIN, tuple(placed), tuple(texts), tuple(swatches), " ".join(named)
    )


def inline_svg(picture: TreePicture, anchor: str) -> Markup:
    """A tree for a page: steps are links to ``#ANCHOR-sN``, and colours are the page's."""
    # The summary is in the page, next to the picture: screen readers go through the links here.
    root = _root(_kind(picture), "", picture.width, picture.height)
    return Markup("".join((root, *_tree(picture, anchor), "</svg>")))  # noqa: S704 - escaped


def standalone_svg(figure: TreeFigure, name: str, background: bool = True) -> str:
    """A figure as an SVG file: no links, no scripts, and light colours.

    Args:
        name: its name for screen readers.
        background: whether the background is white; else it is transparent.
    """
    more = ' xmlns="http://www.w3.org/2000/svg" role="img"'
    style = with_light_colours(template_text("tree_svg.css"))
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>\n',
        _root("tree-svg", more, figure.width, figure.height),
        f"<title>{escape(clean(name))}</title><desc>{escape(clean(figure.summary))}</desc>",
        f"<style>\n{style}</style>",
    ]
    if background:
        parts.append('<rect class="bg" width="100%" height="100%"/>')
    for each in figure.trees:
        place = f"translate({each.left} {each.top})"
        parts.append(f'<g class="{_kind(each.picture)}" transform="{place}">')
        parts += [*_tree(each.picture, None), "</g>"]
    parts += map(_swatch, figure.swatches)
    parts += (_text(each.left, each.baseline, each.text, each.kind) for each in figure.texts)
    return "".join([*parts, "</svg>\n"])


def _legend(
    pictures: Sequence[TreePicture], width: int, top: int
) -> tuple[list[Text], list[Swatch], int]:
    """Texts, boxes and height of the legend; it is broken into rows of the figure's width."""
    texts: list[Text] = []
    swatches: list[Swatch] = []
    left, row = _MARGIN, top
    for kinds, words in _entries(pictures):
        needed = _BOX * len(kinds) + _AFTER_BOX + round(width_of(words, _LEGEND_SIZE))
        if left > _MARGIN and left + needed > width - _MARGIN:
            left, row = _MARGIN, row + _ROW
        for at, kind in enumerate(kinds):
            swatches.append(Swatch(left + at * _BOX, row, _BOX, 14, kind))
        texts.append(Text(left + _BOX * len(kinds) + _AFTER_BOX, row + 11, words, "note"))
        left += needed + _AFTER_TEXT
    return texts, swatches, row + _ROW - top if texts else 0


def _entries(pictures: Sequence[TreePicture]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The entries of the legend: only for what occurs in the trees."""
    steps = [step for picture in pictures for step in picture.steps]
    if any(step.score is not None for step in steps):
        yield _SCALE, "score from 0 to 1"
    if any(step.score is not None for step in steps) and any(step.score is None for step in steps):
        yield ("sx",), "not scored"
    if any(step.mark == "first" for step in steps):
        yield ("first",), "first wrong step"
    if any(line.mark == "path" for picture in pictures for line in picture.lines):
        yield ("path",), "path from it to the last step"
    if not all(step.counts for step in steps):
        yield ("stray",), "does not enter the score"
    if any(leaf.fault for picture in pictures for leaf in picture.leaves):
        yield ("fault",), "cites evidence that does not exist"


def _root(kind: str, more: str, width: int, height: int) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg class="{kind}" {size}{more}>'


def _kind(picture: TreePicture) -> str:
    return "tree-svg" if picture.scored else "tree-svg plain"


def _tree(picture: TreePicture, anchor: str | None) -> Iterator[str]:
    """Lines first, then each step after its leaves: this is the order of keyboard navigation."""
    for mark, kind in _DASHES.items():
        drawn = [_path(line) for line in picture.lines if line.mark == mark]
        if drawn:
            yield f'<path class="{kind}" d="{"".join(drawn)}"/>'
    leaves: dict[int, list[LeafBox]] = {}
    for leaf in picture.leaves:
        leaves.setdefault(leaf.step, []).append(leaf)
    for step in picture.steps:
        for leaf in leaves.get(step.step, []):
            yield _leaf(leaf, anchor is not None)
        yield _step(step, picture.node, anchor)


def _path(line: Line) -> str:
    d = ""
    for x, y, to_x, to_y in line.curves:
        middle = (y + to_y) // 2
        d += f"V{y}" if d else f"M{x} {y}"
        d += f"V{to_y}" if x == to_x else f"C{x} {middle} {to_x} {middle} {to_x} {to_y}"
    return f"{d}V{line.end}"


def _leaf(leaf: LeafBox, active: bool) -> str:
    more = ""
    if active and leaf.kind != "more":
        named = f' data-leaf="{escape(leaf.name)}"' if leaf.name else ""
        said = f"{leaf.label}, which does not exist" if leaf.fault else leaf.label
        more = f'{named} tabindex="0" role="img" aria-label="{escape(said)}"'
    title = f"<title>{escape(clean(leaf.fault))}</title>" if leaf.fault else ""
    kinds = f"leaf {leaf.kind}{' fault' if leaf.fault else ''}"
    corner = _CORNERS.get(leaf.kind, _ROUND)
    box = _rect(leaf.left, leaf.top, leaf.width, LEAF, corner)
    text = _text(leaf.left + leaf.width // 2, leaf.top + 17, clean(leaf.label), "")
    return f'<g class="{escape(kinds)}"{more}>{title}{box}{text}</g>'


def _step(step: StepBox, width: int, anchor: str | None) -> str:
    kinds = ["step", score_class(step.score)]
    kinds += ["first"] * (step.mark == "first") + ["stray"] * (not step.counts)
    tag, place = "g", ""
    if anchor is not None:
        tag, place = "a", f' href="#{escape(anchor)}-s{step.step}"'
    parts = [f'<{tag} class="{" ".join(kinds)}"{place}>']
    if step.cut:
        said = f"{step.head}{', score ' * bool(step.score_text)}{step.score_text}: "
        parts.append(f"<title>{escape(said)}{escape(step.conclusion)}</title>")
    parts.append(_rect(step.left, step.top, width, step.height, 8))
    right = step.left + width - PADDING
    parts.append(_text(step.left + PADDING, step.top + 18, f"{step.head} ", "h"))
    if step.score_text:
        parts.append(_text(right, step.top + 18, f"{step.score_text} ", "v"))
    parts += _flags(step)
    kind, x = ("", step.left + PADDING) if step.rightward else ("rtl", right)
    for at, line in enumerate(step.lines):
        parts.append(_text(x, step.first_baseline + at * LINE, line, kind))
    return "".join([*parts, f"</{tag}>"])


def _flags(step: StepBox) -> Iterator[str]:
    left, top = step.left + PADDING, step.top + 25
    for flag in step.flags:
        width = round(width_of(flag, _FLAG_SIZE, bold=True)) + 10
        kind = "flag restates" if flag == "restates" else "flag"
        box = _rect(left, top, width, _FLAG_HEIGHT, 8)
        yield f'<g class="{kind}">{box}{_text(left + width // 2, top + 12, f"{flag} ", "")}</g>'
        left += width + 4


def _swatch(box: Swatch) -> str:
    if box.kind == "path":
        middle = box.top + box.height // 2
        return f'<path class="e path" d="M{box.left} {middle}h{box.width}"/>'
    rect = _rect(box.left, box.top, box.width, box.height, 2)
    if box.kind == "fault":
        sample = _text(box.left + box.width // 2, box.top + 11, _FAULT_SAMPLE, "")
        return f'<g class="leaf fault">{rect}{sample}</g>'
    return f'<g class="step {escape(box.kind)}">{rect}</g>'


def _rect(left: int, top: int, width: int, height: int, corner: int) -> str:
    return f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="{corner}"/>'


def _text(x: int, y: int, text: str, kind: str) -> str:
    named = f' class="{escape(kind)}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}">{escape(text)}</text>'

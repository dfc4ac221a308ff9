"""SVG of reasoning trees: inline in a page, or as a file of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from markupsafe import Markup, escape

from lmms_rpts.report.trees import TreePicture, svg_rect, svg_text
from lmms_rpts.report.wrapping import clean, width_of, wrap

_VARIABLE = re.compile(r"--([a-z0-9-]+): *(#[0-9a-fA-F]{3,8});")
_USE = re.compile(r"var\(--([a-z0-9-]+)\)")

_TITLE_SIZE, _LEGEND_SIZE = 14, 12
_MARGIN, _TITLE, _BETWEEN = 8, 24, 26
_EMPTY, _LEAST = 24, 160
_BOX, _ROW, _AFTER_BOX, _AFTER_TEXT = 20, 22, 6, 18
_LEGEND = (
    ({"scored"}, ("s0", "s2", "s5", "s8", "s10"), "score from 0 to 1"),
    ({"scored", "sx"}, ("sx",), "not scored"),
    ({"first"}, ("first",), "first wrong step"),
    ({"path"}, ("path",), "path from it to the last step"),
    ({"stray"}, ("stray",), "does not enter the score"),
    ({"fault"}, ("fault",), "cites evidence that does not exist"),
)
"""What a tree must have for an entry, the boxes of the entry, and its words."""


class TreeFigure(NamedTuple):
    """A figure: SVG elements, size in CSS pixels, and a description in words."""

    width: int
    height: int
    elements: tuple[str, ...]
    summary: str


def make_figure(trees: Sequence[tuple[str, TreePicture]], with_legend: bool = False) -> TreeFigure:
    """A figure of trees with their titles; an empty title takes up no room.

    Args:
        trees: title and picture of each, from the top.
        with_legend: whether a legend of what occurs in the trees is drawn below them.
    """
    width = max(_LEAST, *(picture.width for _, picture in trees)) + 2 * _MARGIN
    elements, top = [], _MARGIN
    for title, picture in trees:
        if title:
            line = wrap(clean(title), width - 2 * _MARGIN, _TITLE_SIZE, 1, bold=True).lines
            elements.append(svg_text(_MARGIN, top + _TITLE_SIZE, "".join(line), "title"))
            top += _TITLE
        if picture.steps:
            left = _MARGIN if title else (width - picture.width) // 2
            elements.append(f'<g class="{_kind(picture)}" transform="translate({left} {top})">')
            elements += [*picture.elements(), "</g>"]
        else:
            note = "no steps of reasoning"
            elements.append(svg_text(_MARGIN, top + _LEGEND_SIZE, note, "note"))
        top += (picture.height or _EMPTY) + _BETWEEN
    top -= _BETWEEN
    if with_legend:
        kinds = set().union(*(picture.kinds for _, picture in trees))
        legend, top = _legend(kinds, width, top + 2 * _MARGIN)
        elements += legend
    named = (f"{clean(title)}: {each.summary}" if title else each.summary for title, each in trees)
    return TreeFigure(width, top + _MARGIN, tuple(elements), " ".join(named))


def inline_svg(picture: TreePicture, anchor: str) -> Markup:
    """A tree for a page: steps are links to ``#ANCHOR-sN``, and colours are the page's."""
    # The summary is in the page, next to the picture: screen readers go through the links here.
    root = _root(_kind(picture), "", picture.width, picture.height)
    return Markup("".join((root, *picture.elements(anchor), "</svg>")))  # noqa: S704 - escaped


def standalone_svg(figure: TreeFigure, name: str, background: bool = True) -> str:
    """A figure as an SVG file: no links, no scripts, and light colours.

    Args:
        name: its name for screen readers.
        background: whether the background is white; else it is transparent.
    """
    more = ' xmlns="http://www.w3.org/2000/svg" role="img"'
    # Variables are of the page: each is replaced by its light colour.
    style = _USE.sub(lambda found: light_colours()[found[1]], template_text("tree_svg.css"))
    return "".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n',
            _root("tree-svg", more, figure.width, figure.height),
            f"<title>{escape(clean(name))}</title><desc>{escape(clean(figure.summary))}</desc>",
            f"<style>\n{style}</style>",
            '<rect class="bg" width="100%" height="100%"/>' * background,
            *figure.elements,
            "</svg>\n",
        )
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
    left = _MARGIN
    for needs, boxes, words in _LEGEND:
        if not needs <= kinds:
            continue
        needed = _BOX * len(boxes) + _AFTER_BOX + round(width_of(words, _LEGEND_SIZE))
        if left > _MARGIN and left + needed > width - _MARGIN:
            left, top = _MARGIN, top + _ROW
        elements += (_swatch(kind, left + at * _BOX, top) for at, kind in enumerate(boxes))
        after = left + _BOX * len(boxes) + _AFTER_BOX
        elements.append(svg_text(after, top + 11, words, "note"))
        left += needed + _AFTER_TEXT
    return elements, top + _ROW * bool(elements)


def _swatch(kind: str, left: int, top: int) -> str:
    if kind == "path":
        return f'<path class="e path" d="M{left} {top + 7}h{_BOX}"/>'
    box = svg_rect(left, top, _BOX, 14, 2)
    if kind == "fault":
        sample = svg_text(left + _BOX // 2, top + 11, "ab", "")
        return f'<g class="leaf fault">{box}{sample}</g>'
    return f'<g class="step {escape(kind)}">{box}</g>'


def _root(kind: str, more: str, width: int, height: int) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg class="{kind}" {size}{more}>'


def _kind(picture: TreePicture) -> str:
    return "tree-svg" if picture.scored else "tree-svg plain"

"""Figure of one or more trees: titles, trees one below the other, and a legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmms_rpts.report.trees import TreePicture
from lmms_rpts.report.wrapping import clean, width_of, wrap

TITLE_SIZE, LEGEND_SIZE = 14, 12
_MARGIN, _TITLE, _BETWEEN = 8, 24, 26
_EMPTY, _LEAST = 24, 160
_BOX, _ROW, _AFTER_BOX, _AFTER_TEXT = 20, 22, 6, 18
_SCALE = ("s0", "s2", "s5", "s8", "s10")
FAULT_SAMPLE = "ab"
"""Struck-through text in the legend's box of a leaf that does not exist."""


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
            line = wrap(clean(title), width - 2 * _MARGIN, TITLE_SIZE, 1, bold=True).lines
            texts.append(Text(_MARGIN, top + TITLE_SIZE, "".join(line), "title"))
            top += _TITLE
        if picture.steps:
            left = _MARGIN if title else (width - picture.width) // 2
            placed.append(Placed(left, top, picture))
        else:
            texts.append(Text(_MARGIN, top + LEGEND_SIZE, "no steps of reasoning", "note"))
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


def _legend(
    pictures: Sequence[TreePicture], width: int, top: int
) -> tuple[list[Text], list[Swatch], int]:
    """Texts, boxes and height of the legend; it is broken into rows of the figure's width."""
    texts: list[Text] = []
    swatches: list[Swatch] = []
    left, row = _MARGIN, top
    for kinds, words in _entries(pictures):
        needed = _BOX * len(kinds) + _AFTER_BOX + round(width_of(words, LEGEND_SIZE))
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

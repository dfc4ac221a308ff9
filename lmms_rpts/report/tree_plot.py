"""PDF and PNG of reasoning trees, drawn with matplotlib; ``tree_svg`` writes SVG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from matplotlib import font_manager, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve
from matplotlib.transforms import Affine2D

from lmms_rpts.report.colours import light_colours
from lmms_rpts.report.plots import chinese_fonts
from lmms_rpts.report.scores import score_class
from lmms_rpts.report.tree_figure import (
    FAULT_SAMPLE,
    LEGEND_SIZE,
    TITLE_SIZE,
    Swatch,
    TreeFigure,
)
from lmms_rpts.report.trees import LEAF, LINE, PADDING, TEXT, LeafBox, Line, StepBox, TreePicture
from lmms_rpts.report.wrapping import width_of

DPI = 200
"""Pixels per inch of a PNG; a CSS pixel is 1/96 inch."""
_METRIC = ("Helvetica", "Arial", "Liberation Sans", "Arimo", "Nimbus Sans")
_WIDER = "DejaVu Sans", 0.87
"""matplotlib's own font, and how much smaller it is drawn: it is wider than those above."""
_PER_INCH, _POINTS = 96, 0.75
_LONGEST_INCHES, _LONGEST_PIXELS = 200, 12_000
"""The longest side of a page in a PDF, and of a PNG."""
# Type 42: publishers refuse PDFs with Type 3 fonts. A "$" must not begin a formula.
_STYLE = {"text.parse_math": False, "pdf.fonttype": 42, "svg.hashsalt": "lmms-rpts"}
_DASHES = (0, (4, 3))
_STRIKE = 4
"""Height of a strike-through line above the baseline, in pixels."""
_LEAF_EDGES = {"image": "run0", "text": "run3"}
_LEAF_CORNERS = {"image": 3, "conclusion": 8}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn file, and warnings for the user."""

    content: bytes
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Drawing area, in CSS pixels from (left, top) of the figure."""

    axes: Axes
    scale: float
    left: int = 0
    top: int = 0

    def box(
        self,
        place: tuple[float, float, float, float],
        corner: float,
        face: str,
        edge: str,
        width: float = 1,
        dashed: bool = False,
    ) -> None:
        """A box at (left, top, width, height); colours by name, ``none`` for no fill."""
        x, y, wide, high = place
        shape = f"round,pad=0,rounding_size={min(corner, wide / 2, high / 2)}"
        self.axes.add_patch(
            FancyBboxPatch(
                (x + self.left, y + self.top),
                *(wide, high),
                boxstyle=shape,
                facecolor=light_colours().get(face, "none"),
                edgecolor=light_colours()[edge],
                linewidth=width * _POINTS * self.scale,
                linestyle=_DASHES if dashed else "-",
            )
        )

    def line(self, drawn: Curve, edge: str, width: float, dashed: bool = False) -> None:
        """A line in the colour of this name."""
        self.axes.add_patch(
            PathPatch(
                Affine2D().translate(self.left, self.top).transform_path(drawn),
                fill=False,
                edgecolor=light_colours()[edge],
                linewidth=width * _POINTS * self.scale,
                linestyle=_DASHES if dashed else "-",
            )
        )

    def text(
        self,
        place: tuple[float, float],
        text: str,
        size: float = TEXT,
        align: str = "left",
        bold: bool = False,
        ink: str = "ink",
    ) -> None:
        """A line of text at (x, baseline); ``size`` in pixels."""
        x, y = place
        self.axes.text(
            *(x + self.left, y + self.top, text.rstrip()),
            fontsize=size * _POINTS * self.scale * _font()[1],
            fontweight="bold" if bold else "normal",
            ha=align,
            va="baseline",
            color=light_colours()[ink],
        )


def draw_figure(figure: TreeFigure, kind: str, *, dpi: int = DPI, background: bool = True) -> Drawn:
    """A figure as ``pdf`` or ``png``.

    Args:
        figure: what is drawn.
        kind: format of the file.
        dpi: resolution of a PNG; reduced if a side would have more than 12,000 pixels.
        background: whether the background is white; else it is transparent.
    """
    longest = max(figure.width, figure.height) / _PER_INCH
    scale = min(1.0, _LONGEST_INCHES / longest)
    used_dpi = min(dpi, int(_LONGEST_PIXELS / (longest * scale)))
    notes = [] if used_dpi == dpi or kind != "png" else [_too_large(dpi, used_dpi)]
    with _plotting() as missing:
        size = (figure.width / _PER_INCH * scale, figure.height / _PER_INCH * scale)
        drawn = Figure(figsize=size, facecolor="white" if background else "none")
        axes = drawn.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, figure.width), ylim=(figure.height, 0))
        axes.axis("off")
        sheet = _Sheet(axes, scale)
        for each in figure.trees:
            _tree(_Sheet(axes, scale, each.left, each.top), each.picture)
        for swatch in figure.swatches:
            _swatch(sheet, swatch)
        for line in figure.texts:
            title = line.kind == "title"
            size_of = TITLE_SIZE if title else LEGEND_SIZE
            sheet.text((line.left, line.baseline), line.text, size_of, bold=title)
        file = io.BytesIO()
        metadata = {"CreationDate": None} if kind == "pdf" else {}
        drawn.savefig(file, format=kind, dpi=used_dpi, metadata=metadata)
    return Drawn(file.getvalue(), (*notes, *missing, *_unread(figure)))


def _too_large(dpi: int, used: int) -> str:
    return f"the picture is too large for {dpi} dpi: it was drawn at {used} dpi. Use .svg or .pdf"


@contextmanager
def _plotting() -> Iterator[list[str]]:
    """Fixed style that ignores the user's matplotlibrc; yields warnings on missing characters."""
    fonts = {"font.family": [_font()[0], *chinese_fonts(), "DejaVu Sans"]}
    said: list[str] = []
    with (
        style.context(["default", {**_STYLE, **fonts}]),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", UserWarning)
        yield said
    if any("missing from" in str(each.message) for each in caught):
        said.append(
            "some characters are in no installed font and are drawn as boxes: install a font (for "
            "Chinese, Noto Sans CJK), or use .svg"
        )


@cache
def _font() -> tuple[str, float]:
    """Name and scale of the font: if possible, an installed one with the estimated widths."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return next(((name, 1.0) for name in _METRIC if name in installed), _WIDER)


def _unread(figure: TreeFigure) -> Iterator[str]:
    steps = (step for each in figure.trees for step in each.picture.steps)
    if not all(step.rightward for step in steps):
        yield ("text that is read from right to left is not laid out in .pdf and .png: use .svg")


def _tree(sheet: _Sheet, picture: TreePicture) -> None:
    for line in sorted(picture.lines, key=lambda line: line.mark == "path"):
        _line(sheet, line)
    for leaf in picture.leaves:
        _leaf(sheet, leaf)
    for step in picture.steps:
        _step(sheet, step, picture.node, picture.scored)


def _line(sheet: _Sheet, line: Line) -> None:
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for x, y, to_x, to_y in line.curves:
        middle = (y + to_y) // 2
        points += [(x, y), (x, middle), (to_x, middle), (to_x, to_y)]
        codes += [int(Curve.LINETO if codes else Curve.MOVETO), *[int(Curve.CURVE4)] * 3]
    drawn = Curve([*points, (points[-1][0], line.end)], [*codes, int(Curve.LINETO)])
    wrong = line.mark == "path"
    edge, width = ("wrong", 3.0) if wrong else ("faint", 1.3)
    sheet.line(drawn, edge, width, dashed=line.mark == "stray")


def _leaf(sheet: _Sheet, leaf: LeafBox) -> None:
    edge = "wrong" if leaf.fault else _LEAF_EDGES.get(leaf.kind, "faint")
    width = 2 if leaf.fault else 3 if leaf.kind == "context" else 1.5
    place = leaf.left, leaf.top, leaf.width, LEAF
    if leaf.kind != "more":
        corner = _LEAF_CORNERS.get(leaf.kind, LEAF)
        sheet.box(place, corner, "card", edge, width, dashed=bool(leaf.fault))
    ink = "faint" if leaf.kind == "more" else "ink"
    middle = leaf.left + leaf.width / 2, leaf.top + 17
    if leaf.fault:
        _struck(sheet, middle, leaf.label)
    else:
        sheet.text(middle, leaf.label, align="center", bold=leaf.kind != "more", ink=ink)


def _struck(sheet: _Sheet, place: tuple[float, float], text: str) -> None:
    """Struck-through text, centred at (x, baseline): matplotlib has no such style."""
    sheet.text(place, text, align="center", bold=True, ink="wrong")
    (x, baseline), half = place, width_of(text, TEXT, bold=True) / 2
    y = baseline - _STRIKE
    sheet.line(Curve([(x - half, y), (x + half, y)]), "wrong", 1.2)


def _step(sheet: _Sheet, step: StepBox, width: int, scored: bool) -> None:
    face = score_class(step.score) if scored else "ground"
    edge, stroke = ("wrong", 3.5) if step.mark == "first" else ("faint", 1.0)
    place = step.left, step.top, width, step.height
    sheet.box(place, 8, face, edge, stroke, dashed=not step.counts)
    left, right = step.left + PADDING, step.left + width - PADDING
    sheet.text((left, step.top + 18), step.head, bold=True)
    sheet.text((right, step.top + 18), step.score_text, align="right", bold=True)
    _flags(sheet, step.flags, left, step.top + 25)
    x, align = (left, "left") if step.rightward else (right, "right")
    for at, line in enumerate(step.lines):
        sheet.text((x, step.first_baseline + at * LINE), line, align=align)


def _flags(sheet: _Sheet, flags: Iterable[str], left: float, top: float) -> None:
    for flag in flags:
        width = round(width_of(flag, 11, bold=True)) + 10
        restates = flag == "restates"
        face, edge, ink = ("card", "faint", "ink") if restates else ("wrong", "wrong", "card")
        sheet.box((left, top, width, 16), 8, face, edge)
        sheet.text((left + width / 2, top + 12), flag, 11, "center", bold=True, ink=ink)
        left += width + 4


def _swatch(sheet: _Sheet, box: Swatch) -> None:
    if box.kind == "path":
        y = box.top + box.height // 2
        sheet.line(Curve([(box.left, y), (box.left + box.width, y)]), "wrong", 3)
        return
    place = box.left, box.top, box.width, box.height
    if box.kind == "fault":
        sheet.box(place, 2, "card", "wrong", 2, dashed=True)
        _struck(sheet, (box.left + box.width / 2, box.top + 11), FAULT_SAMPLE)
        return
    edge, stroke = ("wrong", 3.5) if box.kind == "first" else ("faint", 1.0)
    sheet.box(place, 2, box.kind, edge, stroke, dashed=box.kind == "stray")

"""Anti-aliased drawing surface: drawn large, and scaled down at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

Point = tuple[float, float]
Box = tuple[float, float, float, float]

WIDTH, HEIGHT = 640, 480

INK = "#22303c"
GREY = "#8a97a3"
PALE = "#dfe5ea"
PAPER = "#fbfaf7"
WHITE = "#ffffff"
RED = "#d9483b"
ORANGE = "#ee9a3a"
YELLOW = "#f4cf45"
GREEN = "#4ba36b"
BLUE = "#3b7dc4"
PURPLE = "#8a63b0"
BROWN = "#8d6243"

_SCALE = 3
_COLOURS = 96


def polar(centre: Point, radius: float, degrees: float) -> Point:
    """The point at ``radius`` from ``centre``; degrees run clockwise from twelve o'clock."""
    angle = math.radians(degrees)
    return centre[0] + radius * math.sin(angle), centre[1] - radius * math.cos(angle)


class Canvas:
    """A picture of 640 x 480 logical pixels; coordinates may be fractions.

    Args:
        background: the colour of the empty picture.
    """

    def __init__(self, background: str = PAPER) -> None:
        self._image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), background)
        self._draw = ImageDraw.Draw(self._image)

    def rect(
        self,
        box: Box,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 2,
        radius: float = 0,
    ) -> None:
        """Draws a rectangle, with round corners if ``radius`` is given."""
        self._draw.rounded_rectangle(
            [value * _SCALE for value in box],
            radius=radius * _SCALE,
            fill=fill,
            outline=outline,
            width=round(width * _SCALE),
        )

    def ellipse(
        self, box: Box, fill: str | None = None, outline: str | None = None, width: float = 2
    ) -> None:
        """Draws an ellipse that fills ``box``."""
        scaled = [value * _SCALE for value in box]
        self._draw.ellipse(scaled, fill=fill, outline=outline, width=round(width * _SCALE))

    def circle(
        self,
        centre: Point,
        radius: float,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 2,
    ) -> None:
        """Draws a circle."""
        x, y = centre
        self.ellipse((x - radius, y - radius, x + radius, y + radius), fill, outline, width)

    def polygon(
        self, points: Sequence[Point], fill: str, outline: str | None = None, width: float = 2
    ) -> None:
        """Draws a filled polygon; the outline has round corners."""
        self._draw.polygon([(x * _SCALE, y * _SCALE) for x, y in points], fill=fill)
        if outline:
            self.line([*points, points[0]], outline, width)

    def line(self, points: Sequence[Point], fill: str = INK, width: float = 2) -> None:
        """Draws a line through ``points`` with round ends and joints."""
        scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
        self._draw.line(scaled, fill=fill, width=round(width * _SCALE))
        radius = width * _SCALE / 2
        for x, y in scaled:
            self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)

    def wedge(self, centre: Point, radius: float, start: float, end: float, fill: str) -> None:
        """Draws a slice of a pie between two angles, clockwise from twelve o'clock."""
        box = [(value + side * radius) * _SCALE for side in (-1, 1) for value in centre]
        self._draw.pieslice(box, start - 90, end - 90, fill=fill)

    def text(
        self,
        at: Point,
        string: str,
        size: float,
        fill: str = INK,
        anchor: str = "mm",
        bold: bool = False,
    ) -> None:
        """Draws text; ``anchor`` as in Pillow ("mm": ``at`` is the middle)."""
        self._draw.text(
            (at[0] * _SCALE, at[1] * _SCALE),
            string,
            fill=fill,
            font=ImageFont.load_default(size=size * _SCALE),
            anchor=anchor,
            stroke_width=size * _SCALE / 36 if bold else 0,
        )

    def save(self, path: Path) -> None:
        """Scales the picture down, reduces its colours and writes a small PNG."""
        small = self._image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        reduced = small.quantize(_COLOURS, dither=Image.Dither.NONE)
        reduced.save(path, optimize=True)

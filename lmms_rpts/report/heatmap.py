"""SVG heat maps of a sweep over decay and focus height."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from lmms_rpts.escaping import shorten
from lmms_rpts.report.svg import document, element, text

if TYPE_CHECKING:
    import pandas as pd

PANELS = {
    "rpts": "RPTS",
    "filtered_accuracy": "filtered accuracy",
    "share_filtered": "share filtered",
}
# One hue, ever darker: the order is seen without telling colours apart (ColorBrewer's Blues).
_BLUES = ((222, 235, 247), (158, 202, 225), (66, 146, 198), (8, 81, 156), (8, 48, 107))
_CELL, _HIGH, _GAP = 58, 36, 7
_MARGIN, _LEFT, _BETWEEN, _TOP = 24, 74, 26, 78
Colour = tuple[int, int, int]


def draw_heatmaps(sweeps: Mapping[str, pd.DataFrame], threshold: float) -> str:
    """One row of panels for each run: decay upwards, focus height to the right.

    Args:
        sweeps: the frame of ``lmms_rpts.analysis.sweeping.sweep`` for each run, by its label.
        threshold: RPTS from which on a response passed; for the legend.

    Returns:
        An SVG document, for light and dark pages. Runs share the colours' range of a quantity.
    """
    ranges = {name: _range(sweeps.values(), name) for name in PANELS}
    widest = max(3, *(frame["focus_height"].nunique() for frame in sweeps.values()))
    step = _LEFT + widest * (_CELL + _GAP) + _BETWEEN
    drawn, top = [], _TOP
    for label, frame in sweeps.items():
        drawn.append(text(_MARGIN, top + 14, shorten(label, 80), size=15, weight="600"))
        for at, (name, title) in enumerate(PANELS.items()):
            panel = _panel(frame, name, title, ranges[name])
            drawn.append(
                element("g", panel, transform=f"translate({_MARGIN + at * step},{top + 32})")
            )
        top += 32 + 22 + frame["decay"].nunique() * (_HIGH + _GAP) + 44 + 26
    for at, (low, high) in enumerate(ranges.values()):
        drawn.append(_legend(_MARGIN + at * step + _LEFT, top, low, high))
    note = f"Framed: the run's own setting. Passing: an RPTS of at least {threshold:g}."
    head = (
        text(_MARGIN, 36, "RPTS under other settings", size=18, weight="600"),
        text(_MARGIN, 58, note, class_="muted"),
    )
    width = 2 * _MARGIN + 3 * step - _BETWEEN
    return document(
        "RPTS under other settings", _describe(sweeps), width, top + 52, (*head, *drawn)
    )


def cell_colours(value: float, low: float, high: float) -> tuple[Colour, Colour]:
    """The colour of a cell, and black or white for its number: what contrasts more with it.

    The contrast of the better one is 4.5 or more for any colour (WCAG 2.2, contrast ratio).
    """
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    at = min(int(share * (len(_BLUES) - 1)), len(_BLUES) - 2)
    part = share * (len(_BLUES) - 1) - at
    red, green, blue = (
        round(a + (b - a) * part) for a, b in zip(_BLUES[at], _BLUES[at + 1], strict=True)
    )
    fill = (red, green, blue)
    black = luminance(fill) + 0.05 > math.sqrt(1.05 * 0.05)
    return fill, (0, 0, 0) if black else (255, 255, 255)


def luminance(colour: Colour) -> float:
    """Relative luminance of an sRGB colour, in [0, 1] (WCAG 2.2)."""
    red, green, blue = (
        each / 255 / 12.92 if each / 255 <= 0.04045 else ((each / 255 + 0.055) / 1.055) ** 2.4
        for each in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _range(frames: Iterable[pd.DataFrame], name: str) -> tuple[float, float]:
    """From where to where the colours go: wide enough that noise is no contrast."""
    values = [value for frame in frames for value in frame[name] if not math.isnan(value)]
    low = math.floor(min(values, default=0.0) * 20) / 20
    high = math.ceil(max(values, default=1.0) * 20) / 20
    if high - low < 0.2:
        high = min(1.0, low + 0.2)
        low = high - 0.2
    return low, high


def _panel(frame: pd.DataFrame, name: str, title: str, scale: tuple[float, float]) -> Markup:
    decays = sorted(frame["decay"].unique(), reverse=True)
    heights = sorted(frame["focus_height"].unique())
    bottom = 22 + len(decays) * (_HIGH + _GAP)
    middle = _LEFT + len(heights) * (_CELL + _GAP) // 2
    drawn = [
        text(_LEFT, 8, title, size=14, weight="600"),
        text(middle, bottom + 38, "focus height", class_="muted", anchor="middle"),
        text(
            *(0, 0, "decay"),
            class_="muted",
            anchor="middle",
            transform=f"translate(10,{22 + (bottom - 22) // 2}) rotate(-90)",
        ),
    ]
    for at, decay in enumerate(decays):
        y = 22 + at * (_HIGH + _GAP) + _HIGH // 2 + 5
        drawn.append(text(_LEFT - 10, y, f"{decay:.4g}", anchor="end"))
    for at, height in enumerate(heights):
        drawn.append(
            text(_LEFT + at * (_CELL + _GAP) + _CELL // 2, bottom + 16, height, anchor="middle")
        )
    own = []
    for row in frame.itertuples():
        x = _LEFT + heights.index(row.focus_height) * (_CELL + _GAP)
        y = 22 + decays.index(row.decay) * (_HIGH + _GAP)
        value = float(getattr(row, name))
        setting = f"decay {row.decay:g}, focus height {row.focus_height}"
        drawn.append(_cell(x, y, value, scale, f"{title}, {setting}"))
        if row.own:
            own.append(
                element(
                    "rect",
                    class_="own",
                    x=x - 3,
                    y=y - 3,
                    width=_CELL + 6,
                    height=_HIGH + 6,
                    rx=6,
                )
            )
    return element("g", *drawn, *own)


def _cell(x: int, y: int, value: float, scale: tuple[float, float], name: str) -> Markup:
    place = {"x": x, "y": y, "width": _CELL, "height": _HIGH, "rx": 4}
    middle = (x + _CELL // 2, y + _HIGH // 2 + 5)
    if math.isnan(value):
        told = element("title", f"{name}: none")
        dash = text(*middle, "–", class_="muted", anchor="middle")
        return element("g", told, element("rect", class_="empty", **place), dash)
    fill, ink = cell_colours(value, *scale)
    return element(
        "g",
        element("title", f"{name}: {value:.4f}"),
        element("rect", fill=_hex(fill), **place),
        text(*middle, f"{value:.3f}", anchor="middle", style=f"fill:{_hex(ink)}"),
    )


def _legend(x: int, y: int, low: float, high: float) -> Markup:
    parts, wide = 40, 4
    boxes = [
        element(
            "rect",
            x=x + at * wide,
            y=y,
            # Each reaches below the next: no seams.
            width=wide * 2 if at < parts - 1 else wide,
            height=10,
            fill=_hex(cell_colours((at + 0.5) / parts, 0.0, 1.0)[0]),
        )
        for at in range(parts)
    ]
    ends = (
        text(x, y + 26, f"{low:.2f}", size=12, class_="muted"),
        text(x + parts * wide, y + 26, f"{high:.2f}", size=12, class_="muted", anchor="end"),
    )
    return element("g", *boxes, *ends)


def _describe(sweeps: Mapping[str, pd.DataFrame]) -> str:
    told = []
    for label, frame in sweeps.items():
        for row in frame[frame["own"]].itertuples():
            values = ", ".join(
                f"{title} {getattr(row, name):.3f}" for name, title in PANELS.items()
            )
            told.append(f"{label} at its own decay {row.decay:g} and focus {row.focus_height}: ")
            told.append(f"{values}. ")
        low, high = frame["rpts"].min(), frame["rpts"].max()
        told.append(f"Over all settings its RPTS goes from {low:.3f} to {high:.3f}. ")
    return "".join(told)


def _hex(colour: Sequence[int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)

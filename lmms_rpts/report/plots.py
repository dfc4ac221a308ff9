"""Plots with matplotlib: models with intervals, score against tokens, and a sweep as heat maps."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib import font_manager, style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from lmms_rpts.analysis.summary import Summary
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import count, shorten
from lmms_rpts.stats.figures import Interval

# A "$" in a model's name must not begin a formula; without a salt, SVG ids are random.
_STYLE = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "lmms-rpts"}
# Names in Chinese are drawn with the first installed font whose name contains one of these.
_CHINESE = ("CJK SC", "CJK", "Source Han Sans", "WenQuanYi", "YaHei", "PingFang", "Droid Sans Fall")
# One hue, getting darker: the order does not depend on colour vision (ColorBrewer's Blues).
_BLUES = ("#deebf7", "#9ecae1", "#4292c6", "#08519c", "#08306b")
BLUES = LinearSegmentedColormap.from_list("blues", _BLUES)
# From this part of the scale on, white has more contrast than black: at least 4.5 (WCAG 2.2).
WHITE_FROM = 0.59
_NOTE = "bars: 95% interval over documents; of several rounds, one standard deviation"
# Ten colours with one shape, then with the next: the points of 50 models differ.
_MARKS = [(f"C{colour}", shape) for shape in "o^sDv" for colour in range(10)]


@cache
def _fonts() -> Sequence[str]:
    """The fonts of texts: the first one with Chinese characters that matplotlib knows, if any."""
    names = sorted({font.name for font in font_manager.fontManager.ttflist})
    chinese = [name for part in _CHINESE for name in names if part in name][:1]
    return ["DejaVu Sans", *chinese, "sans-serif"]


@contextmanager
def _plotting() -> Iterator[None]:
    """Fixed style, independent of the user's matplotlibrc; no warnings about missing glyphs."""
    fonts = {"font.family": _fonts()}
    with style.context(["default", {**_STYLE, **fonts}]), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@_plotting()
def draw_summary(summary: Summary, kind: str = "svg") -> bytes:
    """Models with their intervals and, where tokens are known, their score against tokens.

    Args:
        summary: its first metric is drawn, of the models that have a value; at least one.
        kind: svg, png or pdf.
    """
    name = next(iter(summary.benchmark.metrics))
    rows = [row for row in summary.models.to_dict("records") if row[name].value is not None]
    if not rows:
        raise UserError(f"Cannot draw {name}: no model has a value")
    marked = list(zip(rows, cycle(_MARKS), strict=False))
    counted = [(row, mark) for row, mark in marked if row["tokens"].value]
    size = (7 + 6 * bool(counted), 1.6 + 0.36 * max(len(rows), 6))
    figure = Figure(figsize=size, dpi=72, layout="constrained")
    figure.suptitle(f"{name} of {count(len(rows), 'model')}", x=0, ha="left")
    figure.supxlabel(_NOTE, x=0, ha="left", size=9)
    axes, *others = figure.subplots(1, 1 + bool(counted), squeeze=False)[0]
    for place, (row, (colour, shape)) in enumerate(marked):
        ends = _ends(row[name])
        axes.plot(ends, [place] * len(ends), "|-", color=colour, gid="bar")
        axes.plot(row[name].value, place, shape, color=colour, markersize=8, gid="point")
    labels = [shorten(f"{row['model']} {row['task']}".strip()) for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.set(xlabel=name, ylim=(len(rows) - 0.5, -0.5))
    axes.grid(axis="x", alpha=0.4)
    for beside in others:
        for row, (colour, shape) in counted:
            tokens, ends = row["tokens"].value, _ends(row[name])
            beside.plot([tokens] * len(ends), ends, "_-", color=colour, gid="bar")
            beside.plot(tokens, row[name].value, shape, color=colour, markersize=8)
        _scale_tokens(beside, [row["tokens"].value for row, _ in counted])
        beside.set(ylabel=name)
        beside.grid(axis="y", alpha=0.4)
    return _render(figure, kind)


def _ends(score: Interval) -> tuple[float, ...]:
    """The ends of a bar: one standard deviation for rounds, else the interval; or none."""
    if score.value is not None and score.sd is not None:
        return score.value - score.sd, score.value + score.sd
    return () if score.low is None or score.high is None else (score.low, score.high)


def _scale_tokens(axes: Axes, tokens: Sequence[float]) -> None:
    """Tokens on the horizontal axis, on a log scale over more than tenfold."""
    if min(tokens) > 0 and max(tokens) > 10 * min(tokens):
        axes.set(xscale="log", xlabel="tokens per response (mean, log scale)")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.minorticks_off()
    else:  # the axis covers at least one token
        axes.set(xlim=(0, max(max(tokens) * 1.3, 1)), xlabel="tokens per response (mean)")
    axes.xaxis.set_major_formatter("{x:,.10g}")


@_plotting()
def draw_sweeps(sweeps: Mapping[str, pd.DataFrame], kind: str = "svg") -> bytes:
    """RPTS as a heat map per run: decay on the vertical axis, focus height on the horizontal one.

    Args:
        sweeps: what ``lmms_rpts.analysis.sweeping.sweep`` returns, by the run's label.
        kind: svg, png or pdf.
    """
    tables = {
        label: frame.pivot(index="decay", columns="focus_height", values="rpts")
        for label, frame in sweeps.items()
    }
    width = sum(1.2 + 0.7 * max(3, len(table.columns)) for table in tables.values())
    height = 1.8 + 0.42 * max(map(len, tables.values()))
    figure = Figure(figsize=(width, height), dpi=72, layout="constrained")
    figure.suptitle("RPTS under other settings", x=0, ha="left")
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, (label, table) in zip(panels, tables.items(), strict=True):
        cells = axes.pcolormesh(table, cmap=BLUES, vmin=0, vmax=1, edgecolors="white", linewidth=3)
        axes.set_xticks(np.arange(len(table.columns)) + 0.5, list(map(str, table.columns)))
        axes.set_yticks(np.arange(len(table)) + 0.5, [f"{decay:.4g}" for decay in table.index])
        axes.set(title=shorten(label), xlabel="focus height", ylabel="decay", frame_on=False)
        for (y, x), value in np.ndenumerate(table.to_numpy(float)):
            ink = "white" if cells.norm(value) > WHITE_FROM else "black"
            text = "–" if math.isnan(value) else f"{value:.3f}"
            axes.text(x + 0.5, y + 0.5, text, color=ink, ha="center", va="center_baseline")
    return _render(figure, kind)


def _render(figure: Figure, kind: str) -> bytes:
    """The figure as a file, without its date; at most about 8,000 pixels per side."""
    date = "Date" if kind == "svg" else "CreationDate"
    metadata = {"Title": figure.get_suptitle(), date: None}
    dpi = min(160, 8000 / max(figure.get_size_inches()))
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=dpi, bbox_inches="tight", metadata=metadata)
    return file.getvalue()

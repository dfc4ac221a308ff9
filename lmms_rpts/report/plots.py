"""Plots with matplotlib: heat maps of a sweep, and a scatter plot of score against tokens."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import cycle, product
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import font_manager, style
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator
from matplotlib.transforms import Bbox

from lmms_rpts.analysis.summary import Figures, Summary
from lmms_rpts.base.escaping import shorten

# A "$" in a model's name must not begin a formula; without a salt, SVG ids are random.
_STYLE = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "lmms-rpts"}
# Names in Chinese are drawn with the first installed font whose name contains one of these.
_CHINESE = ("CJK SC", "CJK", "Source Han Sans", "WenQuanYi", "YaHei", "PingFang", "Droid Sans Fall")
PANELS = ("rpts", "filtered_accuracy", "accuracy_passing", "share_filtered")
# One hue, getting darker: the order does not depend on colour vision (ColorBrewer's Blues).
_BLUES = ("#deebf7", "#9ecae1", "#4292c6", "#08519c", "#08306b")
BLUES = LinearSegmentedColormap.from_list("blues", _BLUES)
# From this part of the scale on, white has more contrast than black: at least 4.5 (WCAG 2.2).
WHITE_FROM = 0.59
_NAMES = {
    "rpts": "RPTS",
    "accuracy_rpts": "accuracy with RPTS of at least 0.5",
    "accuracy_passing": "accuracy, passing",
}
_NOTE = "error bars: 95% interval over documents, or standard deviation over several rounds"
# Ten colours with one shape, then with the next: the points of 50 models differ.
_MARKS = [(f"C{colour}", shape) for shape, colour in product("o^sDv", range(10))]


@cache
def _chinese_fonts() -> Sequence[str]:
    """Name of the first font with Chinese characters that matplotlib knows; empty without one."""
    names = sorted({font.name for font in font_manager.fontManager.ttflist})
    return [name for part in _CHINESE for name in names if part in name][:1]


@contextmanager
def _plotting() -> Iterator[None]:
    """Fixed style, independent of the user's matplotlibrc; no warnings about missing glyphs."""
    fonts = {"font.family": ["DejaVu Sans", *_chinese_fonts(), "sans-serif"]}
    with style.context(["default", {**_STYLE, **fonts}]), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@_plotting()
def draw_heatmaps(sweeps: Mapping[str, pd.DataFrame], threshold: float, kind: str = "svg") -> bytes:
    """Frames of ``lmms_rpts.analysis.sweeping.sweep``, by run, drawn as svg, png or pdf.

    One row of panels per run: decay on the vertical axis, focus height on the horizontal axis.
    Runs share the colour range of a quantity. A response passes if it reaches the threshold.
    """
    whole = pd.concat(sweeps.values())
    rows = [1.7 + 0.42 * frame["decay"].nunique() for frame in sweeps.values()]
    width = len(PANELS) * (0.8 + 0.66 * max(3, whole["focus_height"].nunique()))
    note = f"Framed: the run's own setting. Passing: an RPTS of at least {threshold:g}."
    figure = _figure((width, sum(rows) + 0.8), "RPTS under other settings", note)
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=rows)[:, 0]
    for part, (label, frame) in zip(parts, sweeps.items(), strict=True):
        part.suptitle(shorten(label, 80), x=0, ha="left", size=13)
        for axes, name in zip(part.subplots(1, len(PANELS)), PANELS, strict=True):
            low, high = _range(whole[name].dropna())
            cells = _draw_cells(axes, frame, name, Normalize(low, high))
            part.colorbar(cells, ax=axes, location="bottom", ticks=[low, high], format="%.2f")
    return _render(figure, kind)


def _range(values: Iterable[float]) -> tuple[float, float]:
    """Range of the colours, wide enough that noise does not look like contrast."""
    low = math.floor(min(values, default=0.0) * 20) / 20
    high = min(1.0, max(low + 0.2, math.ceil(max(values, default=1.0) * 20) / 20))
    return min(low, high - 0.2), high


def _draw_cells(axes: Axes, frame: pd.DataFrame, name: str, scale: Normalize) -> QuadMesh:
    table = frame.pivot(index="decay", columns="focus_height", values=name)
    cells = axes.pcolormesh(table, cmap=BLUES, norm=scale, edgecolors="white", linewidth=3)
    axes.set_xticks(np.arange(len(table.columns)) + 0.5, list(map(str, table.columns)))
    axes.set_yticks(np.arange(len(table)) + 0.5, [f"{decay:.4g}" for decay in table.index])
    title = _NAMES.get(name, name.replace("_", " "))
    axes.set(title=title, xlabel="focus height", ylabel="decay", frame_on=False)
    axes.tick_params(length=0)
    for (y, x), value in np.ndenumerate(table.to_numpy(float)):
        said = "–" if math.isnan(value) else f"{value:.3f}"
        ink = "white" if scale(value) > WHITE_FROM else "black"
        axes.text(x + 0.5, y + 0.5, said, color=ink, ha="center", va="center_baseline")
    for row in frame[frame["own"]].itertuples():
        at = table.columns.get_loc(row.focus_height), table.index.get_loc(row.decay)
        axes.add_patch(Rectangle(at, 1, 1, fill=False, linewidth=2, clip_on=False, gid="own"))
    return cells


class Point(NamedTuple):
    """A model: tokens per response, its score, and the ends of the error bar if it has one."""

    label: str
    tokens: float
    score: float
    ends: tuple[float, ...]


def points_of(models: Sequence[Figures], metric: str) -> list[Point]:
    """The models that have both tokens and a score.

    An error bar is one standard deviation to both sides for several rounds, otherwise the
    interval.
    """
    points = []
    tasks = len({model.task for model in models}) > 1
    for model in models:
        figure, tokens = model.metrics[metric], model.tokens.value
        if figure.value is None or tokens is None:
            continue
        ends = figure.low, figure.high
        if figure.sd is not None:
            ends = figure.value - figure.sd, figure.value + figure.sd
        bar = tuple(end for end in ends if end is not None)
        name = f"{model.model}, {model.task}" if tasks else model.model
        points.append(Point(shorten(name), tokens, figure.value, bar))
    return points


@_plotting()
def draw_scatter(summary: Summary, metric: str = "rpts", kind: str = "svg") -> bytes:
    """The models with tokens and score, drawn as svg, png or pdf; needs at least one.

    Tokens on the horizontal axis (log scale over more than tenfold), score on the vertical
    axis.
    """
    points = points_of(summary.models, metric)
    name = _NAMES.get(metric, metric.replace("_", " "))
    figure = _figure((8, 5), f"{name} against tokens used", _note(summary.models, metric))
    axes = figure.subplots()
    better = {True: "; higher is better", False: "; lower is better", None: ""}[
        summary.benchmark.metrics[metric].higher_is_better
    ]
    tasks = [*{row.group or "" for row in summary.of(summary.benchmark.by[0])}]
    scope = shorten(tasks[0], 60) if len(tasks) == 1 else "all documents"
    axes.set_title(f"{scope}{better}", loc="left")
    axes.grid(axis="y", alpha=0.4)
    axes.margins(0.12)
    handles = []
    for (_, tokens, score, ends), (colour, shape) in zip(points, cycle(_MARKS), strict=False):
        axes.plot([tokens] * len(ends), ends, "_-", color=colour, markersize=9, gid="bar")
        handles += axes.plot(tokens, score, shape, color=colour, markersize=8, gid="point")
    figure.legend(handles, [each.label for each in points], loc="outside right upper")
    low, high = (limit(each.tokens for each in points) for limit in (min, max))
    if low > 0 and high / low > 10:
        axes.set(xscale="log", xlabel="tokens per response (mean, log scale)", ylabel=name)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.minorticks_off()
    else:
        # The axis covers at least one token.
        axes.set(xlim=(0, max(high * 1.3, 1)), xlabel="tokens per response (mean)", ylabel=name)
    axes.xaxis.set_major_formatter("{x:,.10g}")
    return _render(figure, kind)


def _note(models: Sequence[Figures], metric: str) -> str:
    tokenless = [each.model for each in models if each.tokens.value is None]
    scoreless = [each.model for each in models if each.metrics[metric].value is None]
    why = {"tokens not reported": tokenless, "no score": scoreless}
    notes = [f"{each}: {', '.join(map(shorten, names))}" for each, names in why.items() if names]
    # Wrapped here, since matplotlib's wrapping reads "$" as a formula. Chinese is twice as wide.
    widths = (90 if note.isascii() else 55 for note in [_NOTE, *notes])
    return "\n".join(map(partial(fill, break_on_hyphens=False), [_NOTE, *notes], widths))


def _figure(size: tuple[float, float], title: str, note: str) -> Figure:
    # At 72 dots per inch, a pixel of the layout is a point.
    figure = Figure(figsize=size, dpi=72, layout="constrained")
    figure.suptitle(title, x=0, ha="left", size=15)
    figure.supxlabel(note, x=0, ha="left", size=9)
    return figure


def _render(figure: Figure, kind: str) -> bytes:
    """Deterministic output: the same figure gives the same bytes."""
    date = "Date" if kind == "svg" else "CreationDate"
    metadata = {"Title": figure.get_suptitle(), date: None}
    # Hundreds of settings make a large picture: at most about 8,000 pixels per side.
    dpi = min(160, 8000 / max(figure.get_size_inches()))
    # The layout is rounded: the solver's last digits vary, and the ids of an SVG hash all digits.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for part in figure.subfigs:
        part.bbox_relative.set_points(np.round(part.bbox_relative.get_points(), 6))
    for axes in figure.axes:
        axes.set_position(Bbox(np.round(axes.get_position(original=True).get_points(), 6)))
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=dpi, bbox_inches="tight", metadata=metadata)
    return file.getvalue()

"""Plots of a sweep and of models: colours, scales, points and legends."""

from __future__ import annotations

import math
from typing import Any

import matplotlib
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.analysis.summary import Figures, Summary
from lmms_rpts.analysis.sweeping import QUANTITIES
from lmms_rpts.report.plots import BLUES, WHITE_FROM, draw_heatmaps, draw_scatter
from lmms_rpts.runs.rounds import Figure
from lmms_rpts.tasks.registry import BENCHMARKS
from tests.support.pictures import labels_of_svg, parts_of_svg, texts_of_svg


def luminance(share: float) -> float:
    """The luminance of the colour at a position of the scale (WCAG 2.2)."""
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in BLUES(share)[:3]
    )
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


@given(st.floats(0, 1))
def test_numbers_stand_out_from_their_cells(share: float) -> None:
    ink = 1.0 if share > WHITE_FROM else 0.0
    dark, light = sorted((luminance(share), ink))
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, level AA


def test_cells_get_ever_darker() -> None:
    shades = [luminance(at / 100) for at in range(101)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 101


def frame_of(values: list[float]) -> pd.DataFrame:
    """A sweep over focus heights; the first row has the run's own settings."""
    return pd.DataFrame(
        [
            {"decay": 0.5, "focus_height": at, **dict.fromkeys(QUANTITIES, value), "own": not at}
            for at, value in enumerate(values)
        ]
    )


def heatmap(runs: dict[str, list[float]]) -> str:
    return draw_heatmaps({label: frame_of(each) for label, each in runs.items()}, 0.5).decode()


def scatter(*models: Figures) -> str:
    return draw_scatter(Summary(BENCHMARKS["rpts"], models, ())).decode()


labels = st.text(max_size=60)
shares = st.floats(0, 1) | st.just(math.nan)


@settings(max_examples=4)
@given(st.dictionaries(labels, st.lists(shares, min_size=4, max_size=4), min_size=1, max_size=3))
def test_any_heat_map_is_sound(runs: dict[str, list[float]]) -> None:
    drawn = heatmap(runs)
    assert len(parts_of_svg(drawn, "own")) == 4 * len(runs)
    missing = sum(math.isnan(each) for values in runs.values() for each in values)
    assert texts_of_svg(drawn).count("–") >= 4 * missing  # a run may have that name


@pytest.mark.parametrize(
    ("runs", "ends"),
    [
        ({"a": [0.1, 0.2], "b": [0.8, 0.83]}, ("0.10", "0.85")),
        ({"a": [0.51, 0.52], "b": [0.53]}, ("0.50", "0.70")),
        ({"a": [1.0], "b": [1.0]}, ("0.80", "1.00")),
        ({"a": [math.nan], "b": [math.nan]}, ("0.00", "1.00")),
    ],
)
def test_runs_share_the_range_of_colours(
    runs: dict[str, list[float]], ends: tuple[str, str]
) -> None:
    drawn = [each for each in texts_of_svg(heatmap(runs)) if len(each) == 4 and "." in each]
    assert sorted(drawn) == sorted([*ends] * 4 * len(runs))


def test_numbers_on_dark_cells_are_white_and_a_dash_stands_for_none() -> None:
    inks = {
        each.text: "fill: #ffffff" in each.get("style", "")
        for each in labels_of_svg(heatmap({"a": [0.0, 1.0, math.nan]}))
    }
    assert (inks["0.000"], inks["1.000"], inks["–"]) == (False, True, False)


def test_a_large_grid_is_no_picture_of_gigabytes() -> None:
    rows = [
        {"decay": at / 123, "focus_height": 1, **dict.fromkeys(QUANTITIES, 0.5), "own": at == 123}
        for at in range(124)  # at 160 dots per inch it would have 8,700 rows of dots
    ]
    png = draw_heatmaps({"a": pd.DataFrame(rows)}, 0.5, "png")
    assert png[:4] == b"\x89PNG"
    assert max(int.from_bytes(png[at : at + 4], "big") for at in (16, 20)) <= 8200


def model(name: str, tokens: float | None, value: float | None, *ends: float) -> Figures:
    low, high = ends or (None, None)
    figure = Figure(value, None, low, high, 1)
    return Figures("", None, "", name, 1, 1, 1, 0, Figure(tokens), {"rpts": figure})


@settings(max_examples=5)
@given(st.lists(st.tuples(labels, st.floats(0, 1e6), st.floats(0, 1)), min_size=1, max_size=8))
def test_any_scatter_plot_is_sound(models: list[tuple[str, float, float]]) -> None:
    drawn = scatter(*(model(*each) for each in models))
    points = parts_of_svg(drawn, "point")
    assert len(points) == len(models)
    assert all(len(list(each.iter("{http://www.w3.org/2000/svg}use"))) == 1 for each in points)


@pytest.mark.parametrize(
    ("tokens", "log"), [((100.0, 900.0), False), ((100.0, 1100.0), True), ((0.0, 1100.0), False)]
)
def test_the_axis_is_logarithmic_over_more_than_tenfold(tokens: Any, log: bool) -> None:
    drawn = texts_of_svg(scatter(*(model(f"m{each}", each, 0.5, 0.4, 0.6) for each in tokens)))
    assert ("tokens per response (mean, log scale)" in drawn) == log
    assert "1,000" in drawn


def test_each_model_has_a_point_of_its_own_and_a_line_in_the_legend() -> None:
    names = [f"model-{at}" for at in range(30)]
    drawn = scatter(*(model(name, 300.0, 0.5) for name in names))
    assert [each for each in texts_of_svg(drawn) if each.startswith("model-")] == names
    uses = [
        next(each.iter("{http://www.w3.org/2000/svg}use")) for each in parts_of_svg(drawn, "point")
    ]
    marks = {(each.get("{http://www.w3.org/1999/xlink}href"), each.get("style")) for each in uses}
    assert len(marks) == 30


def test_models_that_cannot_be_drawn_are_named() -> None:
    many = [model(f"a-b-{at}", None, 0.5) for at in range(30)]
    drawn = scatter(model("$x_", 9.0, 0.5), model("y", 9.0, None), *many)
    (at,) = [at for at, each in enumerate(texts_of_svg(drawn)) if each.startswith("tokens not")]
    lines = texts_of_svg(drawn)[at : at + 4]
    assert ", ".join(each.model for each in many) in " ".join(lines)
    assert max(map(len, lines)) <= 90
    assert "no score: y" in lines


def test_the_users_own_style_changes_nothing() -> None:
    mine = scatter(model("$x_$", 9.0, 0.5))
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "svg.fonttype": "path"}):
        assert scatter(model("$x_$", 9.0, 0.5)) == mine
        assert matplotlib.rcParams["font.size"] == 30

"""Plots of models and of a sweep: points, bars, scales and colours."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.analysis.summary import Summary
from lmms_rpts.base.errors import UserError
from lmms_rpts.report.plots import BLUES, WHITE_FROM, draw_summary, draw_sweeps
from lmms_rpts.stats.intervals import Interval
from lmms_rpts.tasks.registry import BENCHMARKS
from tests.support.pictures import labels_of_svg, parts_of_svg, texts_of_svg

METRIC = next(iter(BENCHMARKS["rpts"].metrics))


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


def heatmap(runs: dict[str, list[float]]) -> str:
    """A sweep over focus heights."""
    frames = {
        label: pd.DataFrame(
            [{"decay": 0.5, "focus_height": at, "rpts": value} for at, value in enumerate(values)]
        )
        for label, values in runs.items()
    }
    return draw_sweeps(frames).decode()


labels = st.text(max_size=60)


def test_numbers_on_dark_cells_are_white_and_a_dash_stands_for_none() -> None:
    inks = {
        each.text: "fill: #ffffff" in each.get("style", "")
        for each in labels_of_svg(heatmap({"a": [0.0, 1.0, math.nan]}))
    }
    assert (inks["0.000"], inks["1.000"], inks["–"]) == (False, True, False)


def model(name: str, value: float | None, tokens: float | None = None, **ends: float) -> Any:
    score = Interval(value, **ends)
    return {"group": "", "task": "", "model": name, "tokens": Interval(tokens), METRIC: score}


def scatter(*models: Any) -> str:
    return draw_summary(Summary(BENCHMARKS["rpts"], pd.DataFrame(models), ())).decode()


@settings(max_examples=5)
@given(st.lists(st.tuples(labels, st.floats(0, 1), st.floats(0, 1e6)), min_size=1, max_size=8))
def test_any_plot_of_models_is_sound(models: list[tuple[str, float, float]]) -> None:
    drawn = scatter(*(model(*each) for each in models))
    assert len(parts_of_svg(drawn, "point")) == len(models)


@pytest.mark.parametrize(
    ("tokens", "log"), [((100.0, 900.0), False), ((100.0, 1100.0), True), ((None, None), None)]
)
def test_score_against_tokens(tokens: Any, log: bool | None) -> None:
    drawn = texts_of_svg(scatter(*(model("m", 0.5, each, low=0.4, high=0.6) for each in tokens)))
    assert ("tokens per response (mean, log scale)" in drawn) == bool(log)
    assert any("tokens per response" in each for each in drawn) == (log is not None)


def test_models_without_a_value_are_left_out_and_rounds_have_their_deviation() -> None:
    drawn = scatter(model("$x_$", 0.5, sd=0.1), model("y", None), model("z", 0.7))
    assert [each for each in texts_of_svg(drawn) if each in ("$x_$", "y", "z")] == ["$x_$", "z"]
    assert len(parts_of_svg(drawn, "bar")) == 2
    with pytest.raises(UserError, match="no model has a value"):
        scatter(model("y", None))

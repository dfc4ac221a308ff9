"""ReForm-Eval by dimension: means over sets, averages and ranks, and what a table covers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from lmms_rpts.analysis.dimensions import (
    average_ranks,
    averages,
    dimension_numbers,
    dimension_scores,
    dimension_sheets,
)
from lmms_rpts.runs.rounds import Figure
from lmms_rpts.tasks.reform_eval.sets import GROUPS


def figures(model: str, tasks: Sequence[str], value: float) -> list[Any]:
    figure = Figure(value, None, value - 0.1, value + 0.1, 24)
    metrics = {"accuracy": figure, "cider": Figure(value)}
    return [SimpleNamespace(task=task, model=model, metrics=metrics) for task in tasks]


def test_a_dialogue_that_was_run_online_counts_so() -> None:
    models = [
        *figures("a", GROUPS["reform_spatial"], 0.5),
        *figures("a", ["reform_visdial_online"], 0.2),
        *figures("a", ["reform_visdial"], 0.6),
        *figures("a", ["reform_vqa_mt"], 0.4),
    ]
    for listed in (models, models[::-1]):
        dialogue = dimension_scores(listed, "generation")["a"]["dialogue"]
        assert dialogue.value == pytest.approx(30)
        assert (dialogue.sets, dialogue.of, dialogue.online) == (2, 2, 1)
    (sheet,) = dimension_sheets(models)
    ((row,),) = sheet.sections
    assert sheet.heads == ["model", "spatial", "dialogue", "average"]
    # Three intervals of 0.1 to each side: 100 * sqrt(3 * 0.01) / 3 = 5.8
    assert row[1] == "50.0 [44, 56]"
    assert row[2].endswith("] (1 online)")
    assert row[3] == "40.0 (2 of 8 dimensions, 5 of 61 sets)"
    assert averages(models)["generation", "a"]["average"].value is None


def test_averages_and_ranks_worked_by_hand() -> None:
    whole = figures("a", GROUPS["reform_eval_likelihood"], 0.5)
    (sheet,) = dimension_sheets(whole)
    assert sheet.sections[0][0][-1] == "50.0"
    assert averages(whole)["likelihood", "a"]["average"].value == pytest.approx(50)
    models = [
        *figures("g", ["reform_gqa", "reform_vsr"], 1.0),
        *figures("b", ["reform_gqa"], 0.2),
        *figures("b", ["reform_vsr"], 1.0),
    ]
    scores = dimension_scores(models, "generation")
    # First and second of the one, equal in the other.
    assert average_ranks(scores) == {"g": 1.25, "b": 1.75}
    assert average_ranks({"g": scores["g"]}) == {}
    (sheet,) = dimension_sheets(models)
    assert sheet.heads[-1] == "rank (2 of 8)"
    assert sheet.sections[0][0][1].endswith("(1 of 12)")
    numbers = dimension_numbers(models)["dimensions"]["generation"]
    assert numbers["average_ranks"] == {"g": 1.25, "b": 1.75}
    assert numbers["dimensions"]["g"]["reasoning"]["value"] == 100.0
    (captions,) = dimension_scores(figures("c", ["reform_nocaps"], 1.2), "generation").values()
    assert captions["description"].value == pytest.approx(120)
    assert dimension_numbers([]) == {}

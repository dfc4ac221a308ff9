"""ReForm-Eval by dimension: means over sets, averages and ranks, and what a table covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from lmms_rpts.stats.intervals import Interval
from lmms_rpts.tasks.reform_eval.dimensions import (
    average_ranks,
    averages,
    dimension_scores,
    dimension_tables,
)
from lmms_rpts.tasks.reform_eval.sets import GROUPS


def figures(model: str, tasks: Sequence[str], value: float) -> list[Any]:
    score = Interval(value, value - 0.1, value + 0.1, 24)
    rows = {"model": model, "accuracy": score, "cider": Interval(value)}
    return [{"task": task, **rows} for task in tasks]


def test_a_dialogue_that_was_run_online_counts_so() -> None:
    rows = [
        *figures("a", GROUPS["reform_spatial"], 0.5),
        *figures("a", ["reform_visdial_online"], 0.2),
        *figures("a", ["reform_visdial"], 0.6),
        *figures("a", ["reform_vqa_mt"], 0.4),
    ]
    for ordered in (rows, rows[::-1]):
        dialogue = dimension_scores(pd.DataFrame(ordered), "generation")["a"]["dialogue"]
        assert (dialogue.value, dialogue.n) == (pytest.approx(30), 2)
    ((frame, notes),) = dimension_tables(pd.DataFrame(rows)).values()
    assert list(frame.columns) == ["model", "spatial", "dialogue", "average"]
    (row,) = frame.to_dict("records")
    # Three intervals of 0.1 to each side: 100 * sqrt(3 * 0.01) / 3 = 5.77
    assert row["spatial"] == Interval(
        pytest.approx(50), pytest.approx(44.23, abs=0.01), pytest.approx(55.77, abs=0.01), 3
    )
    assert row["average"] == pytest.approx(40)
    assert notes == ["a: none of 6 dimensions"]
    assert averages(pd.DataFrame(rows))["generation", "a"].value is None


def test_averages_and_ranks_by_hand() -> None:
    whole = pd.DataFrame(figures("a", GROUPS["reform_eval_likelihood"], 0.5))
    assert averages(whole)["likelihood", "a"].value == pytest.approx(50)
    models = pd.DataFrame(
        [
            *figures("g", ["reform_gqa", "reform_vsr"], 1.0),
            *figures("b", ["reform_gqa"], 0.2),
            *figures("b", ["reform_vsr"], 1.0),
        ]
    )
    scores = dimension_scores(models, "generation")
    # First and second of the one, equal in the other.
    assert average_ranks(scores) == {"g": 1.25, "b": 1.75}
    assert average_ranks({"g": scores["g"]}) == {}
    ((frame, notes),) = dimension_tables(models).values()
    assert list(frame["rank"]) == [1.25, 1.75]
    assert "1 of 12 sets of reasoning" in notes[0]
    captions = dimension_scores(pd.DataFrame(figures("c", ["reform_nocaps"], 1.2)), "generation")
    assert captions["c"]["description"].value == pytest.approx(120)
    assert dimension_tables(pd.DataFrame(figures("c", ["other"], 1.0))) == {}

"""Summary of several models: rounds, intervals, and runs that are not comparable."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.reading import read_runs
from lmms_rpts.analysis.summary import Figures, Summary, summarize
from lmms_rpts.analysis.tables import best
from lmms_rpts.report.entries import RptsView
from lmms_rpts.report.plots import points_of
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.rounds import Figure
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.stats.intervals import estimate_mean
from tests.analysis.test_sweeping import judged
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, scoring_with, write_run
from tests.support.tables import table


def summary_of(folder: Path, task: str | None = None, **rounds: list[dict[int, Any]]) -> Summary:
    """A summary of runs by model name; each model has a list of rounds."""
    for model, each in rounds.items():
        for number, records in enumerate(each):
            write_run(
                folder / f"{model}{number}",
                records,
                model_args=f"pretrained=lab/{model}",
                tokens=dict.fromkeys(records, 100 * (number + 1)),
            )
    return summarize(read_runs([folder]), task=task)


def scores(*values: float | None) -> dict[int, Any]:
    return {at: judged(value) for at, value in enumerate(values)}


def test_rounds_by_hand(tmp_path: Path) -> None:
    found = summary_of(
        tmp_path, a=[scores(0.0, 0.5), scores(0.5, 0.5), scores(1.0, 0.5)], b=[scores(0.5, 0.75)]
    )
    a, b = found.models
    assert (a.model, a.rounds, a.documents) == ("a", 3, 2)
    # The rounds' means are 0.25, 0.5 and 0.75: their squared distances sum to 0.125.
    assert a.metrics["rpts"] == Figure(0.5, pytest.approx(math.sqrt(0.125 / 2)), n=3)
    assert a.tokens == Figure(200.0, pytest.approx(100.0), n=3)
    interval = estimate_mean([0.5, 0.75])
    assert b.metrics["rpts"] == Figure(0.625, None, interval.low, interval.high, 2)
    assert b.tokens == Figure(100.0, n=2)
    assert found.warnings == ()


def test_the_frame_has_a_row_a_task_and_model(tmp_path: Path) -> None:
    for task, value in (("rpts_eval_en", 1.0), ("rpts_eval_zh", 0.5)):
        write_run(tmp_path, scores(value, value, *[0.0] * (task == "rpts_eval_zh")), task=task)
    found = summarize(read_runs([tmp_path]))
    frame = found.frame()
    assert list(frame["group"].fillna("")) == ["", "rpts_eval_en", "rpts_eval_zh"]
    assert list(frame["rpts"]) == pytest.approx([0.6, 1.0, 1 / 3])  # of all 5, of 2, of 3
    assert list(frame["rpts_n"]) == [5, 2, 3]
    assert frame["rpts_sd"].isna().all()
    assert frame["rpts_sd"].dtype == float
    only = summarize(read_runs([tmp_path]), task="rpts_eval_en")
    assert [row.group for row in only.of("task")] == ["rpts_eval_en"]
    assert only.models[0].metrics["rpts"].value == 1.0


def test_a_task_that_no_run_has(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"No run has the task mme\. Tasks of the runs: rpts_eval_en"
    ):
        summary_of(tmp_path, "mme", a=[scores(1.0)])


def test_a_round_without_a_value_is_no_round_of_that_metric(tmp_path: Path) -> None:
    found = summary_of(tmp_path, a=[scores(None), scores(0.25)])
    (model,) = found.models
    assert model.rounds == 2
    assert model.metrics["rpts"] == Figure(0.25, n=1)
    assert model.metrics["judge_coverage"].value == 0.5
    (told,) = found.warnings
    assert "a0: 1 of 1 responses have no score" in told


def test_undecided_answers_give_accuracy_a_range_and_failed_requests_none(tmp_path: Path) -> None:
    """Documents 0 (two responses) to 2: from 1/6 (0.5, 0, 0) to 2/3 (1, 0, 1)."""
    undecided = judged(1.0, right=None)
    undecided["answer"] |= {"value": None, "reason": "the rules cannot read the stated answer"}
    failed = judged(None, right=None) | {"reason": "the model request failed: busy"}
    records = {0: [judged(1.0), undecided], 1: judged(0.0, right=False), 2: undecided, 3: failed}
    found = summary_of(tmp_path, a=[records])
    assert found.models[0].metrics["accuracy"].value == 0.5
    assert found.warnings == (
        "a: 1 of 5 responses have no score, and are left out of rpts (most often: the model "
        "request failed: busy)",
        "a: 2 of 5 answers are neither right nor wrong, and are left out of accuracy, which is "
        "from 0.167 (all of them wrong) to 0.667 (all right)",
    )
    assert found.warnings[1] in RptsView(read_runs([tmp_path])).warnings


def test_runs_of_other_documents_are_no_rounds(tmp_path: Path) -> None:
    """A standard deviation between a whole run and a part of it would mean nothing."""
    found = summary_of(tmp_path, a=[scores(1.0, 1.0, 1.0), scores(1.0)])
    assert [(each.model, each.rounds) for each in found.models] == [("a0", 1), ("a1", 1)]
    (told,) = found.warnings
    assert "3 by a0, 1 by a1; 1 are common" in told


def test_models_of_one_name_and_other_judges_are_no_rounds(tmp_path: Path) -> None:
    for at, (source, judge) in enumerate((("x/m", "j"), ("y/m", "j"), ("x/m", "k"))):
        records = {0: make_record([0.5, 0.5], judge=f"openai:{judge}")}
        write_run(tmp_path / str(at), records, model_args=f"pretrained={source}")
    models = summarize(read_runs([tmp_path])).models
    assert [each.rounds for each in models] == [1, 1, 1]
    assert len({each.model for each in models}) == 3


def test_copies_are_told(tmp_path: Path) -> None:
    found = summary_of(tmp_path, a=[scores(0.5, 1.0), scores(0.5, 1.0)])
    assert any("identical responses" in each for each in found.warnings)


def test_models_with_other_documents_are_told(tmp_path: Path) -> None:
    found = summary_of(tmp_path, a=[scores(1.0, 1.0)], b=[scores(1.0)])
    (told,) = found.warnings
    assert "2 by a, 1 by b; 1 are common" in told


@table(
    "change, told",
    ({"judge": "lexical"}, "judge: openai:oracle in a; lexical in b"),
    ({"scoring": scoring_with(decay=0.5)}, "decay: 0.9 in a; 0.5 in b"),
    (
        {"scoring": scoring_with(focus_height=2, prompt_version="2")},
        "focus height: 1 in a; 2 in b. prompt version: 1 in a; 2 in b",
    ),
)
def test_other_judges_and_settings_are_told(tmp_path: Path, change: Any, told: str) -> None:
    other = make_record([0.5], steps=("Image0 -> A.",), **change)
    found = summary_of(tmp_path, a=[scores(0.5)], b=[{0: other}])
    (warning,) = found.warnings
    assert "not comparable side by side" in warning
    assert told in warning


def models_of(name: str, *values: float | None, tokens: float | None = None) -> list[Figures]:
    blank = dict.fromkeys(METRICS, Figure(None))
    return [
        Figures("", None, "", f"m{at}", 1, 1, 1, 0, Figure(tokens), blank | {name: Figure(value)})
        for at, value in enumerate(values)
    ]


@table(
    "name, values, wanted",
    ("rpts", (0.5, 0.75, None), {"m1"}),
    ("right_for_wrong_reason", (0.5, 0.75, None), {"m0"}),
    ("rpts", (0.75, 0.75002, 0.5), {"m0", "m1"}),  # both are displayed as 0.750
    ("rpts", (0.75, 0.75002), set()),
    ("rpts", (0.75,), set()),
    ("rpts", (None, None), set()),
)
def test_best(name: str, values: tuple[float | None, ...], wanted: set[str]) -> None:
    assert best(METRICS[name], models_of(name, *values)) == wanted


def test_points_and_their_bars(tmp_path: Path) -> None:
    found = summary_of(tmp_path, a=[scores(0.25), scores(0.75)], b=[scores(0.0, 1.0)])
    a, b = points_of(found.models, "rpts")
    sd = math.sqrt(0.125)  # distances of 0.25 to the mean, twice, over n - 1 = 1
    assert a[:3] == ("a", 150.0, 0.5)
    assert a.ends == pytest.approx((0.5 - sd, 0.5 + sd))
    interval = estimate_mean([0.0, 1.0])
    assert b == ("b", 100.0, 0.5, (interval.low, interval.high))
    assert points_of(models_of("rpts", 0.5), "rpts") == []
    assert points_of(models_of("rpts", None, tokens=9.0), "rpts") == []
    assert points_of(models_of("rpts", 0.5, tokens=9.0), "rpts") == [("m0", 9.0, 0.5, ())]


# --- graded answers


def test_graded_answers_by_hand(tmp_path: Path) -> None:
    """Four answers, of which the judge failed on one; two of three are right."""
    right = make_rome_record(0.0, llm=1.0, consistent=True)
    failed = make_rome_record(1.0, failed="refused", consistency_error="no reply")
    wrong = make_rome_record(1.0, llm=0.0, language="zh")
    records = {"geo": [right, wrong], "academic": [right, failed]}
    write_rome_run(tmp_path, records, tokens=10)
    found = summarize(read_runs([tmp_path]), ["language", "image_type"])
    (model,) = found.models
    assert (model.documents, model.responses, model.unscored, model.tokens.value) == (4, 4, 1, 10)
    accuracy = model.metrics["accuracy"]
    assert (accuracy.value, accuracy.n) == (2 / 3, 3)
    assert model.metrics["thinking_answer_consistency"].n == 2
    by = {(row.by, row.group): row.metrics["accuracy"].value for row in found.rows}
    assert by == {
        ("", None): 2 / 3,
        ("subtask", "academic"): 1.0,
        ("subtask", "geo"): 0.5,
        ("language", "en"): 1.0,
        ("language", "zh"): 0.0,
        ("image_type", "Expert"): 2 / 3,
    }
    assert found.warnings == (
        "model-a: 1 of 4 responses have no score, and are left out of accuracy (most often: "
        "refused)",
        "model-a: for 1 of 4 responses, the judge's answer on consistency is missing (most often: "
        "no reply)",
    )

"""Summary of several models: rounds, intervals, breakdowns, and runs that are not comparable."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.analysis.summary import Summary, summarize
from lmms_rpts.runs.run import Run
from lmms_rpts.stats.intervals import Interval, estimate_mean
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import judged, make_record, scoring_with, write_run
from tests.support.tables import table


def summary_of(folder: Path, **rounds: list[dict[int, Any]]) -> Summary:
    """A summary of runs by model name; each model has a list of rounds."""
    for model, runs in rounds.items():
        for number, records in enumerate(runs):
            write_run(
                folder / f"{model}{number}",
                records,
                model_args=f"pretrained=lab/{model}",
                tokens=dict.fromkeys(records, 100 * (number + 1)),
            )
    return summarize(read_runs([folder]))


def scores(*values: float | None) -> dict[int, Any]:
    return {at: judged(value) for at, value in enumerate(values)}


def test_rounds_by_hand(tmp_path: Path) -> None:
    summary = summary_of(
        tmp_path, a=[scores(0.0, 0.5), scores(0.5, 0.5), scores(1.0, 0.5)], b=[scores(0.5, 0.75)]
    )
    a, b = summary.models.to_dict("records")
    assert (a["model"], a["rounds"], a["documents"]) == ("a", 3, 2)
    # The rounds' means are 0.25, 0.5 and 0.75: their squared distances sum to 0.125.
    assert a["rpts"] == Interval(0.5, n=3, sd=pytest.approx(math.sqrt(0.125 / 2)))
    assert a["tokens"] == Interval(200.0, n=3, sd=pytest.approx(100.0))
    assert b["rpts"] == estimate_mean([0.5, 0.75])
    assert b["tokens"] == Interval(100.0, n=2)
    assert summary.warnings == ()
    frame = summary.frame()
    assert list(frame["rpts"]) == [0.5, 0.625]
    assert frame["rpts_sd"].isna().tolist() == [False, True]


def test_breakdowns_and_all_documents(tmp_path: Path) -> None:
    for task, value in (("rpts_eval_en", 1.0), ("rpts_eval_zh", 0.5)):
        write_run(tmp_path, scores(value, value, *[0.0] * (task == "rpts_eval_zh")), task=task)
    runs = read_runs([tmp_path])
    rows = summarize(runs, "task").table.to_dict("records")
    figures = {row["group"]: (row["rpts"].value, row["rpts"].n) for row in rows}
    assert figures == {
        "rpts_eval_en": (1.0, 2),
        "rpts_eval_zh": (pytest.approx(1 / 3), 3),
        "": (pytest.approx(0.6), 5),
    }
    labels = {"side": {record.instance.cluster: "left" for record in runs[0].responses[:1]}}
    # A label holds for a document and its translation.
    groups = summarize(runs, "side", labels).table
    assert dict(zip(groups["group"], groups["documents"], strict=True)) == {
        "left": 2,
        "(not given)": 3,
        "": 5,
    }
    with pytest.raises(ValueError, match="Unknown column 'colour' for --by; columns: task, lang"):
        summarize(runs, "colour")


def test_a_round_without_a_value_is_no_round_of_that_metric(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, a=[scores(None), scores(0.25)])
    (row,) = summary.table.to_dict("records")
    assert row["rounds"] == 2
    assert row["rpts"] == Interval(0.25, n=1)
    assert row["judge_coverage"].value == 0.5
    (warning,) = summary.warnings
    assert "a0: 1 of 1 responses have no score" in warning


def test_undecided_answers_give_accuracy_a_range_and_failed_requests_none(tmp_path: Path) -> None:
    """Documents 0 (two responses) to 2: from 1/6 (0.5, 0, 0) to 2/3 (1, 0, 1)."""
    undecided = judged(1.0, right=None)
    undecided["answer"] |= {"value": None, "reason": "the rules cannot read the stated answer"}
    failed = judged(None, right=None) | {"reason": "the model request failed: busy"}
    records = {0: [judged(1.0), undecided], 1: judged(0.0, right=False), 2: undecided, 3: failed}
    summary = summary_of(tmp_path, a=[records])
    assert summary.table["accuracy"].iloc[0].value == 0.5
    assert summary.warnings == (
        "a: 1 of 5 responses have no score, and are left out of rpts (most often: the model "
        "request failed: busy)",
        "a: 2 of 5 answers are neither right nor wrong, and are left out of accuracy, which is "
        "from 0.167 (all of them wrong) to 0.667 (all right)",
    )


def test_what_is_no_round(tmp_path: Path) -> None:
    """Other documents, checkpoints of one name, other judges."""
    parts = summary_of(tmp_path / "a", a=[scores(1.0, 1.0, 1.0), scores(1.0)])
    assert list(zip(parts.models["model"], parts.models["rounds"], strict=True)) == [
        ("a0", 1),
        ("a1", 1),
    ]
    (warning,) = parts.warnings
    assert "3 by a0, 1 by a1; 1 are common" in warning
    for at, (source, judge) in enumerate((("x/m", "j"), ("y/m", "j"), ("x/m", "k"))):
        records = {0: make_record([0.5, 0.5], judge=f"openai:{judge}")}
        write_run(tmp_path / "b" / str(at), records, model_args=f"pretrained={source}")
    models = summarize(read_runs([tmp_path / "b"])).models
    assert list(models["rounds"]) == [1, 1, 1]
    assert models["model"].nunique() == 3


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
    summary = summary_of(tmp_path, a=[scores(0.5)], b=[{0: other}])
    assert any("not comparable side by side" in it and told in it for it in summary.warnings)


def test_a_stopped_run_is_said_to_be_one(tmp_path: Path) -> None:
    samples = write_run(tmp_path, scores(0.5, None))
    results = samples.with_name(samples.name.partition("_samples_")[0] + "_results.json")
    usage = {"judges": {"calls": 1, "stopped": "no credit"}}
    results.write_text(json.dumps(json.loads(results.read_text()) | {"usage": usage}))
    assert (
        "model-a: judging stopped before its end (no credit)"
        in summarize(read_runs([tmp_path])).warnings[0]
    )


def test_graded_answers_by_hand(tmp_path: Path) -> None:
    """Four answers, of which the judge failed on one; two of three are right."""
    right = make_rome_record(0.0, llm=1.0, consistent=True)
    failed = make_rome_record(1.0, failed="refused", consistency_error="no reply")
    wrong = make_rome_record(1.0, llm=0.0, language="zh")
    records = {"geo": [right, wrong], "academic": [right, failed]}
    write_rome_run(tmp_path, records, tokens=10)
    runs: list[Run] = read_runs([tmp_path])
    summary = summarize(runs)
    (row,) = summary.table.to_dict("records")
    assert [row[name] for name in ("documents", "responses", "unscored")] == [4, 4, 1]
    assert (row["accuracy"].value, row["accuracy"].n) == (pytest.approx(2 / 3), 3)
    assert row["thinking_answer_consistency"].n == 2
    assert row["tokens"].value == 10
    for by, wanted in {
        "subtask": {"academic": 1.0, "geo": 0.5},
        "language": {"en": 1.0, "zh": 0.0},
        "image_type": {"Expert": 2 / 3},
    }.items():
        rows = summarize(runs, by).table.to_dict("records")
        figures = {row["group"]: row["accuracy"].value for row in rows if row["group"]}
        assert figures == pytest.approx(wanted)
    assert summary.warnings == (
        "model-a: 1 of 4 responses have no score, and are left out of accuracy (most often: "
        "refused)",
        "model-a: for 1 of 4 responses, the judge's answer on consistency is missing (most often: "
        "no reply)",
    )

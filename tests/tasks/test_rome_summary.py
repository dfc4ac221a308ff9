"""Summaries of ROME runs: manually worked values, and what the command prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from lmms_rpts.analysis.reading import read_runs, summarize
from lmms_rpts.analysis.summary import Figures
from lmms_rpts.analysis.summary import Summary
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.record import GRADING
from tests.support.rome_runs import make_rome_record as record
from tests.support.rome_runs import write_rome_run
from tests.support.tables import table

LLM = {"grader": "recommended", "judge": "openai:oracle"}


def group(summary: GradeSummary, value: str | None, by: str = "subtask") -> dict[str, Figures]:
    """The figures of the models on the questions of one group, by model name."""
    (table,) = [each for each in summary.tables if each.by == by]
    (found,) = [each for each in table.groups if each.value == value]
    return {each.model: each for each in found.models}


# Parsing


@pytest.mark.parametrize(
    "settings", [{"grader": "llm"}, {"judge": "openai:other"}, {"prompt_version": "0"}]
)
def test_parts_that_were_graded_in_other_ways_are_other_runs(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    write_rome_run(tmp_path / "a", {"diagrams": [record(llm=1.0, settings=LLM)]})
    write_rome_run(tmp_path / "b", {"geo": [record(llm=1.0, settings=LLM | settings)]})
    runs = read_runs([tmp_path])
    assert len(runs) == 2
    (warning,) = [each for each in summarize(runs).warnings if "different ways" in each]
    assert next(iter(settings)).replace("judge", "model").replace("_", " ") in warning


# Next to RPTS


# Figures


def test_accuracy_is_over_questions_not_over_subtasks(tmp_path: Path) -> None:
    write_rome_run(
        tmp_path, {"academic": [record(1), record(1), record(0)], "geo": [record(0)]}, tokens=10
    )
    summary = summarize(read_runs([tmp_path]))
    (overall,) = summary.models
    accuracy = overall.metrics["accuracy"]
    assert (accuracy.value, accuracy.n, overall.questions, overall.rounds) == (0.5, 4, 4, 1)
    # The exact interval of 2 of 4: 6p^2 - 8p^3 + 3p^4 = 0.025.
    assert (accuracy.low, accuracy.high) == pytest.approx((0.067586, 0.932414), abs=1e-6)
    assert [each.value for each in summary.tables[0].groups] == ["academic", "geo"]
    assert group(summary, "academic")["model-a"].metrics["accuracy"].value == pytest.approx(2 / 3)
    assert (overall.tokens.value, overall.tokens.n) == (10.0, 4)
    assert overall.metrics["thinking_answer_consistency"].value is None


def test_what_failed_is_left_out_and_counted(tmp_path: Path) -> None:
    failed = record(1.0, failed="the judge refused", consistency_error="no reply")
    write_rome_run(tmp_path, {"geo": [failed, record(0.0, 1.0, 0.0, consistent=True)]})
    summary = summarize(read_runs([tmp_path]))
    (overall,) = summary.models
    assert (overall.unscored, overall.questions, overall.counts["judged"]) == (1, 2, 1)
    assert (overall.metrics["accuracy"].value, overall.metrics["accuracy"].n) == (0.0, 1)
    assert (overall.metrics["accuracy_strict"].value, overall.metrics["accuracy_strict"].n) == (
        1,
        2,
    )
    assert overall.metrics["thinking_answer_consistency"].value == 1.0
    assert summary.warnings == (
        "model-a: 1 of 2 responses have no score, and are left out of accuracy (most often: the "
        "judge refused)",
        "model-a: for 1 of 2 responses, the judge did not say whether they are consistent (most "
        "often: no reply)",
    )


def test_a_missing_response_has_no_grade_at_all(tmp_path: Path) -> None:
    missing = record(failed="there is no response") | {"grader": "rule"}
    missing["grades"] = {"rule": None, "strict": None, "llm": None}
    write_rome_run(tmp_path, {"geo": [missing, record(1.0)]})
    summary = summarize(read_runs([tmp_path]))
    assert summary.models[0].metrics["accuracy_strict"].n == 1


def test_breakdowns(tmp_path: Path) -> None:
    fields = {
        "image_type": ("Expert", "Artificial", None),
        "image_subtype": ("Science", None, None),
        "reasoning_type": ("VL", "V", "VL"),
        "question_type": ("open", "open", "open"),
        "evaluator": ("number_matching", "choices_matching", "number_matching"),
        "language": ("zh", "en", "en"),
    }
    rows = [
        record(float(at == 0), **{name: values[at] for name, values in fields.items()})
        for at in range(3)
    ]
    write_rome_run(tmp_path, {"spatial": rows})
    summary = summarize(read_runs([tmp_path]), [*fields, "language"])
    found = {
        table.by: {each.value: each.models[0].metrics["accuracy"].value for each in table.groups}
        for table in summary.tables
    }
    assert list(found) == list(GRADING.breakdowns)
    assert found["image_type"] == {"Artificial": 0.0, "Expert": 1.0, None: 0.0}
    assert list(found["image_type"]) == ["Artificial", "Expert", None]
    assert found["image_subtype"] == {"Science": 1.0, None: 0.0}
    assert found["reasoning_type"] == {"V": 0.0, "VL": 0.5}
    assert found["question_type"] == {"open": pytest.approx(1 / 3)}
    assert found["evaluator"] == {"choices_matching": 0.0, "number_matching": 0.5}
    assert found["language"] == {"en": 0.0, "zh": 1.0}


def test_subtasks_stand_in_their_usual_order(tmp_path: Path) -> None:
    write_rome_run(tmp_path, {name: [record()] for name in reversed(SUBTASKS)})
    (table,) = summarize(read_runs([tmp_path])).tables
    assert tuple(each.value for each in table.groups) == SUBTASKS


def test_disagreements_of_graders(tmp_path: Path) -> None:
    records = [record(1.0), record(1.0, 0.0), record(1.0, 1.0, 0.0), record(0.0, 1.0, 0.0)]
    write_rome_run(tmp_path, {"geo": records})
    summary = summarize(read_runs([tmp_path]))
    (overall,) = summary.models
    assert (
        overall.counts["rule_strict"],
        overall.counts["rule_llm"],
        overall.counts["judged"],
    ) == (2, 1, 2)


Command = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = {
        "academic": [record(1.0), record(0.0, 1.0), record(1.0)],
        "geo": [record(0.5, consistent=True), record(1.0, failed="refused")],
    }
    write_rome_run(tmp_path / "a", records, tokens=1200)
    return tmp_path / "a"


@table("arguments", ["sweep", "RUN"], ["agreement", "RUN", "RUN"])
def test_commands_for_rpts_name_those_for_all_benchmarks(run: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, [str(run) if each == "RUN" else each for each in arguments])
    assert result.exit_code == 1
    assert f"The samples in {run} are of other tasks, not scored by rpts_aggregate" in result.stderr
    assert "lmms-rpts summarize, report and compare read those of all benchmarks" in result.stderr
    assert "Traceback" not in result.output

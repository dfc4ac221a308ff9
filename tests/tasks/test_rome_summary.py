"""Summaries of ROME runs: reading, and manually worked values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.grade_types import Figures
from lmms_rpts.tasks.graded import GradeSummary
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.record import (
    GRADING,
    RomeRecord,
    process_results,
    read_rome_runs,
    summarize_rome,
)
from tests.support.rome_runs import make_rome_record as record
from tests.support.rome_runs import write_rome_run

LLM = {"grader": "recommended", "judge": "openai:oracle"}


def group(summary: GradeSummary, value: str | None, by: str = "subtask") -> dict[str, Figures]:
    """The figures of the models on the questions of one group, by model name."""
    (table,) = [each for each in summary.tables if each.by == by]
    (found,) = [each for each in table.groups if each.value == value]
    return {each.model: each for each in found.models}


# Parsing


def test_a_record_is_read_whole(tmp_path: Path) -> None:
    given = record(1.0, 0.5, 0.0, consistent=False, image_type=None, language="zh")
    write_rome_run(tmp_path, {"geo": [given]}, tokens=42)
    (run,) = read_rome_runs([tmp_path])
    (found,) = run.responses
    assert (run.label, run.tasks, found.instance.key) == ("model-a", ("rome_geo",), ("rome_geo", 0))
    assert (found.score, found.grades.rule, found.grades.strict, found.llm) == (0.0, 1.0, 0.5, 0.0)
    assert found.grades.llm is not None
    assert (found.grader, found.reason, found.grades.llm.error) == ("llm", None, None)
    assert found.consistent is False
    assert (found.text, found.answer, found.tokens) == ("Final Answer: B", "Final Answer: B", 42)
    instance = found.instance
    assert (instance.subtask, instance.id, instance.language) == ("geo", "question_geo_0", "zh")
    assert (instance.image_type, instance.image_subtype) == (None, "Science")
    assert (instance.evaluator_kwargs, instance.images) == ('{"label": "B"}', ("academic/1.png",))
    assert found.scoring.judge == "openai:oracle"


@pytest.mark.parametrize(
    "settings", [{"grader": "llm"}, {"judge": "openai:other"}, {"prompt_version": "0"}]
)
def test_parts_that_were_graded_in_other_ways_are_other_runs(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    write_rome_run(tmp_path / "a", {"diagrams": [record(llm=1.0, settings=LLM)]})
    write_rome_run(tmp_path / "b", {"geo": [record(llm=1.0, settings=LLM | settings)]})
    runs = read_rome_runs([tmp_path])
    assert len(runs) == 2
    (warning,) = [each for each in summarize_rome(runs).warnings if "different ways" in each]
    assert next(iter(settings)).replace("judge", "model").replace("_", " ") in warning


# Next to RPTS


# Figures


def test_accuracy_is_over_questions_not_over_subtasks(tmp_path: Path) -> None:
    write_rome_run(
        tmp_path, {"academic": [record(1), record(1), record(0)], "geo": [record(0)]}, tokens=10
    )
    summary = summarize_rome(read_rome_runs([tmp_path]))
    (overall,) = summary.models
    accuracy = overall.metrics["accuracy"]
    assert (accuracy.value, accuracy.n, overall.questions, overall.rounds) == (0.5, 4, 4, 1)
    # The exact interval of 2 of 4: 6p^2 - 8p^3 + 3p^4 = 0.025.
    assert (accuracy.low, accuracy.high) == pytest.approx((0.067586, 0.932414), abs=1e-6)
    assert [each.value for each in summary.tables[0].groups] == ["academic", "geo"]
    assert group(summary, "academic")["model-a"].metrics["accuracy"].value == pytest.approx(2 / 3)
    assert (overall.tokens.value, overall.tokens.n) == (10.0, 4)
    assert overall.metrics["thinking_answer_consistency"].value is None


def test_partial_credit_has_the_interval_of_means(tmp_path: Path) -> None:
    write_rome_run(tmp_path, {"geo": [*[record(0.5)] * 6, record(1.0), record(0.0)]})
    (overall,) = summarize_rome(read_rome_runs([tmp_path])).models
    accuracy = overall.metrics["accuracy"]
    # With one more 0: mean 4 / 9, squared deviations 6 / 18^2 + 25 / 81 + 2 * 16 / 81 = 13 / 18;
    # t of 8 degrees of freedom is 2.306004.
    low = 4 / 9 - 2.306004 * (13 / 18 / 8 / 9) ** 0.5
    assert accuracy.value == 0.5
    assert (accuracy.low, accuracy.high) == pytest.approx((low, 1 - low), abs=1e-6)


def test_what_failed_is_left_out_and_counted(tmp_path: Path) -> None:
    failed = record(1.0, failed="the judge refused", consistency_error="no reply")
    write_rome_run(tmp_path, {"geo": [failed, record(0.0, 1.0, 0.0, consistent=True)]})
    summary = summarize_rome(read_rome_runs([tmp_path]))
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
    summary = summarize_rome(read_rome_runs([tmp_path]))
    assert summary.lists["disagreements"] == ()
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
    summary = summarize_rome(read_rome_runs([tmp_path]), [*fields, "language"])
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
    (table,) = summarize_rome(read_rome_runs([tmp_path])).tables
    assert tuple(each.value for each in table.groups) == SUBTASKS


def test_disagreements_of_graders(tmp_path: Path) -> None:
    records = [record(1.0), record(1.0, 0.0), record(1.0, 1.0, 0.0), record(0.0, 1.0, 0.0)]
    write_rome_run(tmp_path, {"geo": records})
    summary = summarize_rome(read_rome_runs([tmp_path]))
    (overall,) = summary.models
    assert (
        overall.counts["rule_strict"],
        overall.counts["rule_llm"],
        overall.counts["judged"],
    ) == (2, 1, 2)
    assert [
        (each["id"][-1], each["rule"], each["strict"], each["llm"])
        for each in summary.lists["disagreements"]
    ] == [("1", 1.0, 0.0, None), ("2", 1.0, 1.0, 0.0), ("3", 0.0, 1.0, 0.0)]


@given(
    st.lists(
        st.builds(
            record,
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from([0.0, 1.0]),
            st.sampled_from([None, 0.0, 1.0]),
            failed=st.sampled_from([None, None, "refused"]),
            consistent=st.sampled_from([None, True, False]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_the_numbers_are_those_of_lmms_evals_table(records: list[dict[str, Any]]) -> None:
    responses = tuple(
        RomeRecord.parse(each, task="rome_academic", doc_id=at) for at, each in enumerate(records)
    )
    for name, value_of in ((name, each.of) for name, each in GRADING.metrics.items()):
        assert [value_of(each) for each in responses] == [
            process_results({}, [json.dumps(each)])[name] for each in records
        ]

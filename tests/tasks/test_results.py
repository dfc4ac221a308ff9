"""From records to metrics, and from metrics to means."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from lmms_rpts.tasks.aggregation import mean_of_scored, mean_over_tasks, stderr_of_scored
from lmms_rpts.tasks.rpts_eval.results import METRICS, process_results


def record(rpts: float | None, correct: bool | None, **changes: Any) -> str:
    steps = [
        {"modality": "visual", "score": 1.0},
        {"modality": "visual", "score": 0.5},
        {"modality": "inference", "score": 0.0},
    ]
    content: dict[str, Any] = {
        "schema": "lmms_rpts.rpts",
        "schema_version": 1,
        "rpts": rpts,
        "answer": {"correct": correct},
        "chain": ["Image0 -> Conclusion0: x"],
        "steps": steps,
        "transform": {"error": None},
    }
    return json.dumps(content | changes)


def metrics(*results: str) -> dict[str, float | None]:
    found = process_results({}, list(results))
    assert tuple(found) == METRICS
    return found


def test_right_and_sound() -> None:
    assert metrics(record(0.5, True)) == {
        "rpts": 0.5,
        "accuracy": 1.0,
        "accuracy_rpts": 1.0,
        "rpts_visual": 0.75,
        "rpts_textual": None,
        "right_for_wrong_reason": 0.0,
        "parse_rate": 1.0,
        "judge_coverage": 1.0,
    }


def test_right_for_the_wrong_reason() -> None:
    found = metrics(record(0.49, True))
    assert (found["accuracy"], found["accuracy_rpts"]) == (1.0, 0.0)
    assert found["right_for_wrong_reason"] == 1.0


def test_a_wrong_answer_has_no_reason_to_be_right() -> None:
    found = metrics(record(0.9, False))
    assert (found["accuracy_rpts"], found["right_for_wrong_reason"]) == (0.0, None)


def test_what_was_not_judged_is_left_out_and_counted() -> None:
    found = metrics(record(None, True))
    assert found["judge_coverage"] == 0.0
    assert found["accuracy"] == 1.0
    for name in ("rpts", "accuracy_rpts", "rpts_visual", "right_for_wrong_reason"):
        assert found[name] is None


def test_an_answer_that_nobody_could_tell() -> None:
    found = metrics(record(0.9, None))
    assert (found["rpts"], found["accuracy"], found["accuracy_rpts"]) == (0.9, None, None)


def test_no_readable_step() -> None:
    assert metrics(record(0.0, False, chain=[], steps=[]))["parse_rate"] == 0.0
    assert metrics(record(None, False, chain=[], transform={"error": "x"}))["parse_rate"] is None


def test_several_responses_are_averaged_over_those_with_a_value() -> None:
    found = metrics(record(0.2, True), record(None, True), record(0.6, False))
    assert found["rpts"] == pytest.approx(0.4)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["right_for_wrong_reason"] == 1.0
    assert found["judge_coverage"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "result", ["", "no json", "[]", "{}", '{"schema": "other"}', record(1, True, schema_version=9)]
)
def test_what_is_no_record_of_ours_has_no_metrics(result: str) -> None:
    """process_results is retried and its errors hidden: it must not raise."""
    assert set(metrics(result).values()) == {None}


def test_mean_and_standard_error_by_hand() -> None:
    """1, 2, 3, 4 without the None: mean 2.5, variance 5/3, standard error sqrt(5/12)."""
    items = [1, None, 2, 3, None, 4]
    assert mean_of_scored(items) == 2.5
    assert stderr_of_scored(items) == pytest.approx(math.sqrt(5 / 12))


def test_nothing_scored() -> None:
    assert math.isnan(mean_of_scored([None]))
    assert math.isnan(stderr_of_scored([1.0, None]))


def test_groups_weigh_by_size_and_leave_out_tasks_without_a_value() -> None:
    assert mean_over_tasks([0.5, 1.0], [30, 10]) == pytest.approx(0.625)
    assert mean_over_tasks([0.5, 1.0], [30, 10], False) == pytest.approx(0.75)
    assert mean_over_tasks([0.5, math.nan], [30, 10]) == 0.5
    assert math.isnan(mean_over_tasks([math.nan], [3]))

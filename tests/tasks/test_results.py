"""From records to metrics, and from metrics to means."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from scipy.special import stdtrit

from lmms_rpts.filters.metrics import is_sound
from lmms_rpts.reasoning import build_tree, rpts_score
from lmms_rpts.stats.intervals import estimate_mean, numbered
from lmms_rpts.tasks.aggregation import (
    Mean,
    StandardError,
    Value,
    mean_of_scored,
    mean_over_tasks,
    stderr_of_scored,
    stderr_over_tasks,
)
from lmms_rpts.tasks.rpts_eval.results import METRICS, process_results
from tests.reasoning.short import chain
from tests.support.runs import make_record
from tests.support.tables import table

STEPS = (("visual", 1.0), ("visual", 0.5), ("inference", 0.0))


def record(
    rpts: float | None,
    correct: bool | None,
    steps: Sequence[tuple[str, float]] = STEPS,
    error: str | None = None,
    **changes: Any,
) -> str:
    """A record with steps of these modalities and scores; ``error``: the error of its transform."""
    made = make_record([1.0], steps=["Image0 -> x"])
    (step,) = made["steps"]
    made["answer"]["correct"] = correct
    made["transform"]["error"] = error
    counted = {
        "outcome": "unscored" if rpts is None else "scored",
        "rpts": rpts,
        "chain": made["chain"] * len(steps),
        "steps": [step | {"modality": modality, "score": score} for modality, score in steps],
    }
    return json.dumps(made | counted | changes)


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
        # No judge was asked whether the root answers the question.
        "rpts_guarded": None,
        "accuracy_guarded": None,
        "right_for_wrong_reason_guarded": None,
        "root_bears": None,
        "guarded_coverage": 0.0,
        # Three copies of the step "Image0 -> x": one is the root, and it lacks Text 0.
        "evidence_coverage": 0.5,
        "restating_steps": 0.0,
        "missing_references": 0.0,
        "heaviest_step": 1.0,
        "steps": 3.0,
    }


def test_steps_from_images_and_from_texts_have_means_of_their_own() -> None:
    said = [
        ("visual", 1.0),
        ("textual", 0.25),
        ("mixed", 0.0),
        ("textual", 0.5),
        ("inference", 0.9),
    ]
    found = metrics(record(0.5, True, said))
    assert (found["rpts_visual"], found["rpts_textual"]) == (1.0, 0.375)


def test_right_for_the_wrong_reason() -> None:
    found = metrics(record(0.49, True))
    assert (found["accuracy"], found["accuracy_rpts"]) == (1.0, 0.0)
    assert found["right_for_wrong_reason"] == 1.0


def test_what_only_rounding_keeps_below_the_mark_is_sound() -> None:
    """(0.3 + 0.7 + 0.7 * 0.5) / (1 + 1 + 0.7) = 1.35 / 2.7 = 0.5, but slightly less in floats."""
    tree = build_tree(chain("i0 > A", "t0 > B", "c0 c1 > C"), 1, 1)
    half = rpts_score(tree, [0.3, 0.7, 0.5], decay=0.7)
    assert half < 0.5
    found = metrics(record(half, True))
    assert (found["accuracy_rpts"], found["right_for_wrong_reason"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("rpts", "threshold", "sound"),
    [
        (0.5, 0.5, True),
        (0.4999999999, 0.5, True),  # a judge's scores have fewer than ten digits
        (0.499999999, 0.5, False),
        (0.4999, 0.5, False),
        (0.5, 0.500001, False),
        (0.3, 0.3, True),
        (0.1 + 0.2, 0.3, True),
        (0.29, 0.3, False),
    ],
)
def test_sound_is_from_the_threshold_on(rpts: float, threshold: float, sound: bool) -> None:
    assert is_sound(rpts, threshold) is sound


def test_the_usual_threshold_is_one_half() -> None:
    assert is_sound(0.5)
    assert not is_sound(0.499)


@table(
    "guarded, correct, accuracy, wrong_reason",
    (0.5, True, 1.0, 0.0),
    (0.4, True, 0.0, 1.0),
    (0.9, False, 0.0, None),
    (0.9, None, None, None),
    (None, True, None, None),
)
def test_the_guarded_score_has_metrics_of_its_own(
    guarded: float | None,
    correct: bool | None,
    accuracy: float | None,
    wrong_reason: float | None,
) -> None:
    root = {"score": 0.7, "note": None, "questions": []}
    found = metrics(record(1.0, correct, guarded=guarded, root=root))
    assert (found["rpts"], found["rpts_guarded"], found["root_bears"]) == (1.0, guarded, 0.7)
    assert found["accuracy_guarded"] == accuracy
    assert found["right_for_wrong_reason_guarded"] == wrong_reason


def test_chains_are_counted_where_they_could_be_read() -> None:
    """An empty chain has 0 steps; if the judge failed to read the chain, the number is unknown."""
    named = ("evidence_coverage", "restating_steps", "missing_references", "heaviest_step", "steps")
    found = metrics(record(0.0, True, steps=()))
    assert [found[name] for name in named] == [None, None, None, None, 0.0]
    found = metrics(record(None, True, steps=(), error="x"))
    assert [found[name] for name in named] == [None] * 5
    # An unscored response whose steps were parsed.
    assert metrics(record(None, True))["steps"] == 3.0


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
    assert metrics(record(0.0, False, ()))["parse_rate"] == 0.0
    assert metrics(record(None, False, (), error="x"))["parse_rate"] is None


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
    """lmms-eval retries process_results and hides its errors, so it must not raise."""
    assert set(metrics(result).values()) == {None}


def test_mean_and_standard_error_by_hand() -> None:
    """1, 2, 3, 4, ignoring None: mean 2.5, variance 5/3, standard error sqrt(5/12)."""
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


def test_a_group_weighs_a_mean_by_the_values_that_are_there() -> None:
    """Of 100 documents each, 30 and 10 have a value: (0.5 * 30 + 1.0 * 10) / 40 = 0.625."""
    means = [Mean(0.5, 30), Mean(1.0, 10)]
    assert mean_over_tasks(means, [100, 100]) == pytest.approx(0.625)
    assert mean_over_tasks(means, [100, 100], False) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="zip"):
        mean_over_tasks(means, [100])


def test_a_mean_knows_its_size_and_is_copied_with_it() -> None:
    mean = mean_of_scored([0.25, None, 0.75, 0.5])
    for each in (mean, copy.deepcopy(mean), pickle.loads(pickle.dumps(mean))):
        assert isinstance(each, Mean)
        assert (each, each.n) == (0.5, 3)


def test_a_value_knows_its_document() -> None:
    doc = {"id": 7, "visual_clue": ["a.png"], "answer": "agree"}
    found = process_results(doc, [record(0.5, True)])
    value = found["rpts"]
    assert isinstance(value, Value)
    assert (value, value.document) == (0.5, '[7, ["a.png"], "agree"]')
    for copied in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert (copied, copied.document) == (0.5, value.document)
    assert json.dumps(found) == json.dumps(metrics(record(0.5, True)))


def errors(*tasks: dict[str, float | None]) -> list[float]:
    return [
        stderr_of_scored([None if x is None else Value(x, name) for name, x in task.items()])
        for task in tasks
    ]


def test_translations_are_one_cluster_in_a_groups_standard_error() -> None:
    """Worked manually: 0 and 1 in both languages. The mean is 1/2, the clusters' residuals are -1
    and 1, their squares sum to 2: sqrt(2 * 2/1) / 4 = 1/2, and not the 0.29 of four documents.
    """
    each = errors({"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 1.0})
    assert stderr_over_tasks(each) == pytest.approx(0.5)


def test_a_groups_standard_error_is_that_of_the_analysis() -> None:
    english: dict[str, float | None] = {"a": 0.2, "b": 0.9, "c": None, "d": 0.4, "e": 0.7}
    chinese: dict[str, float | None] = {"a": 0.3, "b": 0.8, "c": 0.1, "d": None, "f": 1.0}
    error = stderr_over_tasks(errors(english, chinese))
    pairs = [(name, x) for task in (english, chinese) for name, x in task.items() if x is not None]
    clusters = numbered([name for name, _ in pairs])
    found = estimate_mean([x for _, x in pairs], clusters, bounded=False)
    assert error is not None
    assert found.value is not None
    assert found.high is not None
    half = found.high - found.value
    assert error * stdtrit(len(set(clusters)) - 1, 0.975) == pytest.approx(half)


def test_a_task_with_one_value_is_no_obstacle() -> None:
    each = errors({"a": 0.0}, {"b": 1.0})
    assert all(math.isnan(error) for error in each)
    assert stderr_over_tasks(each) == pytest.approx(0.5)
    assert math.isnan(stderr_over_tasks(errors({"a": 0.0}, {"a": 1.0})) or 0.0)
    assert math.isnan(stderr_over_tasks(errors({"a": None}, {"b": None})) or 0.0)


def test_other_tasks_errors_are_left_to_lmms_eval() -> None:
    mixed = stderr_of_scored([Value(0.0, "a"), 1.0])  # the second value has no document
    assert mixed == pytest.approx(0.5)
    assert not isinstance(mixed, StandardError)
    assert stderr_over_tasks([0.1, 0.2]) is None
    assert stderr_over_tasks([*errors({"a": 0.0, "b": 1.0}), 0.2]) is None
    assert stderr_over_tasks([]) is None


def test_standard_errors_are_copied_with_their_values() -> None:
    (error,) = errors({"a": 0.0, "b": 1.0})
    assert isinstance(error, StandardError)
    for copied in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert copied == error
        assert [value.document for value in copied.values] == ["a", "b"]
    assert json.dumps(error) == json.dumps(float(error))


@pytest.mark.parametrize(
    "other",
    [
        {"id": 8, "visual_clue": ["a.png"], "answer": "agree"},
        {"id": "7", "visual_clue": ["a.png"], "answer": "agree"},
        {"id": 7, "visual_clue": ["b.png"], "answer": "agree"},
        {"id": 7, "visual_clue": ["a.png"], "answer": "disagree"},
    ],
)
def test_ids_that_are_equal_by_chance_make_no_cluster(other: dict[str, Any]) -> None:
    """Two tasks whose documents are numbered from 0 were once treated as the same documents."""
    doc = {"id": 7, "visual_clue": ["a.png"], "answer": "agree"}
    first, second = (process_results(each, [record(0.5, True)])["rpts"] for each in (doc, other))
    assert isinstance(first, Value)
    assert isinstance(second, Value)
    assert first.document != second.document


@pytest.mark.parametrize("doc", [{}, {"id": None, "visual_clue": ["a.png"]}, {"id": 1}])
def test_a_document_that_nobody_knows_is_no_cluster(doc: dict[str, Any]) -> None:
    found = process_results(doc, [record(0.5, True)])["rpts"]
    assert found == 0.5
    assert not isinstance(found, Value)


def test_a_groups_mean_passes_over_what_is_no_number() -> None:
    """lmms-eval passes [] for a metric that a task does not list."""
    assert mean_over_tasks([0.5, []], [30, 10]) == 0.5  # type: ignore[list-item]

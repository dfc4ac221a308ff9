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

from lmms_rpts.filters.metrics import METRICS, is_sound
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
from lmms_rpts.tasks.rpts_eval.results import process_results
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
    assert tuple(found) == tuple(METRICS)
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
        "unfaithful_perception_rate": 0.0,
        # Three copies of the step "Image0 -> x": one is the root, and it lacks Text 0.
        "evidence_coverage": 0.5,
        "restating_steps": 0.0,
        "missing_references": 0.0,
        "steps": 3.0,
        # Nothing was asked about the thinking.
        **dict.fromkeys(name for name, each in METRICS.items() if each.optional),
    }


SAID = [("visual", 1.0), ("textual", 0.25), ("mixed", 0.0), ("textual", 0.5), ("inference", 0.9)]
CHAIN = ("evidence_coverage", "restating_steps", "missing_references", "steps")


@table(
    "given, found",
    # Steps from images and from texts have means of their own.
    ([record(0.5, True, SAID)], {"rpts_visual": 1.0, "rpts_textual": 0.375}),
    # Image-only steps below 0.5; 0.5 itself, mixed steps and steps without a score do not count.
    (
        [record(0.5, True, [("visual", each) for each in (0.0, 0.49, 0.5, 1.0)] + SAID[2:])],
        {"unfaithful_perception_rate": 0.5},
    ),
    ([record(0.5, True, SAID[1:])], {"unfaithful_perception_rate": None, "rpts_visual": None}),
    ([record(0.49, True)], {"accuracy": 1.0, "accuracy_rpts": 0.0, "right_for_wrong_reason": 1.0}),
    # A wrong answer has no reason to be right.
    ([record(0.9, False)], {"accuracy_rpts": 0.0, "right_for_wrong_reason": None}),
    ([record(0.9, None)], {"rpts": 0.9, "accuracy": None, "accuracy_rpts": None}),
    # What was not judged is left out and counted.
    (
        [record(None, True)],
        {"judge_coverage": 0.0, "accuracy": 1.0, "rpts": None, "accuracy_rpts": None}
        | {"rpts_visual": None, "right_for_wrong_reason": None, "steps": 3.0}
        | {"unfaithful_perception_rate": None},
    ),
    # An empty chain has 0 steps; without a chain, the number is unknown.
    ([record(0.0, True, ())], {**dict.fromkeys(CHAIN), "steps": 0.0, "parse_rate": 0.0}),
    ([record(None, True, (), error="x")], {**dict.fromkeys(CHAIN), "parse_rate": None}),
    # Several responses are averaged over those with a value.
    (
        [record(0.2, True), record(None, True), record(0.6, False)],
        {"rpts": 0.4, "accuracy": 2 / 3, "right_for_wrong_reason": 1.0, "judge_coverage": 2 / 3},
    ),
    # lmms-eval retries process_results and hides its errors, so it must not raise.
    *(
        ([result], dict.fromkeys(METRICS))
        for result in (
            "",
            "no json",
            "[]",
            '{"schema": "other"}',
            record(1, True, schema_version=9),
        )
    ),
)
def test_metrics_of_a_document(given: list[str], found: dict[str, float | None]) -> None:
    known = metrics(*given)
    assert {name: known[name] for name in found} == {
        name: None if value is None else pytest.approx(value) for name, value in found.items()
    }


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
    means = [Mean(0.5, n=30), Mean(1.0, n=10)]
    assert mean_over_tasks(means, [100, 100]) == pytest.approx(0.625)
    assert mean_over_tasks(means, [100, 100], False) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="zip"):
        mean_over_tasks(means, [100])


def test_a_value_knows_its_document() -> None:
    doc = {"id": 7, "visual_clue": ["a.png"], "answer": "agree"}
    found = process_results(doc, [record(0.5, True)])
    value = found["rpts"]
    assert isinstance(value, Value)
    assert (value, value.document) == (0.5, '[7, ["a.png"], "agree"]')
    assert json.dumps(found) == json.dumps(metrics(record(0.5, True)))


def errors(*tasks: dict[str, float | None]) -> list[float]:
    return [
        stderr_of_scored(
            [None if x is None else Value(x, document=name) for name, x in task.items()]
        )
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
    mixed = stderr_of_scored([Value(0.0, document="a"), 1.0])  # the second value has no document
    assert mixed == pytest.approx(0.5)
    assert not isinstance(mixed, StandardError)
    assert stderr_over_tasks([0.1, 0.2]) is None
    assert stderr_over_tasks([*errors({"a": 0.0, "b": 1.0}), 0.2]) is None
    assert stderr_over_tasks([]) is None


def test_numbers_are_copied_with_what_they_know() -> None:
    (error,) = errors({"a": 0.0, "b": 1.0})
    mean = mean_of_scored([0.25, None, 0.75, 0.5])
    for copied in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        assert (copied(mean), copied(mean).n) == (mean, 3)
        assert copied(error) == error
        assert [value.document for value in copied(error).values] == ["a", "b"]
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

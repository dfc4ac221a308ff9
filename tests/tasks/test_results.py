"""From records to metrics, and from metrics to means."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

import lmms_rpts as lr
from lmms_rpts.filters.session import reset_session
from lmms_rpts.reasoning.tree import is_sound
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.tasks.aggregation import mean_of_scored, mean_over_tasks
from lmms_rpts.tasks.rpts_eval.task import process_results
from tests.support.filtered import records_of
from tests.support.instances import make_doc
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
    made["transform"]["reason"] = error
    counted = {
        "outcome": "unscored" if rpts is None else "scored" if steps else "no_steps",
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
    (
        [record(0.0, True, ())],
        {**dict.fromkeys(CHAIN), "steps": 0.0, "parse_rate": 0.0, "rpts": 0.0, "accuracy": 1.0}
        | {"accuracy_rpts": 0.0, "right_for_wrong_reason": None, "judge_coverage": None},
    ),
    ([record(None, True, (), error="x")], {**dict.fromkeys(CHAIN), "parse_rate": None}),
    # Several responses are averaged over those with a value.
    (
        [record(0.2, True), record(None, True), record(0.6, False)],
        {"rpts": 0.4, "accuracy": 2 / 3, "right_for_wrong_reason": 1.0, "judge_coverage": 2 / 3},
    ),
)
def test_metrics_of_a_document(given: list[str], found: dict[str, float | None]) -> None:
    known = metrics(*given)
    assert {name: known[name] for name in found} == {
        name: None if value is None else pytest.approx(value) for name, value in found.items()
    }


@table(
    "rpts, threshold, sound",
    (0.4999999999, 0.5, True),  # a judge's scores have fewer than ten digits
    (0.499999999, 0.5, False),
    (0.5, 0.500001, False),
    (0.1 + 0.2, 0.3, True),
)
def test_sound_is_from_the_threshold_on(rpts: float, threshold: float, sound: bool) -> None:
    assert is_sound(rpts, threshold) is sound


def test_variables_set_the_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run and in ``score``, before what the task file says."""
    step = "Conclusion 0: from Text 0, the shop is closed.\nFinal answer: agree"
    rows = [{"id": 0, "response": step}]
    for name, value in {"DECAY": "0.5", "FOCUS_HEIGHT": "2", "THRESHOLD": "0.8"}.items():
        monkeypatch.setenv(f"LMMS_RPTS_{name}", value)
    reset_session()
    (ran,) = records_of(step, docs=[make_doc()])
    (scored,) = lr.score(rows, judge="lexical", task="rpts_demo")
    for found in (ran.settings, scored.settings):
        assert (found.decay, found.focus_height, found.threshold) == (0.5, 2, 0.8)


def test_means_leave_out_what_has_no_value_and_groups_weigh_by_size() -> None:
    assert mean_of_scored([1, None, 2, 3, None, 4]) == 2.5
    assert mean_of_scored([[1.0, None], [3.0]]) == 2.0
    assert math.isnan(mean_of_scored([None]))
    assert mean_over_tasks([0.5, 1.0], [30, 10]) == pytest.approx(0.625)
    assert mean_over_tasks([0.5, 1.0], [30, 10], False) == pytest.approx(0.75)
    assert mean_over_tasks([0.5, math.nan], [30, 10]) == 0.5
    assert math.isnan(mean_over_tasks([math.nan], [3]))

"""From the records of ``cmmath_grade`` to CMMaTH's metrics, with manually worked values."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from lmms_eval.evaluator_utils import TaskOutput

from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.cmmath.record import METRIC_LIST, process_results
from tests.support.cmmath_runs import make_cmmath_record

AGGREGATIONS = {each["metric"]: each["aggregation"] for each in METRIC_LIST}
METRICS = tuple(name for name, each in AGGREGATIONS.items() if each is mean_of_scored)
SSR = ("ssr_0.1", "ssr_0.2", "ssr_0.3", "ssr_0.6")


def record(
    score: float | None, outcome: str | None = None, points: str | None = "数(整数,小数)"
) -> str:
    """A record as written by the filter."""
    said = outcome or {1.0: "correct", 0.0: "incorrect", None: "undecided"}[score]
    made = make_cmmath_record(None if said == "none" else said, knowledge_point=points)
    counts = {"outcome": "unscored" if score is None else "scored", "score": score}
    return json.dumps(made | counts)


@pytest.mark.parametrize(
    ("results", "accuracy", "undecided", "coverage"),
    [
        ([record(1.0)], 1.0, 0.0, 1.0),
        ([record(0.0)], 0.0, 0.0, 1.0),
        ([record(None)], None, 1.0, 0.0),
        # a judge decided an answer that the rules left undecided
        ([record(1.0, "undecided")], 1.0, 1.0, 1.0),
        # a judge that failed although the rules had decided
        ([record(None, "correct")], None, 0.0, 0.0),
        # no response
        ([record(None, "none")], None, None, 0.0),
        # several: unscored ones are left out of the mean
        ([record(1.0), record(0.0), record(None), record(1.0)], 2 / 3, 1 / 4, 3 / 4),
        ([record(1.0), record(None, "none")], 1.0, 0.0, 1 / 2),
    ],
)
def test_one_document(
    results: list[str], accuracy: float | None, undecided: float | None, coverage: float
) -> None:
    found = process_results({}, results)
    assert tuple(found) == (*METRICS, *SSR) == tuple(AGGREGATIONS)
    assert [found[name] for name in METRICS] == [accuracy, undecided, coverage]
    points = [["数", "整数"], ["数", "小数"]]
    expected = None if accuracy is None else {"points": points, "accuracy": accuracy}
    assert [found[name] for name in SSR] == [expected] * 4


@pytest.mark.parametrize("points", [None, "", " ", "()", ","])
def test_a_document_without_points_says_nothing_of_any(points: str | None) -> None:
    assert process_results({}, [record(1.0, points=points)])["ssr_0.1"] is None


# A: 1, 0, 0 (one third); B: 0; C: 1; D: (1 + 0 + 0 + 0 + 0) / 5; E: unscored.
RESULTS = [
    [record(1.0, points="A,C")],
    [record(0.0, points="A,B")],
    [record(0.0, points="A")],
    [record(1.0, points="D")],
    *[[record(0.0, points="D")]] * 4,
    [record(None, points="E")],
    [record(1.0, points=None)],
]


def items(metric: str, results: list[list[str]] = RESULTS) -> list[Any]:
    return [process_results({}, each)[metric] for each in results]


@pytest.mark.parametrize(
    ("metric", "share"),
    [
        ("ssr_0.1", 3 / 4),  # A, C, D
        ("ssr_0.2", 2 / 4),  # A, C; D has exactly 0.2, which does not exceed it
        ("ssr_0.3", 2 / 4),
        ("ssr_0.6", 1 / 4),  # C
    ],
)
def test_the_share_of_points_by_hand(metric: str, share: float) -> None:
    assert AGGREGATIONS[metric](items(metric)) == pytest.approx(share)


def test_repeats_are_one_problem() -> None:
    """The mean of the repeats is the problem's accuracy: (1/2 + 0) / 2 of point A."""
    results = [[record(1.0, points="A"), record(0.0, points="A")], [record(0.0, points="A")]]
    assert AGGREGATIONS["ssr_0.2"](items("ssr_0.2", results)) == 1.0
    assert AGGREGATIONS["ssr_0.3"](items("ssr_0.3", results)) == 0.0


@pytest.mark.parametrize("nothing", [[], [None], [None, None]])
def test_without_any_point_there_is_no_share(nothing: list[None]) -> None:
    assert all(math.isnan(AGGREGATIONS[name](nothing)) for name in SSR)


# --- in lmms-eval's own table --------------------------------------------------------------------


class Task:
    """The attributes of a task that lmms-eval needs to compute metrics."""

    args = None

    def aggregation(self) -> dict[str, Any]:
        return dict(AGGREGATIONS)


def table(results: list[list[str]], repeats: int = 1) -> dict[str, Any]:
    output = TaskOutput(task=Task(), task_name="cmmath", task_config={"repeats": repeats})
    for each in results:
        for name, value in process_results({}, each).items():
            output.sample_metrics[(name, "none")].append(value)
        for name in METRICS:
            said = [process_results({}, [one])[name] for one in each]
            output.per_sample_metrics[(name, "none")].append(said)
    output.calculate_aggregate_metric(bootstrap_iters=1000)
    output.calculate_clt_aggregate_metric()
    output.calculate_stability_metrics()
    return dict(output.agg_metrics)


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_share_of_points_has_no_standard_error(repeats: int) -> None:
    found = table([each * repeats for each in RESULTS], repeats)
    for name in SSR:
        assert 0 < found[f"{name},none"] < 1
        for error in ("stderr", "stderr_clt", "stderr_clustered"):
            assert found[f"{name}_{error},none"] == "N/A"
        assert f"{name}_expected_accuracy,none" not in found
    assert found["accuracy,none"] == pytest.approx(3 / 9)
    assert found["undecided_rate,none"] == pytest.approx(1 / 10)
    assert ("accuracy_expected_accuracy,none" in found) == (repeats > 1)


def test_a_run_without_any_score_has_a_table() -> None:
    found = table([[record(None)], [record(None, "none")]])
    assert math.isnan(found["accuracy,none"])
    assert math.isnan(found["ssr_0.1,none"])
    assert found["grader_coverage,none"] == 0.0

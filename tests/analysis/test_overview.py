"""Overview of a run: figures calculated manually."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_rpts.analysis.overview import outcome, overview_of
from lmms_rpts.analysis.reading import read_run
from lmms_rpts.runs.run import Run
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run

# Two steps at heights 1 and 2, decay 0.9, focus height 1: RPTS = (s0 + 0.9 s1) / 1.9.
CASES = {
    0: ([1.0, 1.0], "agree"),  # 1, right
    1: ([0.0, 1.0], "agree"),  # 0.474, right
    2: ([1.0, 0.0], "disagree"),  # 0.526, wrong
    3: ([0.2, 0.2], "disagree"),  # 0.2, wrong
    4: ([1.0, None], "agree"),  # the judge failed
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    records = {
        at: make_record(
            scores,
            answer=answer,
            doc=make_doc(
                id=at,
                ability=["OCR", "Math"] if at % 2 else ["OCR"],
                relation="guided" if at < 2 else None,
            ),
        )
        for at, (scores, answer) in CASES.items()
    }
    write_run(tmp_path, records)
    return read_run(tmp_path)


def test_outcomes(run: Run) -> None:
    assert [outcome(response) for response in run.responses] == [
        "right_sound",
        "right_unsound",
        "wrong_sound",
        "wrong_unsound",
        "unjudged",
    ]
    seen = overview_of(run)
    assert seen.outcomes["unjudged"] == 1
    assert sum(seen.outcomes.values()) == 5


def test_metrics_are_those_of_the_results_table(run: Run) -> None:
    metrics = overview_of(run).metrics
    assert metrics["rpts"].value == pytest.approx((1 + 0.9 / 1.9 + 1 / 1.9 + 0.2) / 4)
    assert metrics["accuracy"].value == pytest.approx(3 / 5)
    assert metrics["accuracy_rpts"].value == pytest.approx(1 / 4)
    assert metrics["right_for_wrong_reason"].value == pytest.approx(1 / 2)
    assert metrics["right_for_wrong_reason"].n == 2
    assert metrics["judge_coverage"].value == pytest.approx(4 / 5)
    assert metrics["rpts_textual"].value is None


def test_where_errors_begin(run: Run) -> None:
    seen = overview_of(run)
    assert dict(seen.origins) == {(1, "visual"): 2, (2, "inference"): 1}
    assert seen.unbroken == 1
    assert seen.stepless == 0


def test_responses_without_steps(tmp_path: Path) -> None:
    write_run(tmp_path, {0: make_record([], steps=[])})
    seen = overview_of(read_run(tmp_path))
    assert (seen.stepless, seen.unbroken, dict(seen.origins)) == (1, 0, {})
    assert seen.metrics["rpts"].value == 0

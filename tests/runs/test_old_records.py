"""Records from before the guarded score: a run saved by an earlier version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.dataframes import responses_frame
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.tasks.rpts_eval.results import process_results
from lmms_rpts.tasks.rpts_eval.runs import Run, read_run
from tests.support import oracle
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run as Done
from tests.support.lmms import run_lmms_eval
from tests.support.saved_runs import SAVED

OLD = Path(__file__).parents[1] / "fixtures" / "old_records"
NEW = ("guarded", "root", "diagnosis")


def records_of(folder: Path) -> dict[int, dict[str, Any]]:
    (file,) = folder.glob("*_samples_rpts_demo.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return {row["doc_id"]: json.loads(row["filtered_resps"]) for row in rows}


@pytest.fixture(scope="module")
def old() -> dict[int, dict[str, Any]]:
    return records_of(OLD)


@pytest.fixture(scope="module")
def run() -> Run:
    return read_run(f"it={OLD}")


def test_the_fixture_is_old(old: dict[int, dict[str, Any]]) -> None:
    assert len(old) == 14
    assert not any(name in record for record in old.values() for name in NEW)


def test_the_published_score_is_what_is_stored(old: dict[int, dict[str, Any]], run: Run) -> None:
    assert {each.instance.doc_id: each.rpts for each in run.responses} == {
        number: record["rpts"] for number, record in old.items()
    }


def test_what_was_not_asked_is_missing_and_what_chains_are_made_of_is_computed(run: Run) -> None:
    for response in run.responses:
        assert response.guarded is response.root is response.diagnosis is None
        assert response.guarded_anew() is None
        metrics = response.metrics
        for name in ("rpts_guarded", "accuracy_guarded", "right_for_wrong_reason_guarded"):
            assert metrics[name] is None
        assert metrics["root_bears"] is None
        assert metrics["steps"] == len(response.steps)
        assert metrics["evidence_coverage"] == response.diagnosed.coverage
        assert process_results({}, [response.to_json()]) == metrics


def test_the_diagnosis_is_that_of_new_records(run: Run) -> None:
    """The same responses, scored by the same judge with the guarded score."""
    new = records_of(SAVED / "careful")
    assert new.keys() == {each.instance.doc_id for each in run.responses}
    for response in run.responses:
        record = new[response.instance.doc_id]
        assert record["rpts"] == response.rpts
        found = RptsRecord.parse(record)
        assert found.diagnosis is not None
        assert found.diagnosis.coverage == response.diagnosed.coverage
        assert set(found.diagnosis.restating) == response.diagnosed.restating


def test_frames_have_columns_for_what_is_missing(run: Run) -> None:
    frame = responses_frame([run])
    assert frame["rpts_guarded"].isna().all()
    assert frame["rpts"].notna().all()
    assert frame["steps"].dtype == "Int64"


@pytest.mark.slow
def test_scored_again_they_have_what_they_lacked(
    old: dict[int, dict[str, Any]], tmp_path: Path
) -> None:
    """By the judge that scored them first: the published scores are unchanged, to the last bit."""
    with JudgeServer(answer=oracle.answer) as server:
        done: Done = run_lmms_eval(
            tmp_path,
            *("--model", "replay", "--model_args", f"samples={OLD}", "--tasks", "rpts_demo"),
            env={
                "LMMS_RPTS_JUDGE": "openai:oracle",
                "OPENAI_BASE_URL": server.url,
                "OPENAI_API_KEY": "sk-secret-of-the-test",
                "LMMS_RPTS_CACHE": "off",
            },
        )
    assert done.code == 0, done.output
    again = done.records("rpts_demo")
    assert again.keys() == old.keys()
    for number, record in again.items():
        assert record["rpts"] == old[number]["rpts"]
        for step in record["steps"]:
            for question in step["questions"]:
                assert question.pop("call")["tokens"] == [10, 5]
        assert record["steps"] == old[number]["steps"]
        assert record["guarded"] is not None
        assert record["root"]["score"] is not None
        assert record["diagnosis"]["heaviest"] > 0

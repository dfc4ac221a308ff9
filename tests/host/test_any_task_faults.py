"""Errors of another package's task: they affect one document, or equal those of lmms-eval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.foreign_task import (
    VISUALS,
    ForeignTask,
    SeeingJudge,
    record_of,
    records_of,
    response_to,
    rows_of,
    settings,
    write_foreign_task,
)
from tests.support.lmms import Run, run_lmms_eval
from tests.support.tables import table

pytestmark = pytest.mark.slow

BY_PATH = "doc_to_visual: !function utils.paths\n"
RAISES = """

def doc_to_visual(doc):
    if doc["squares"] == [2]:
        raise RuntimeError("the second square is gone")
    return list(doc["images"])
"""
RAISING_RESULTS = """
_results = process_results


def process_results(doc, results):
    if doc["squares"] == [2]:
        raise RuntimeError("nobody knows square 2")
    return _results(doc, results)
"""


def replayed(
    tmp_path: Path,
    task: ForeignTask,
    judge: SeeingJudge,
    *more: str,
    name: str = "colours_rpts",
    **env: str,
) -> Run:
    samples = task.responses(tmp_path / f"said-{name}.jsonl", name)
    with judge.server() as server:
        return run_lmms_eval(
            tmp_path / name,
            *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", name),
            *("--include_path", task.include_path, *more),
            env=settings(server, **env),
        )


def spoil(path: str) -> None:
    """Cuts a file to its first half."""
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[: len(content) // 2])


@table("visuals", VISUALS, BY_PATH)
@table("broken", 0, 2)
def test_one_broken_image(tmp_path: Path, visuals: str, broken: int) -> None:
    """The other documents are judged; the claims of this one are not."""
    task = write_foreign_task(tmp_path, visuals=visuals)
    spoil(task.documents[broken]["images"][0])
    judge = SeeingJudge()
    done = replayed(tmp_path, task, judge)
    records = records_of(done)
    assert len(records) == 6, done.output
    outcomes = {doc_id: each["outcome"] for doc_id, each in records.items()}
    assert outcomes.pop(broken) != "scored"
    assert set(outcomes.values()) == {"scored"}
    others = sorted(set(range(6)) - {broken})
    assert sorted(judge.seen) == [(number, [number]) for number in others]
    assert done.results["colours_rpts"]["judge_coverage,rpts"] == pytest.approx(5 / 6)


def test_images_that_a_task_cannot_give(tmp_path: Path) -> None:
    """doc_to_visual raises for one document. Replay requests no image; a model would."""
    task = write_foreign_task(tmp_path, utils=RAISES)
    judge = SeeingJudge()
    done = replayed(tmp_path, task, judge)
    records = records_of(done)
    assert len(records) == 6, done.output
    assert {doc_id for doc_id, each in records.items() if each["outcome"] == "scored"} == {
        *(0, 1, 3, 4, 5)
    }
    assert "the second square is gone" in json.dumps(records[2])
    assert (2, [2]) not in judge.seen


def last_error(done: Run) -> str:
    """The last error message of lmms-eval in a failed run."""
    assert not list(done.folder.rglob("*_results.json")), done.output
    return next(line for line in reversed(done.output.splitlines()) if "square 2" in line)[-60:]


def test_process_results_that_raises_is_lmms_evals_own_failure(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path, utils=RAISING_RESULTS)
    ours = replayed(tmp_path, task, SeeingJudge())
    plain = replayed(tmp_path, task, SeeingJudge(), name="colours")
    assert last_error(ours) == last_error(plain)


def test_predictions_alone_ask_nobody(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    judge = SeeingJudge()
    done = replayed(tmp_path, task, judge, "--predict_only")
    assert judge.kinds == []
    rows = rows_of(done, "colours_rpts")
    assert {row["doc_id"] for row in rows} == set(range(6)), done.output
    texts = {row["doc_id"]: row["filtered_resps"] for row in rows if record_of(row) is None}
    assert texts == {at: response_to(doc) for at, doc in enumerate(task.documents)}
    records = [record for row in rows if (record := record_of(row)) is not None]
    assert {each["outcome"] for each in records} == {"unscored"}

"""Errors of another package's task: they affect one document, or equal those of lmms-eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def test_the_cache_of_responses_serves_a_second_run(tmp_path: Path, tiny_llava: str) -> None:
    task = write_foreign_task(tmp_path)
    found: list[Any] = []
    with SeeingJudge().server() as server:
        for turn in range(2):
            done = run_lmms_eval(
                tmp_path / str(turn),
                *("--model", "llava_hf", "--model_args", tiny_llava, "--limit", "2"),
                *("--tasks", "colours_rpts", "--include_path", task.include_path),
                *("--gen_kwargs", "max_new_tokens=8", "--use_cache", str(tmp_path / "cache")),
                env=settings(server),
            )
            found.append((records_of(done), done.results["colours_rpts"]))
    (first, _), (second, results) = found
    assert first == second
    assert len(second) == 2
    assert results["judge_coverage,rpts"] == 1.0
    assert "all 2 requests served from cache" in done.output


def test_documents_of_odd_types(tmp_path: Path) -> None:
    """Golds that are numbers or lists, questions with unusual characters."""
    documents = [
        {"question": "\u0130\u017f\u00df\u2028?", "images": [], "gold": "A", "squares": []},
        {"question": " ", "images": [], "gold": "B", "squares": []},
    ]
    shown = "\n\ndef target(doc):\n    return [1, None, doc['gold']]\n"
    task = write_foreign_task(tmp_path, documents, utils=shown)
    path = Path(task.include_path) / "colours.yaml"
    path.write_text(
        path.read_text().replace("doc_to_target: gold", "doc_to_target: !function utils.target")
    )
    done = replayed(tmp_path, task, SeeingJudge())
    records = records_of(done)
    assert [each["instance"]["answer"] for each in records.values()] == [
        *("1 | None | A", "1 | None | B")
    ], done.output
    assert records[0]["instance"]["context"] == "\u0130\u017f\u00df\u2028?"
    assert json.dumps(records[1])

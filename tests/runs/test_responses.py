"""Saved responses: groups as tasks, and the predictions of ROME's publishers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.rescoring import plan_rescoring
from lmms_rpts.runs.responses import ResponsesError, read_responses
from tests.support.tables import table

PREDICTION = {"question_id": "question_geo_1", "answer": "Final Answer: A", "task": "geo"}


@table(
    "content, said",
    # the three layouts of ROME's README
    (PREDICTION, "Final Answer: A"),
    ([PREDICTION], "Final Answer: A"),
    ({"question_geo_1": {"answer": "Final Answer: A"}}, "Final Answer: A"),
    # src/example/predictions.json has the thinking apart, with its tags
    ([PREDICTION | {"reason": "<think>B?</think>"}], "<think>B?</think>Final Answer: A"),
    ([PREDICTION | {"reason": "B?"}], "<think>B?</think>\nFinal Answer: A"),
    ([PREDICTION | {"reason": None}], "Final Answer: A"),
    # src/example/updated_predictions.json has the extracted answer as answer
    ([PREDICTION | {"answer": "A", "raw_answer": "Final Answer: A"}], "Final Answer: A"),
)
def test_predictions_of_the_publishers(tmp_path: Path, content: Any, said: str) -> None:
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    saved = read_responses(file, default_task="")
    assert [each.text for each in saved.responses("rome_geo", 5, "question_geo_1")] == [said]
    assert not saved.responses("rome_geo", 5, "question_geo_2")


def test_a_blank_cell_of_csv_is_an_empty_response(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("task,id,response\nrome,a,\nrome,b,x\n")
    saved = read_responses(file)
    found = [saved.responses("rome", 0, own) for own in ("a", "b")]
    assert [each.text for (each,) in found] == ["", "x"]


def test_a_response_may_name_the_group(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("task,id,response\nrome,a,x\nrome_geo,b,y\nrome_geo_old,b,z\n")
    saved = read_responses(file)
    found = [saved.responses(task, 0, own) for task, own in (("rome_geo", "a"), ("rome_geo", "b"))]
    assert [each.text for (each,) in found] == ["x", "y"]
    assert not saved.responses("romeo", 0, "a")
    with pytest.raises(ResponsesError, match="the id a of rome is in rome_geo and in rome_memes"):
        saved.responses("rome_memes", 3, "a")


def _question(number: int, task: str) -> dict[str, Any]:
    return {
        "question_id": f"question_{task}_{number}",
        "question": "Which?",
        "img_path": f"{task}/{number}.png",
        "evaluator": "choices_matching",
        "evaluator_kwargs": {"label": "A"},
    }


@pytest.fixture
def rome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Questions of two subtasks, without images."""
    folder = tmp_path / "rome"
    folder.mkdir()
    questions = [_question(number, task) for task in ("geo", "memes") for number in (1, 2)]
    (folder / "annotation.json").write_text(json.dumps(questions))
    monkeypatch.setenv("ROME_PATH", str(folder))
    return tmp_path


@table("ids, tasks", (("geo_1", "geo_2", "memes_1"), "rome_geo,rome_memes"),
       (("memes_1",), "rome_memes"))  # fmt: skip
def test_predictions_are_scored_as_the_group(rome: Path, ids: tuple[str, ...], tasks: str) -> None:
    file = rome / "predictions.json"
    rows = {f"question_{each}": {"answer": "Final Answer: A"} for each in ids}
    file.write_text(json.dumps(rows))
    found = plan_rescoring([file], "rome")
    assert not found.needs_judge
    assert ",".join(sorted(found.responses)) == tasks
    assert {part.tasks for part in found.parts} <= {"rome_geo", "rome_memes", "rome"}


@table(
    "row, said",
    ({"task": "rome", "doc_id": 0, "response": "x"}, '"doc_id" is the number in a task'),
    ({"task": "rome", "id": "question_geo_9", "response": "x"}, "has the id question_geo_9"),
)
def test_responses_that_belong_to_no_question(rome: Path, row: dict[str, Any], said: str) -> None:
    file = rome / "r.jsonl"
    file.write_text(json.dumps(row))
    for task in (None, "rome"):
        with pytest.raises(ResponsesError, match=said):
            plan_rescoring([file], task)

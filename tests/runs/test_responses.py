"""Saved responses: groups as tasks, and the predictions of the publishers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lmms_rpts.analysis.rescoring import plan_rescoring

from lmms_rpts.runs.responses import ResponsesError, read_responses, split_rounds
from lmms_rpts.scoring.scorer import missing_response
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


def test_responses_of_the_code_of_cmmath(tmp_path: Path) -> None:
    """Its eval_result.json; the names of other files stay as they are."""
    file = tmp_path / "eval_result.json"
    row = {"problem_id": "25688", "question": "?", "answer": "9", "model_response": "81"}
    file.write_text(json.dumps([row, {"id": "3", "response": "A", **row}]), encoding="utf-8")
    saved = read_responses(file, default_task="")
    found = [saved.responses("cmmath", 0, each) for each in ("25688", "3")]
    assert [[each.text for each in one] for one in found] == [["81"], ["A"]]


_SAID = ["Final Answer: A", "['B', 'C']"]
_USED = [
    {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
    # Gemini counts its thinking in the total alone
    {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 95},
]
_ROUNDS = {f"inference_{at}": each for at, each in enumerate(_SAID)}
_RELEASE = {"question_id": "q", "model": "m", "reason": ["one", "two"], "usage": _USED}
_BOTH = [f"<think>{each}</think>\n{said}" for each, said in zip(("one", "two"), _SAID, strict=True)]


@table(
    "rows, said, tokens",
    # FlagEvalMM's own files, before and after its evaluation
    ([{**_RELEASE, "answer": _ROUNDS}], {"m": _BOTH}, [20, 85]),
    ([{**_RELEASE, "answer": {}, "raw_answer": _SAID}], {"m": _BOTH}, [20, 85]),
    # BAAI/ROME-Evaluated: all as text
    (
        [
            {name: each if isinstance(each, str) else write(each) for name, each in row.items()}
            | {"num_inferences": 2}
            for write in (json.dumps, str)
            for row in [{**_RELEASE, "answer": _ROUNDS, "raw_answer": _SAID, "model": repr(write)}]
        ],
        {repr(json.dumps): _BOTH, repr(str): _BOTH},
        [20, 85],
    ),
    # a row for each round; an answer that looks like a list is one answer
    (
        [{"question_id": "q", "model": "m", "answer": each} for each in _SAID],
        {"m": _SAID},
        [None, None],
    ),
    # thinking and tokens that fit no round are left out
    ([{**_RELEASE, "answer": _ROUNDS, "reason": "?", "usage": [{}]}], {"m": _SAID}, [None, None]),
)
def test_rounds_of_the_publishers(
    tmp_path: Path, rows: list[Any], said: dict[str, list[str]], tokens: list[int | None]
) -> None:
    file = tmp_path / "train.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    found = {}
    for model, files in split_rounds([file], tmp_path).items():
        read = [read_responses(each, default_task="").by_id["", "q"] for each in files]
        found[model] = [each.text for (each,) in read]
        assert [(each.tokens or {}).get("output_tokens") for (each,) in read] == tokens
    assert found == said


def test_files_of_one_round_each_and_a_round_that_lacks_a_question(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in ("first", "second")]
    both = [{"question_id": each, "answer": each} for each in ("a", "b")]
    for file, rows in zip(files, (both, both[:1]), strict=True):
        file.write_text(json.dumps(rows))
    (rounds,) = split_rounds(files, tmp_path).values()
    read = [read_responses(each, default_task="").by_id for each in rounds]
    assert [table["", "a"][0].text for table in read] == ["a", "a"]
    assert read[0]["", "b"][0].text == "b"
    assert missing_response(read[1]["", "b"][0].text) == (
        "the model request failed: the file has no response"
    )


def test_a_request_of_the_publishers_that_failed(tmp_path: Path) -> None:
    rows = [
        {"question_id": "a", "model": "m", "answer": {"inference_0": "A", "inference_1": None}},
        {"question_id": "b", "model": "m", "reason": "no answer"},
        # the first round failed, the second is a row of its own
        {"question_id": "c", "model": "m", "answer": None},
        {"question_id": "c", "model": "m", "answer": "C"},
    ]
    file = tmp_path / "train.jsonl"
    failed = "[LMMS_EVAL_REQUEST_FAILED] the file has no response"
    # the file may begin with a failed request
    for order in (rows, [rows[1], rows[0], *rows[2:]]):
        file.write_text("".join(json.dumps(row) + "\n" for row in order))
        (rounds,) = split_rounds([file], tmp_path).values()
        read = [read_responses(each, default_task="").by_id for each in rounds]
        said = [[table["", own_id][0].text for own_id in "abc"] for table in read]
        assert said == [["A", failed, failed], [failed, failed, "C"]]


def test_other_files_are_no_rounds(tmp_path: Path) -> None:
    alone, ours = tmp_path / "alone.json", tmp_path / "ours.jsonl"
    alone.write_text(json.dumps([PREDICTION]))
    ours.write_text('{"id": "a", "response": "x"}\n')
    assert split_rounds([alone], tmp_path) == split_rounds([ours, alone], tmp_path) == {}
    alone.write_text(json.dumps([PREDICTION | {"model_name": name} for name in "mn"]))
    with pytest.raises(ResponsesError, match="a second response to question_geo_1, and no 'model'"):
        split_rounds([alone, alone], tmp_path)
    two = [PREDICTION | {"model": name} for name in "mn"]
    alone.write_text(json.dumps(two))
    with pytest.raises(ResponsesError, match="responses of 'n', after those of 'm'"):
        read_responses(alone, default_task="")


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

"""Saved responses: groups as tasks, and the predictions of the publishers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.scoring import plan_runs
from lmms_rpts.base.settings import load_settings
from lmms_rpts.runs.responses import (
    LikelihoodError,
    ResponsesError,
    RunKey,
    SavedResponses,
    read_responses,
)
from tests.support.tables import table


def saved(folder: Path, content: Any, name: str = "train.json") -> SavedResponses:
    """The responses in a file; ``content``: its text, or what it holds as JSON."""
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_responses(file, default_task="")


def texts(saved: SavedResponses, task: str, own_id: str, run: RunKey | None = None) -> list[Any]:
    document = saved.find(task, -1, own_id, run)
    return [each.text for each in document.responses()] if document else []


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
    found = saved(tmp_path, content)
    assert texts(found, "rome_geo", "question_geo_1") == [said]
    assert not texts(found, "rome_geo", "question_geo_2")


def test_responses_of_the_code_of_cmmath(tmp_path: Path) -> None:
    """Its eval_result.json; the names of other files stay as they are."""
    row = {"problem_id": "25688", "question": "?", "answer": "9", "model_response": "81"}
    found = saved(tmp_path, [row, {"id": "3", "response": "A", **row}], "eval_result.json")
    assert [texts(found, "cmmath", each) for each in ("25688", "3")] == [["81"], ["A"]]


_SAID = ["Final Answer: A", "['B', 'C']"]
_USED = [
    {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
    # Gemini counts its thinking in the total alone
    {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 95},
]
_ROUNDS = {f"inference_{at}": each for at, each in enumerate(_SAID)}
_RELEASE = {"question_id": "q", "model": "m", "reason": ["one", "two"], "usage": _USED}
_BOTH = [f"<think>{each}</think>\n{said}" for each, said in zip(("one", "two"), _SAID, strict=True)]


def _as_text(write: Callable[[Any], str]) -> dict[str, Any]:
    row = {**_RELEASE, "answer": _ROUNDS, "raw_answer": _SAID}
    texts = {name: each if isinstance(each, str) else write(each) for name, each in row.items()}
    return texts | {"num_inferences": 2}


@table(
    "rows, said, tokens",
    # FlagEvalMM's own files, before and after its evaluation
    ([{**_RELEASE, "answer": _ROUNDS}], _BOTH, [20, 85]),
    ([{**_RELEASE, "answer": {}, "raw_answer": _SAID}], _BOTH, [20, 85]),
    # BAAI/ROME-Evaluated: all as text
    ([_as_text(json.dumps)], _BOTH, [20, 85]),
    ([_as_text(str)], _BOTH, [20, 85]),
    # a row for each round; an answer that looks like a list is one answer
    ([{"question_id": "q", "model": "m", "answer": each} for each in _SAID], _SAID, [None, None]),
    # thinking and tokens that fit no round are left out
    ([{**_RELEASE, "answer": _ROUNDS, "reason": "?", "usage": [{}]}], _SAID, [None, None]),
)
def test_rounds_of_the_publishers(
    tmp_path: Path, rows: list[Any], said: list[str], tokens: list[int | None]
) -> None:
    found = saved(tmp_path, rows)
    rounds = [found.find("rome", -1, "q", run) for run in found.runs]
    responses = [response for each in rounds if each for response in each.responses()]
    assert [each.text for each in responses] == said
    assert [(each.tokens or {}).get("output_tokens") for each in responses] == tokens


def test_files_of_one_round_each_and_a_round_that_lacks_a_question(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in ("first", "second")]
    both = [{"question_id": each, "answer": each} for each in ("a", "b")]
    for missing in (0, 1):
        for at, file in enumerate(files):
            file.write_text(json.dumps(both[:1] if at == missing else both))
        found = read_responses(*files, default_task="")
        assert [texts(found, "rome", "a", run) for run in found.runs] == [["a"], ["a"]]
        there = [texts(found, "rome", "b", run) for run in found.runs]
        assert there == [[] if at == missing else ["b"] for at in (0, 1)]
    rounds = {"inference_0": "A", "inference_2": "C"}
    found = saved(tmp_path, [{"question_id": "a", "model": "m", "answer": rounds}])
    assert [texts(found, "rome", "a", run) for run in found.runs] == [["A"], [None], ["C"]]


def test_a_request_of_the_publishers_that_failed(tmp_path: Path) -> None:
    rows = [
        {"question_id": "a", "model": "m", "answer": {"inference_0": "A", "inference_1": None}},
        {"question_id": "b", "model": "m", "reason": "no answer"},
        # the first round failed, the second is a row of its own
        {"question_id": "c", "model": "m", "answer": None},
        {"question_id": "c", "model": "m", "answer": "C"},
    ]
    # the file may begin with a failed request
    for order in (rows, [rows[1], rows[0], *rows[2:]]):
        found = saved(tmp_path, order)
        said = [[texts(found, "rome", own_id, run) for own_id in "abc"] for run in found.runs]
        assert said == [[["A"], [None], [None]], [[None], [], ["C"]]]


def test_models_and_rounds_are_told_apart(tmp_path: Path) -> None:
    named = [("m", 0), ("n", "1"), ("m", 2.0), (7, None), (None, "")]
    rows = [{"id": "a", "response": "x", "model": model, "round": at} for model, at in named]
    runs = {("m", 0), ("n", 1), ("m", 2), ("7", None), ("", None)}
    assert {*saved(tmp_path, rows).runs} == runs
    for wrong in ({"round": "first"}, {"round": 0.5}, {"round": -1}, {"model": ["m"]}):
        with pytest.raises(ResponsesError, match=f"row 1: {next(iter(wrong))} should be"):
            saved(tmp_path, [rows[0] | wrong])
    with pytest.raises(ResponsesError, match="a second response to question_geo_1, and no 'model'"):
        saved(tmp_path, [PREDICTION | {"model_name": name} for name in "mn"])


def test_a_response_may_name_the_group_and_a_blank_cell_is_a_failed_request(tmp_path: Path) -> None:
    found = saved(tmp_path, "task,id,response\nrome,a,\nrome_geo,b,y\nrome_geo_old,b,z\n", "r.csv")
    assert [texts(found, "rome_geo", own) for own in ("a", "b")] == [[None], ["y"]]
    assert not texts(found, "romeo", "a")
    with pytest.raises(ResponsesError, match="the id a of rome is in rome_geo and in rome_memes"):
        found.find("rome_memes", 3, "a")


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


def planned(file: Path, task: str | None) -> list[str]:
    (run,) = plan_runs([file], load_settings(), task=task)
    return [plan.name for plan in run.tasks]


@table(
    "ids, tasks",
    (("geo_1", "geo_2", "memes_1"), ["rome_geo", "rome_memes"]),
    (("memes_1",), ["rome_memes"]),
)
def test_predictions_are_scored_as_the_group(
    rome: Path, ids: tuple[str, ...], tasks: list[str]
) -> None:
    file = rome / "predictions.json"
    rows = {f"question_{each}": {"answer": "Final Answer: A"} for each in ids}
    file.write_text(json.dumps(rows))
    assert planned(file, "rome") == tasks


@table(
    "row, said",
    ({"task": "rome", "doc_id": 0, "response": "x"}, '"doc_id" is the number in a task'),
    ({"task": "rome", "id": "question_geo_9", "response": "x"}, "id question_geo_9 of rome"),
)
def test_responses_that_belong_to_no_question(rome: Path, row: dict[str, Any], said: str) -> None:
    file = rome / "r.jsonl"
    file.write_text(json.dumps(row))
    for task in (None, "rome"):
        with pytest.raises(ResponsesError, match=said):
            planned(file, task)


# --- likelihoods of lmms-eval ---------------------------------------------------------------------

# As lmms-eval saves what models return for answer options: a likelihood, whether it is the largest.
OPTIONS = [[["-3.5", "False"]], [["-0.25", "True"]]]
ONE = ["-0.25", "True"]


def samples(folder: Path, task: str, *rows: dict[str, Any]) -> Path:
    path = folder / f"20260101_000000_samples_{task}.jsonl"
    lines = [json.dumps({"doc_id": at, **row}) + "\n" for at, row in enumerate(rows)]
    path.write_text("".join(lines))
    return path


@table(
    "row",
    {"filtered_resps": ONE},
    {"resps": [ONE], "filtered_resps": "x"},
    {"resps": OPTIONS, "filtered_resps": [["-3.5", "False"]]},
    {"resps": [[[-3.5, False]], [[-0.25, True]]]},
    {"filtered_resps": ["-inf", "False"]},
    {"filtered_resps": ["nan", "False"]},
)
def test_likelihoods_are_no_responses(tmp_path: Path, row: dict[str, Any]) -> None:
    """One of a single request looked like two responses, "-0.25" and "True"."""
    with pytest.raises(LikelihoodError, match="only free text can be scored"):
        read_responses(samples(tmp_path, "t", row))


def test_likelihoods_beside_responses_are_passed_over(tmp_path: Path) -> None:
    samples(tmp_path, "arc_easy", {"resps": OPTIONS, "filtered_resps": ONE})
    samples(tmp_path, "colours", {"filtered_resps": "Red. A", "m": 1.0})
    found = read_responses(tmp_path)
    assert (found.tasks, found.passed_over) == (["colours"], {"arc_easy"})


@table(
    "row, found",
    ({"filtered_resps": ["2.5", "True"]}, ["2.5", "True"]),
    ({"response": ["-1", "True"]}, ["-1", "True"]),
    ({"resps": [["-1", "0"]]}, ["-1", "0"]),
    ({"filtered_resps": "-1"}, ["-1"]),
    ({"response": None}, [None]),
)
def test_short_texts_are_responses(tmp_path: Path, row: dict[str, Any], found: list[str]) -> None:
    document = read_responses(samples(tmp_path, "t", row)).find("t", 0, "")
    assert document is not None
    assert [each.text for each in document.responses()] == found

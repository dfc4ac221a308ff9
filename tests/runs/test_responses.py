"""Saved responses: groups as tasks, and the predictions of the publishers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.scoring import Selection, find_responses, plan_run
from lmms_rpts.base.settings import load_settings
from lmms_rpts.runs.responses import (
    LikelihoodError,
    ResponsesError,
    RunKey,
    SavedResponses,
    read_responses,
)
from tests.support.tables import table


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
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    saved = read_responses(file, default_task="")
    assert texts(saved, "rome_geo", "question_geo_1") == [said]
    assert not texts(saved, "rome_geo", "question_geo_2")


def test_responses_of_the_code_of_cmmath(tmp_path: Path) -> None:
    """Its eval_result.json; the names of other files stay as they are."""
    file = tmp_path / "eval_result.json"
    row = {"problem_id": "25688", "question": "?", "answer": "9", "model_response": "81"}
    file.write_text(json.dumps([row, {"id": "3", "response": "A", **row}]), encoding="utf-8")
    saved = read_responses(file, default_task="")
    assert [texts(saved, "cmmath", each) for each in ("25688", "3")] == [["81"], ["A"]]


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
    saved = read_responses(file, default_task="")
    found: dict[str, list[Any]] = {}
    for run in saved.runs:
        found.setdefault(run.model, []).extend(texts(saved, "rome", "q", run))
    assert found == said
    runs = [run for run in saved.runs if run.model == saved_model(said)]
    counts = [saved.find("rome", -1, "q", run) for run in runs]
    used = [(each.responses()[0].tokens or {}).get("output_tokens") for each in counts if each]
    assert used == tokens


def saved_model(said: dict[str, list[str]]) -> str:
    return next(iter(said))


def test_files_of_one_round_each_and_a_round_that_lacks_a_question(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in ("first", "second")]
    both = [{"question_id": each, "answer": each} for each in ("a", "b")]
    for file, rows in zip(files, (both, both[:1]), strict=True):
        file.write_text(json.dumps(rows))
    saved = read_responses(*files, default_task="")
    assert [texts(saved, "rome", "a", run) for run in saved.runs] == [["a"], ["a"]]
    assert [texts(saved, "rome", "b", run) for run in saved.runs] == [["b"], []]


def test_a_request_of_the_publishers_that_failed(tmp_path: Path) -> None:
    rows = [
        {"question_id": "a", "model": "m", "answer": {"inference_0": "A", "inference_1": None}},
        {"question_id": "b", "model": "m", "reason": "no answer"},
        # the first round failed, the second is a row of its own
        {"question_id": "c", "model": "m", "answer": None},
        {"question_id": "c", "model": "m", "answer": "C"},
    ]
    file = tmp_path / "train.jsonl"
    # the file may begin with a failed request
    for order in (rows, [rows[1], rows[0], *rows[2:]]):
        file.write_text("".join(json.dumps(row) + "\n" for row in order))
        saved = read_responses(file, default_task="")
        said = [[texts(saved, "rome", own_id, run) for own_id in "abc"] for run in saved.runs]
        assert said == [[["A"], [None], [None]], [[None], [], ["C"]]]


def test_models_and_rounds_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    rows = [{"id": "a", "response": str(at), "model": "mn"[at % 2], "round": at} for at in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    saved = read_responses(file, default_task="t")
    assert {*saved.runs} == {("m", 0), ("n", 1), ("m", 2)}
    file.write_text(json.dumps([PREDICTION | {"model_name": name} for name in "mn"]))
    with pytest.raises(ResponsesError, match="a second response to question_geo_1, and no 'model'"):
        read_responses(file, default_task="")


def test_a_blank_cell_of_csv_is_an_empty_response(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("task,id,response\nrome,a,\nrome,b,x\n")
    saved = read_responses(file)
    assert [texts(saved, "rome", own) for own in ("a", "b")] == [[""], ["x"]]


def test_a_response_may_name_the_group(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("task,id,response\nrome,a,x\nrome_geo,b,y\nrome_geo_old,b,z\n")
    saved = read_responses(file)
    assert [texts(saved, "rome_geo", own) for own in ("a", "b")] == [["x"], ["y"]]
    assert not texts(saved, "romeo", "a")
    with pytest.raises(ResponsesError, match="the id a of rome is in rome_geo and in rome_memes"):
        saved.find("rome_memes", 3, "a")


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
    saved = find_responses([file], task)
    plans = plan_run(saved, *saved.runs, load_settings(), Selection(), task)
    return [plan.name for plan in plans]


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
    saved = read_responses(tmp_path)
    assert (saved.tasks, saved.passed_over) == (["colours"], {"arc_easy"})


@table(
    "row, found",
    ({"filtered_resps": ["2.5", "True"]}, ["2.5", "True"]),
    ({"response": ["-1", "True"]}, ["-1", "True"]),
    ({"resps": [["-1", "0"]]}, ["-1", "0"]),
    ({"filtered_resps": "-1"}, ["-1"]),
    ({"response": None}, [None]),
)
def test_short_texts_are_responses(tmp_path: Path, row: dict[str, Any], found: list[str]) -> None:
    saved = read_responses(samples(tmp_path, "t", row))
    document = saved.find("t", 0, "")
    assert document is not None
    assert [each.text for each in document.responses()] == found


@table("row", {"filtered_resps": []}, {"resps": [[]]}, {"resps": [[[[["x"]]]]]}, {})
def test_other_values_are_named(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(ResponsesError, match="has no text as response or resps"):
        read_responses(samples(tmp_path, "t", row))

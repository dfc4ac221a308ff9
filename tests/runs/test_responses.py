"""Saved responses: models, rounds, groups as tasks, likelihoods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.scoring import plan_runs
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import load_settings
from lmms_rpts.runs.responses import ResponsesError, RunKey, SavedResponses, read_responses
from tests.support.rome import write_rome
from tests.support.tables import table


def saved(folder: Path, content: Any, name: str = "train.json") -> SavedResponses:
    """The responses in a file; ``content``: its text, or what it holds as JSON."""
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_responses(file, default_task="")


def texts(saved: SavedResponses, task: str, own_id: str, run: RunKey | None = None) -> list[Any]:
    document = saved.find(task, -1, own_id, run)
    return [each.text for each in document.responses()] if document else []


def test_models_and_rounds_are_told_apart(tmp_path: Path) -> None:
    named = [("m", 0), ("n", "1"), ("m", 2.0), (7, None), (None, "")]
    rows = [{"id": "a", "response": "x", "model": model, "round": at} for model, at in named]
    runs = {("m", 0), ("n", 1), ("m", 2), ("7", None), ("", None)}
    assert {*saved(tmp_path, rows).runs} == runs
    for wrong in ({"round": "first"}, {"round": 0.5}, {"round": -1}, {"model": ["m"]}):
        with pytest.raises(UserError, match=f"row 1: {next(iter(wrong))} should be"):
            saved(tmp_path, [rows[0] | wrong])


def test_a_response_may_name_the_group_and_a_blank_cell_is_a_failed_request(tmp_path: Path) -> None:
    found = saved(tmp_path, "task,id,response\nrome,a,\nrome_geo,b,y\nrome_geo_old,b,z\n", "r.csv")
    assert [texts(found, "rome_geo", own) for own in ("a", "b")] == [[None], ["y"]]
    assert not texts(found, "romeo", "a")
    with pytest.raises(ResponsesError, match="the id a of rome is in rome_geo and in rome_memes"):
        found.find("rome_memes", 3, "a")


@table(
    "row, said",
    ({"task": "rome", "doc_id": 0, "response": "x"}, '"doc_id" is the number in a task'),
    ({"task": "rome", "id": "question_geo_9", "response": "x"}, "id question_geo_9 of rome"),
)
def test_responses_that_belong_to_no_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any], said: str
) -> None:
    monkeypatch.setenv("ROME_PATH", str(write_rome(tmp_path)))
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps(row))
    for task in (None, "rome"):
        with pytest.raises(ResponsesError, match=said):
            plan_runs([file], load_settings(), task=task)


# As lmms-eval saves what models return for answer options: a likelihood, whether it is the largest.
OPTIONS = [[["-3.5", "False"]], [["-0.25", "True"]]]
ONE = ["-0.25", "True"]


def samples(folder: Path, task: str, row: dict[str, Any]) -> Path:
    path = folder / f"20260101_000000_samples_{task}.jsonl"
    path.write_text(json.dumps({"doc_id": 0, **row}))
    return path


@table(
    "row, said",
    ({"filtered_resps": ONE}, None),
    ({"resps": [ONE], "filtered_resps": "x"}, None),
    ({"resps": OPTIONS, "filtered_resps": [["-3.5", "False"]]}, None),
    ({"resps": [[[-3.5, False]], [[-0.25, True]]]}, None),
    ({"filtered_resps": ["-inf", "False"]}, None),
    ({"filtered_resps": ["nan", "False"]}, None),
    ({"filtered_resps": ["2.5", "True"]}, ["2.5", "True"]),
    ({"response": ["-1", "True"]}, ["-1", "True"]),
    ({"resps": [["-1", "0"]]}, ["-1", "0"]),
    ({"filtered_resps": "-1"}, ["-1"]),
    ({"response": None}, [None]),
)
def test_likelihoods_are_no_responses(
    tmp_path: Path, row: dict[str, Any], said: list[str | None] | None
) -> None:
    """One of a single request looked like two responses, "-0.25" and "True"."""
    path = samples(tmp_path, "t", row)
    if said is None:
        with pytest.raises(ResponsesError, match="only free text can be scored"):
            read_responses(path)
        return
    document = read_responses(path).find("t", 0, "")
    assert document is not None
    assert [each.text for each in document.responses()] == said


def test_likelihoods_beside_responses_are_passed_over(tmp_path: Path) -> None:
    samples(tmp_path, "arc_easy", {"resps": OPTIONS, "filtered_resps": ONE})
    samples(tmp_path, "colours", {"filtered_resps": "Red. A", "m": 1.0})
    found = read_responses(tmp_path)
    assert (found.tasks, found.passed_over) == (["colours"], {"arc_easy"})

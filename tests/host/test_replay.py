"""Replay: saved responses are matched with the right document."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from datasets import Dataset
from lmms_eval.api.instance import GenerationResult, TokenCounts

from lmms_rpts.base.errors import UserError
from lmms_rpts.host.replay import Replay
from lmms_rpts.runs.responses import ResponsesError, read_responses
from tests.support.tables import table


def write(path: Path, *entries: Any) -> Path:
    lines = [each if isinstance(each, str) else json.dumps(each) for each in entries]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def serve(
    path: Path, doc_ids: list[int], ids: list[Any] | None = None, task: str = "t"
) -> list[str | GenerationResult]:
    model = Replay(samples=str(path))
    model.task_dict = {task: {"test": Dataset.from_dict({"id": ids or [10, 11, 12]})}}
    requests = [SimpleNamespace(args=("ctx", {}, None, doc_id, task, "test")) for doc_id in doc_ids]
    return model.generate_until(requests)


def test_by_doc_id_and_by_id(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"task": "t", "doc_id": 1, "response": "one"},
        {"task": "t", "id": 12, "response": "two"},
        {"task": "other", "doc_id": 2, "response": "wrong"},
        "",
    )
    assert serve(path, [2, 1]) == ["two", "one"]


def test_the_responses_of_the_demo_need_no_path() -> None:
    assert Replay(samples="demo:careful").saved.tasks == ["rpts_demo"]


def test_logged_samples(tmp_path: Path) -> None:
    """The task is in the file name; resps is missing if the filters changed nothing."""
    path = write(
        tmp_path / "20260101_000000_samples_t.jsonl",
        {"doc_id": 0, "resps": ["raw"], "filtered_resps": "{}"},
        {"doc_id": 1, "filtered_resps": ["same"]},
        {"doc_id": 2, "filtered_resps": "same too"},
    )
    assert serve(path, [0, 1, 2]) == ["raw", "same", "same too"]
    assert serve(tmp_path, [0]) == ["raw"]


def test_repeats(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a_samples_t.jsonl",
        {"doc_id": 0, "resps": [["first", "second"]]},
        {"doc_id": 1, "resps": ["only"]},
    )
    assert serve(path, [0, 0, 1, 1]) == ["first", "second", "only", "only"]
    with pytest.raises(ResponsesError, match="t, doc_id 0, repeat 2"):
        serve(path, [0, 0, 0])


def test_token_counts_are_served_again(tmp_path: Path) -> None:
    """lmms-eval saves only the token counts of the first of several responses."""
    counts = {"input_tokens": 5, "output_tokens": 7, "reasoning_tokens": 2}
    path = write(
        tmp_path / "a_samples_t.jsonl",
        {"doc_id": 0, "resps": ["one", "two"], "token_counts": [counts]},
        {"doc_id": 1, "resps": ["x"], "token_counts": [None]},
        {"doc_id": 2, "resps": ["y"], "token_counts": [{"output_tokens": -1, "other": 3}]},
    )
    first, *others = serve(path, [0, 0, 1, 2])
    assert first == GenerationResult("one", TokenCounts(5, 7, 2))
    assert others == ["two", "x", "y"]


def test_a_document_that_stands_twice_is_read_once(tmp_path: Path) -> None:
    entry = {"doc_id": 0, "resps": ["x"]}
    assert serve(write(tmp_path / "a_samples_t.jsonl", entry, entry), [0]) == ["x"]
    again = write(tmp_path / "b_samples_t.jsonl", entry, entry | {"resps": ["y"]})
    with pytest.raises(ResponsesError, match="document 0 of t was already read"):
        read_responses(again)


def test_a_missing_response_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"task": "t", "doc_id": 1, "response": ""})
    assert serve(path, [1]) == [""]
    with pytest.raises(ResponsesError, match=r"r\.jsonl has no response to t, doc_id 0; t, doc"):
        serve(path, [0, 1, 2])


RECORD = '{"schema": "lmms_rpts.rpts", "schema_version": 1}'


@table(
    "line, said",
    ("{", "line 1: is not valid JSON"),
    ('{"doc_id": 1, "response": "x"}', 'line 1 has no "task"'),
    ('{"task": "t", "doc_id": 1, "response": 5}', "has no text as response"),
    (
        json.dumps({"task": "t", "doc_id": 1, "filtered_resps": RECORD}),
        "the response itself is lost",
    ),
)
def test_broken_files(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        read_responses(write(tmp_path / "r.jsonl", line))
    assert said in str(caught.value)


def test_odd_characters_survive(tmp_path: Path) -> None:
    text = "a\u2028b\u0085c\x00d"
    entries = [
        {"task": "t", "doc_id": at, "response": each} for at, each in enumerate((text, "\ud800"))
    ]
    plain, escaped = (json.dumps(each, ensure_ascii=at) for at, each in enumerate(entries))
    assert serve(write(tmp_path / "r.jsonl", plain, escaped), [0, 1]) == [text, "�"]

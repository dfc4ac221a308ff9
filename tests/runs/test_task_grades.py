"""Grades of saved responses to tasks of other packages, from files of any origin."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.rows import ReadError
from lmms_rpts.runs.samples import (
    load_task_grades,
    metric_names,
    read_task_grades,
    write_task_grades,
)
from tests.support.tables import table

RECORD = json.dumps({"schema": "lmms_rpts.rpts", "rpts": 0.5})
NO_SAMPLES = ("", "null", "[1]", "7", '"x"', "{", '{"doc_id": 0', "nonsense")
NOT_A_NUMBER = pytest.approx(float("nan"), nan_ok=True)


def samples(folder: Path, *lines: str, name: str = "1_samples_t.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return path


def row(doc_id: Any = 0, **more: Any) -> str:
    return json.dumps({"doc_id": doc_id, "filtered_resps": "x", **more})


@table(
    "lines, grades",
    ([row(acc=1)], {0: {"acc": 1}}),
    (
        [row(acc=1, doc={}, target="x", arguments=[], resps=[], doc_hash="")],
        {0: {"acc": 1, "target": "x"}},
    ),
    # With several pipelines, the first one that has each metric counts.
    ([row(acc=1), row(acc=0, f1=2)], {0: {"acc": 1, "f1": 2}}),
    # Of responses that were scored, only the accuracy grades the answer.
    ([row(filtered_resps=[RECORD, RECORD], accuracy=0, rpts=0.5)], {0: {"accuracy": 0}}),
    ([row(acc=1, task="u"), row(1, acc=0, task="t")], {1: {"acc": 0}}),
    ([row()], {0: {}}),
    # Lines that are not samples are skipped.
    ([*NO_SAMPLES, row(1, acc=1)], {1: {"acc": 1}}),
    ([row("0", acc=1), row(None, acc=1), row(True, acc=1), row(1.0, acc=1)], {}),
    (['{"doc_id": 0, "m": NaN, "n": 1e999}'], {0: {"m": NOT_A_NUMBER, "n": math.inf}}),
)
def test_grades_of_samples(tmp_path: Path, lines: list[str], grades: dict[int, Any]) -> None:
    assert read_task_grades([samples(tmp_path, *lines)], "t") == grades


def test_responses_that_name_their_task(tmp_path: Path) -> None:
    """If the file name names no task, lines without a task belong to the requested one."""
    lines = (row(0, task="t", m=1), row(1, task="u", m=1), row(2, m=1))
    path = samples(tmp_path, *lines, name="said.jsonl")
    assert set(read_task_grades([path], "t")) == {0, 2}
    assert set(read_task_grades([path], "u")) == {1, 2}


def test_files_of_other_tasks_hold_nothing(tmp_path: Path) -> None:
    path = samples(tmp_path, row(m=1), name="1_samples_other.jsonl")
    assert read_task_grades([path], "t") == {}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="Cannot read"):
        read_task_grades([tmp_path / "none.jsonl"], "t")
    with pytest.raises(ReadError, match="Cannot read"):
        read_task_grades([tmp_path], "t")


def test_metrics_stand_in_the_order_of_the_samples() -> None:
    assert metric_names({3: {"b": 1}, 1: {"a": 1, "b": 2}}) == ["b", "a"]
    assert metric_names({}) == []


def test_grades_are_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "grades.jsonl"
    grades = {
        "t": {0: {"m": 1, "why": "\u2028\ud800 İ"}, 7: {"target": ["a", "b"]}},
        "u": {0: {"m": 0}},
    }
    write_task_grades(path, grades)
    assert load_task_grades(path) == grades

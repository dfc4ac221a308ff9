"""Grades of saved responses to tasks of other packages, from files of any origin."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.rows import ReadError
from lmms_rpts.runs.task_grades import metric_names, read_task_grades, write_task_grades
from lmms_rpts.tasks.any_task.host import read_grades
from lmms_rpts.tasks.data import DataError
from tests.support.tables import table

RECORD = json.dumps({"schema": "lmms_rpts.rpts", "rpts": 0.5})
DEEP = "[" * 100_000
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
    # The line of our record holds our metrics, not the task's.
    ([row(acc=1), row(filtered_resps=RECORD, accuracy=0, rpts=0.5)], {0: {"acc": 1}}),
    ([row(filtered_resps=[RECORD, RECORD], accuracy=0)], {}),
    ([row(acc=1, task="u"), row(1, acc=0, task="t")], {1: {"acc": 0}}),
    ([row()], {0: {}}),
    # Lines that are not samples are skipped.
    (
        [*NO_SAMPLES, row(1, acc=1)],
        {1: {"acc": 1}},
    ),
    ([row("0", acc=1), row(None, acc=1), row(True, acc=1), row(1.0, acc=1)], {}),
    (['{"doc_id": 0, "m": ' + DEEP, row(2, m=1)], {2: {"m": 1}}),
    ([row(0, m="\u2028"), "\ufeff" + row(1, m=1)], {0: {"m": "\u2028"}}),
    (
        ['{"doc_id": 0, "m": NaN, "n": 1e999}'],
        {0: {"m": NOT_A_NUMBER, "n": math.inf}},
    ),
    (["\ufeff" + row(m=1)], {0: {"m": 1}}),
    (['{"doc_id": 0, "m": "\ud800"}', row(1, m=1)], {1: {"m": 1}}),
    (['{"doc_id": 1' + "0" * 5000 + "}", row(1, m=1)], {1: {"m": 1}}),
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
    values = {0: {"m": 1, "why": "\u2028\ud800 İ"}, 7: {"target": ["a", "b"]}}
    write_task_grades(path, {"t": values, "u": {0: {"m": 0}}})
    assert read_grades(path, "t") == ({0: [values[0]], 7: [{}]}, {7: "a | b"})
    assert read_grades(path, "u") == ({0: [{"m": 0}]}, {})
    assert read_grades(path, "v") == ({}, {})


@table(
    "content",
    *(b"{", b"[]", b"7", b"{}", b'{"task": "t"}', b'{"task": "t", "doc_id": "x", "metrics": []}'),
    *(b'{"task": "t", "doc_id": 0, "metrics": 7}', b'{"task": "t", "doc_id": 0, "metrics": [7]}'),
    *(b"\xff\xfe", DEEP.encode(), b'{"task": "t", "doc_id": null, "metrics": [{}]}'),
    b'{"task": "t", "doc_id": 1e999, "metrics": [{}]}',
)
def test_grades_that_cannot_be_used(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "grades.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"has no grades .*lmms-rpts score writes"):
        read_grades(path, "t")


def test_grades_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no grades"):
        read_grades(tmp_path / "none", "t")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["doc_id", "task", "metrics", "filtered_resps", "m", "t"]), inner
        )
    ),
    max_leaves=8,
)


@given(
    st.lists(JSON.map(json.dumps) | st.text(st.characters(exclude_categories=["Cs"])))
    | st.binary(max_size=200)
)
def test_any_lines_are_read(
    tmp_path_factory: pytest.TempPathFactory, content: list[str] | bytes
) -> None:
    path = samples(tmp_path_factory.getbasetemp() / "fuzz", "")
    path.write_bytes(content if isinstance(content, bytes) else "\n".join(content).encode())
    try:
        grades = read_task_grades([path], "t")
    except ReadError:
        return
    assert all(type(doc_id) is int for doc_id in grades)
    write_task_grades(path.with_name("grades"), {"t": grades})
    assert set(read_grades(path.with_name("grades"), "t")[0]) == set(grades)

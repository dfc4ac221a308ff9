"""Values of a task's metrics for saved responses, from samples files of lmms-eval."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.base.rows import read_objects, read_rows

_SAMPLES = "_samples_"
_SCHEMAS = "lmms_rpts."
_NOT_METRICS = frozenset(
    {
        *("doc_id", "id", "task", "doc", "target", "arguments", "resps", "filtered_resps"),
        *("response", "token_counts", "doc_hash", "input_media", "input", "metadata"),
        *("prompt_hash", "target_hash", "filter", "metrics"),
    }
)

TARGET = "target"
"""Key of the gold answer among the values, as lmms-eval logs it; not a metric."""

Grades = dict[int, Mapping[str, Any]]
"""For each document, the values of the task's metrics, and ``TARGET``."""


def read_task_grades(files: Iterable[Path], task: str) -> Grades:
    """Read the values of a task's own metrics, each from the first filter pipeline that has it.

    Lines without a JSON object or a document number are ignored: the reader of the
    responses reports them.

    Args:
        files: samples files, or JSON lines of responses with ``task``.
        task: the task of the grades.
    """
    grades: Grades = {}
    for file in files:
        _, found, named = file.stem.partition(_SAMPLES)
        for row in read_rows(file):
            entry = row.fields
            doc_id = entry.get("doc_id")
            of = entry.get("task", named if found else task)
            if type(doc_id) is int and of == task and not _holds_record(entry):
                gold = {TARGET: entry[TARGET]} if entry.get(TARGET) is not None else {}
                grades[doc_id] = {**_metrics(entry), **gold, **grades.get(doc_id, {})}
    return grades


def metric_names(grades: Grades) -> list[str]:
    """The metrics that any document has, in the order of the samples."""
    names = dict.fromkeys(name for values in grades.values() for name in values)
    return [name for name in names if name != TARGET]


def write_task_grades(path: Path, grades: Mapping[str, Grades]) -> None:
    """Write the grades of tasks, given by task name, for a run of ``lmms-rpts score``."""
    with path.open("w", encoding="utf-8") as out:
        for task, found in grades.items():
            for doc_id, values in found.items():
                row = {"task": task, "doc_id": doc_id, "values": values}
                out.write(json.dumps(row) + "\n")


def load_task_grades(path: Path, task: str) -> Grades:
    """The grades of a task from a file of ``write_task_grades``."""
    rows = (row.fields for row in read_objects(path))
    return {row["doc_id"]: row["values"] for row in rows if row["task"] == task}


def _metrics(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in _NOT_METRICS}


def _holds_record(entry: Mapping[str, Any]) -> bool:
    found = entry.get("filtered_resps")
    texts = found if isinstance(found, list) else [found]
    return any(isinstance(text, str) and f'"schema": "{_SCHEMAS}' in text[:80] for text in texts)

"""Labels of documents from a table, which become breakdowns of the responses."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lmms_rpts.analysis.reading import benchmark_of_runs
from lmms_rpts.analysis.summary import Values, breakdowns
from lmms_rpts.base.rows import Row, read_objects
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run

_KEYS = ("task", "id", "doc_id")
Documents = Mapping[tuple[str, str | int], set[Hashable]]
"""What documents share with their translations, by task (empty: any) and id or number."""


def read_labels(path: Path, runs: Sequence[Run]) -> dict[str, Values]:
    """The columns of a table as breakdowns of runs, by their names.

    A row has the ``id`` of a document, or its number ``doc_id``, perhaps its ``task``, and a label
    in each other column, if it is not blank. Labels hold for the document and its translations.

    Raises:
        UserError: for a file that cannot be read, a document that no run has, two labels of one
            document, or a column named as a breakdown that the data of the runs have.
    """
    known: dict[tuple[str, str | int], set[Hashable]] = {}
    for each in {record.instance for run in runs for record in run.responses}:
        for task in ("", each.task):
            for identity in (str(each.id), each.doc_id):
                known.setdefault((task, identity), set()).add(each.cluster)
    labels: dict[str, dict[Hashable, str]] = {}
    for row in read_objects(path):
        clusters = _documents(row, known)
        for name in row.fields:
            text = "" if name in _KEYS else _cell(row, name)
            for cluster in clusters if text else ():
                label = labels.setdefault(name, {}).setdefault(cluster, text)
                if label != text:
                    raise row.error(f"{name} of this document is {label!r} in an earlier row")
    if not labels:
        raise RunError(f"{path} has no labels: it needs id or doc_id, and columns with labels")
    for run in runs:
        for name, values in breakdowns(benchmark_of_runs([run])).items():
            if name in labels and any(any(values(record)) for record in run.responses):
                raise RunError(f"{path}: {run.label} has {name} already: rename the column")
    return {name: partial(_label, of) for name, of in labels.items()}


def _label(labels: Mapping[Hashable, str], record: Any) -> Sequence[str | None]:
    return (labels.get(record.instance.cluster),)


def _documents(row: Row, known: Documents) -> set[Hashable]:
    """The documents of a row."""
    task, own_id, number = (_cell(row, name) for name in _KEYS)
    if not own_id and not number.isdecimal():
        raise row.error("id and doc_id are missing: one of them is needed (doc_id: a number)")
    identity = own_id or int(number)
    found = known.get((task, identity), set())
    if not found:
        of_task = f" of {task}" * bool(task)
        raise row.error(f"no run has a document {identity}{of_task}", "Correct or remove the row")
    if not own_id and len(found) > 1:
        raise row.error(f"task is missing: several tasks have a document {identity}")
    return found


def _cell(row: Row, name: str) -> str:
    """A value as text; empty if it is missing."""
    value = row.fields.get(name)
    return "" if value is None or value != value else str(value).strip()

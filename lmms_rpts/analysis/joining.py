"""Labels of documents from a table, which become breakdowns of the responses."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lmms_rpts.analysis.reading import benchmark_of_run
from lmms_rpts.analysis.summary import Values, breakdowns
from lmms_rpts.base.rows import ReadError, Row, read_objects
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.samples import RunError

_KEYS = ("task", "id", "doc_id")


def read_labels(path: Path, runs: Sequence[AnyRun]) -> dict[str, Values]:
    """The columns of a table as breakdowns of runs, by their names.

    A row has the ``id`` of a document, or its number ``doc_id``, perhaps its ``task``, and a label
    in each other column, if it is not blank. Labels hold for the document and its translations.

    Raises:
        RunError: for a file that cannot be read, a document that no run has, two labels of one
            document, or a column named as a breakdown that the data of the runs have.
    """
    known = _documents(runs)
    labels: dict[str, dict[Hashable, str]] = {}
    try:
        for row in read_objects(path):
            clusters = _clusters(row, known)
            for name, value in row.fields.items():
                if name in _KEYS or value is None or value != value or not str(value).strip():
                    continue
                for cluster in clusters:
                    label = labels.setdefault(name, {}).setdefault(cluster, str(value).strip())
                    if label != str(value).strip():
                        raise row.error(f"{name} of this document is {label!r} in an earlier row")
    except ReadError as error:
        raise RunError(str(error)) from None
    if not labels:
        raise RunError(f"{path} has no labels: it needs id or doc_id, and columns with labels")
    for run in runs:
        for name, values in breakdowns(benchmark_of_run(run)).items():
            if name in labels and any(any(values(record)) for record in run.responses):
                raise RunError(f"{path}: {name} is a breakdown of {run.label}: rename the column")
    return {name: partial(_label, of) for name, of in labels.items()}


def _label(labels: Mapping[Hashable, str], record: Any) -> Sequence[str | None]:
    return (labels.get(record.instance.cluster),)


def _documents(runs: Iterable[AnyRun]) -> dict[tuple[str, str | int], set[Hashable]]:
    """What documents share with their translations, by task (empty: any) and id or number."""
    found: dict[tuple[str, str | int], set[Hashable]] = {}
    for run in runs:
        for instance in dict.fromkeys(each.instance for each in run.responses):
            for task in ("", instance.task):
                for identity in (str(instance.id), instance.doc_id):
                    found.setdefault((task, identity), set()).add(instance.cluster)
    return found


def _clusters(row: Row, known: Mapping[tuple[str, str | int], set[Hashable]]) -> set[Hashable]:
    """What the documents of a row share with their translations."""
    task, own_id, number = (row.fields.get(name) for name in _KEYS)
    if own_id is None and number is None:
        raise row.error("id and doc_id are missing: one of them is needed")
    if own_id is None and not str(number).isdecimal():
        raise row.error(f"doc_id should be a whole number, not {number!r}")
    identity = int(str(number)) if own_id is None else str(own_id)
    found = known.get((str(task or ""), identity), set())
    if not found:
        raise row.error(f"no run has a document {identity}" + f" of {task}" * bool(task))
    if own_id is None and len(found) > 1:
        raise row.error(f"task is missing: several tasks have a document {identity}")
    return found

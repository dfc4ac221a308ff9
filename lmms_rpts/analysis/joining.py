"""Labels of documents from a table, which become breakdowns of the responses."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from lmms_rpts.analysis.frames import benchmark_of, breakdown
from lmms_rpts.base.rows import Row, read_objects
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run

_KEYS = ("task", "id", "doc_id")
Clusters = Mapping[tuple[str, str | int], set[Hashable]]
"""What documents share with their translations, by task (empty: any) and id or number."""


def read_labels(path: Path, runs: Sequence[Run]) -> dict[str, dict[Hashable, str]]:
    """The columns of a table as breakdowns of runs: by name, the label of each cluster.

    A row has the ``id`` of a document, or its number ``doc_id``, perhaps its ``task``, and a label
    in each other column, if it is not blank. Labels hold for the document and its translations.

    Raises:
        UserError: for a file that cannot be read, a document that no run has, two labels of one
            document, or a column named as a breakdown that the data of the runs have.
    """
    instances = {record.instance for run in runs for record in run.responses}
    clusters: dict[tuple[str, str | int], set[Hashable]] = {}
    for instance in instances:
        for task in ("", instance.task):
            for identity in (str(instance.id), instance.doc_id):
                clusters.setdefault((task, identity), set()).add(instance.cluster)
    labels: dict[str, dict[Hashable, str]] = {}
    for row in read_objects(path):
        own = _clusters_of(row, clusters)
        for name in row.fields:
            text = "" if name in _KEYS else _cell(row, name)
            for cluster in own if text else ():
                label = labels.setdefault(name, {}).setdefault(cluster, text)
                if label != text:
                    raise row.error(f"{name} of this document is {label!r} in an earlier row")
    if not labels:
        raise RunError(f"{path} has no labels: it needs id or doc_id, and columns with labels")
    for run in runs:
        for name in {*labels} & {*benchmark_of([run]).by}:
            if any(any(breakdown(name, record)) for record in run.responses):
                raise RunError(f"{path}: {run.label} has {name} already: rename the column")
    return labels


def _clusters_of(row: Row, clusters: Clusters) -> set[Hashable]:
    """What the document of a row shares with its translations."""
    task, own_id, number = (_cell(row, name) for name in _KEYS)
    if not own_id and not number.isdecimal():
        raise row.error("id and doc_id are missing: one of them is needed (doc_id: a number)")
    identity = own_id or int(number)
    own = clusters.get((task, identity), set())
    if not own:
        of_task = f" of {task}" * bool(task)
        raise row.error(f"no run has a document {identity}{of_task}", "Correct or remove the row")
    if not own_id and len(own) > 1:
        raise row.error(f"task is missing: several tasks have a document {identity}")
    return own


def _cell(row: Row, name: str) -> str:
    """A value as text; empty if it is missing."""
    value = row.fields.get(name)
    return "" if value is None or value != value else str(value).strip()

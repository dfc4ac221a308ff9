"""``Scorer``: scores batches of saved responses with the filters of their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import listed
from lmms_rpts.base.schema import shown
from lmms_rpts.distributed.workers import Worker
from lmms_rpts.filters.budget import reset_spending, usage_so_far
from lmms_rpts.host.documents import load_task
from lmms_rpts.host.task_index import SUFFIX, document_metrics
from lmms_rpts.runs.samples import holds_record, unwrapped
from lmms_rpts.tasks.data import DataError

Batch = Mapping[str, Sequence[Any]]
"""The values of rows by column, as lists or numpy arrays of equal length."""
_COLUMNS = ("task", "doc_id", "id", "response")


class Scorer:
    """Scores responses: for ``ray.data.Dataset.map_batches``, or for batches of any origin.

    A call takes the columns ``task``, ``doc_id`` or ``id``, and ``response`` (a text, or a list of
    texts for several rounds). It returns the columns of the batch; ``record``: the records as JSON
    text, equal to those that lmms-eval saves; and each numeric metric, NaN where a row has none.

    Args:
        worker: the settings, from `prepare_worker`; None: those of this process.
        include_path: folder of further task files.

    Raises:
        UserError: for a wrong setting, row or document, or a judge that cannot go on: no row of
            the batch is done, and replies that arrived are in the cache.
    """

    def __init__(self, worker: Worker | None = None, include_path: str | None = None) -> None:
        self._worker = worker
        if worker:
            worker.enter()
        self._include_path = Path(include_path) if include_path else None
        self._tasks: dict[str, _Task] = {}
        reset_spending()

    def __call__(self, batch: Batch) -> dict[str, Any]:
        """The batch with its records and metrics."""
        try:
            return self._score(batch)
        except Exception as error:
            if self._worker:  # Ray passes on the traceback of an error, not the error
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                self._worker.tell("stop", f"{kind}{error}")
            raise

    def _score(self, batch: Batch) -> dict[str, Any]:
        import numpy as np

        rows = _rows(batch)
        records: list[Any] = [None] * len(rows)
        metrics: dict[str, Any] = {}
        for name in dict.fromkeys(row["task"] for row in rows):
            places = [at for at, row in enumerate(rows) if row["task"] == name]
            if name not in self._tasks:
                self._tasks[name] = _Task(str(name), self._include_path)
            scored = self._tasks[name].score([rows[at] for at in places])
            for at, (record, found) in zip(places, scored, strict=True):
                records[at] = record
                for metric, value in found.items():
                    metrics.setdefault(metric, np.full(len(rows), np.nan))[at] = value
        usage = usage_so_far()
        if usage["stopped"]:
            raise UserError(f"Judging stopped: {usage['stopped']}")
        if self._worker:
            self._worker.note(usage)
        return {**metrics, **batch, "record": records}


class _Task:
    """A task of lmms-eval with its documents."""

    def __init__(self, name: str, include_path: Path | None) -> None:
        self.name, self._task = name, load_task(name, include_path, scored=True)
        self._docs = self._task.eval_docs_no_media
        ids = self._docs["id"] if "id" in getattr(self._docs, "column_names", ()) else ()
        self._numbers = {str(own_id): number for number, own_id in enumerate(ids)}

    def score(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, dict[str, float]]]:
        """The record, or a list of records, and the numeric metrics of each row."""
        instances = [self._instance(row) for row in rows]
        metrics: list[dict[str, float]] = [{} for _ in rows]
        for ensemble in self._task._filters:
            ensemble.apply(instances, self._task.task_docs)
        for ensemble in self._task._filters:  # the task's own come first: they grade the answers
            for each, found in zip(instances, metrics, strict=True):
                found |= document_metrics(self._task, each, ensemble.name)
        records = [each.filtered_resps[ensemble.name] for each in instances]
        if not holds_record({"filtered_resps": records[0]}):
            raise DataError(f"{self.name} is not scored by RPTS: use {self.name}{SUFFIX}")
        return [
            (unwrapped(record) if isinstance(row["response"], list) else record, found)
            for row, record, found in zip(rows, records, metrics, strict=True)
        ]

    def _instance(self, row: Mapping[str, Any]) -> Any:
        """The request that lmms-eval makes of a document, with the responses of a row."""
        number = row["doc_id"] if "doc_id" in row else self._numbers.get(str(row["id"]))
        if not isinstance(number, int) or not 0 <= number < len(self._docs):
            own_id = shown(row.get("doc_id", row.get("id")))
            raise DataError(f"{self.name} has {len(self._docs)} documents, but none is {own_id}")
        task, config = self._task, self._task.config
        about = {"task": self.name, "doc_id": number, "repeats": config.repeats}
        about["split"] = config.test_split or config.validation_split
        about |= config.metadata if isinstance(config.metadata, dict) else {}
        text = task.fewshot_context(self._docs[number], config.num_fewshot or 0)
        instance = task.construct_requests(doc_id=number, ctx=text, metadata=about)
        instance.resps = unwrapped(row["response"])
        return instance


def _rows(batch: Batch) -> list[dict[str, Any]]:
    """The rows of a batch, with Python's values instead of numpy's."""
    named = [name for name in _COLUMNS if name in batch]
    if len(named) < 3 or not {"task", "response"} <= {*named}:
        raise DataError(
            f"Rows to score need the fields task, doc_id or id, and response, and have "
            f"{listed(batch)}"
        )
    columns = [
        [each.tolist() if hasattr(each, "tolist") else each for each in batch[name]]
        for name in named
    ]
    return [dict(zip(named, values, strict=True)) for values in zip(*columns, strict=True)]

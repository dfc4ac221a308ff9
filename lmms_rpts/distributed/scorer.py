"""``Scorer``: scores batches of saved responses with the filters of their tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import listed
from lmms_rpts.base.schema import shown
from lmms_rpts.distributed.workers import WorkerSettings
from lmms_rpts.filters.budget import reset_spending, usage_so_far
from lmms_rpts.host.task_index import SUFFIX, build_task
from lmms_rpts.runs.samples import holds_record, unwrapped
from lmms_rpts.tasks.data import DataError

Batch = Mapping[str, Sequence[Any]]
"""The values of rows by column, as lists or numpy arrays of equal length."""

_COLUMNS = ("task", "doc_id", "id", "response")


class JudgingStoppedError(UserError):
    """The judge cannot go on (a wrong key, an exhausted budget); the message says why."""


class Scorer:
    """Scores responses: for ``ray.data.Dataset.map_batches``, or for any other batches.

    A call takes the columns ``task``, ``doc_id`` or ``id``, and ``response`` (a text, or a list of
    the texts of all rounds). It returns all columns of the batch, the records of the responses as
    JSON text in ``record``, equal to those that lmms-eval saves, and the metrics of each row that
    are numbers, NaN where a row has none. Tasks are built at their first row and kept; the judge
    is the one in the settings.

    Args:
        worker: settings of the process that distributes the work, from `worker_settings`; None:
            this process's own.
        include_path: folder of further task files.

    Raises:
        UserError: for a wrong setting, row or document; for a judge that cannot go on, so that no
            row of that batch counts as done. Replies that arrived are in the cache.
    """

    def __init__(
        self, worker: WorkerSettings | None = None, include_path: str | Path | None = None
    ) -> None:
        if worker is not None:
            worker.enter()
        reset_spending()
        self._worker = worker
        self._include_path = Path(include_path) if include_path else None
        self._tasks: dict[str, _Task] = {}

    def __call__(self, batch: Batch) -> dict[str, Any]:
        """The batch with its records and metrics."""
        try:
            return self._score(batch)
        except Exception as error:
            if self._worker is not None:  # of an error in a worker, Ray passes on a traceback only
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                self._worker.report_fault(f"{kind}{error}")
            raise

    def _score(self, batch: Batch) -> dict[str, Any]:
        import numpy as np

        rows = _rows(batch)
        places: dict[str, list[int]] = {}
        for at, row in enumerate(rows):
            places.setdefault(str(row["task"]), []).append(at)
        scored: list[tuple[Any, Mapping[str, Any]]] = [("", {})] * len(rows)
        for name, there in places.items():
            if name not in self._tasks:
                self._tasks[name] = _Task(name, self._include_path)
            found = self._tasks[name].score([rows[at] for at in there])
            for at, each in zip(there, found, strict=True):
                scored[at] = each
        if self._worker is not None:
            self._worker.report_usage(len(rows))
        metrics = {name: np.full(len(rows), math.nan) for _, found in scored for name in found}
        for at, (_, found) in enumerate(scored):
            for name, value in found.items():
                metrics[name][at] = value
        return {**metrics, **batch, "record": [record for record, _ in scored]}


class _Task:
    """A task of lmms-eval with its documents."""

    def __init__(self, name: str, include_path: Path | None) -> None:
        self.name = name
        self._task = build_task(name, include_path)
        filters = (each for ensemble in self._task._filters for each in ensemble.filters)
        hosts = (getattr(each, "host", None) for each in filters)
        self._host = next(filter(None, hosts), None)
        self._docs = self._task.eval_docs_no_media
        columns = getattr(self._docs, "column_names", ())
        ids = self._docs["id"] if "id" in columns else ()
        self._numbers = {str(own_id): number for number, own_id in enumerate(ids)}

    def score(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, dict[str, float]]]:
        """The record, or a list of records, and the numeric metrics of each row."""
        instances = [self._instance(row) for row in rows]
        for ensemble in self._task._filters:
            ensemble.apply(instances, self._task.task_docs)
        if stopped := usage_so_far()["stopped"]:
            raise JudgingStoppedError(f"Judging stopped: {stopped}")
        metrics = [dict[str, Any]() for _ in instances]
        pipeline = ""
        for pipeline in [each.name for each in self._task._filters]:
            for found, instance in zip(metrics, instances, strict=True):
                found |= self._metrics(instance, pipeline)
        records = [instance.filtered_resps[pipeline] for instance in instances]
        if not holds_record({"filtered_resps": records[0]}):
            raise DataError(f"{self.name} has no filter of RPTS: score it as {self.name}{SUFFIX}")
        return [
            (
                record if isinstance(row["response"], list) else unwrapped(record)[0],
                {name: float(v) for name, v in found.items() if isinstance(v, int | float)},
            )
            for row, record, found in zip(rows, records, metrics, strict=True)
        ]

    def _instance(self, row: Mapping[str, Any]) -> Any:
        """The request that lmms-eval makes of a document, with the row's responses."""
        number = self._number(row)
        task, doc = self._task, self._docs[number]
        named = task.config.metadata if isinstance(task.config.metadata, dict) else {}
        about = {"task": self.name, "doc_id": number, "repeats": task.config.repeats}
        about["split"] = task.config.test_split or task.config.validation_split
        text = task.fewshot_context(doc, task.config.num_fewshot or 0)
        instance = task.construct_requests(doc_id=number, ctx=text, metadata={**about, **named})
        said = row["response"]
        instance.resps = said if isinstance(said, list) else [said]
        return instance

    def _number(self, row: Mapping[str, Any]) -> int:
        """The number of a row's document."""
        if "doc_id" in row:
            number = row["doc_id"]
            if isinstance(number, int) and 0 <= number < len(self._docs):
                return number
        elif str(row["id"]) in self._numbers:
            return self._numbers[str(row["id"])]
        what = shown(row.get("doc_id", row.get("id")))
        raise DataError(
            f"{self.name} has {len(self._docs)} documents, and {what} is not among them"
        )

    def _metrics(self, instance: Any, pipeline: str) -> Mapping[str, Any]:
        doc = self._docs[instance.doc_id]
        if self._host is None or self._host.graded:
            result: Mapping[str, Any] = self._task.process_results(
                doc, [instance.filtered_resps[pipeline]]
            )
            return result
        # The task's own metrics say whether an answer is right.
        from lmms_eval.api.reasoning import parse_reasoning_tags_config
        from lmms_eval.evaluator import _process_document_results

        tags = parse_reasoning_tags_config(
            cli_value=None, task_value=getattr(self._task.config, "reasoning_tags", None)
        )
        done = _process_document_results(
            (instance.doc_id, doc, [instance]),
            task=self._task,
            filter_key=pipeline,
            reasoning_tags=tags,
            log_samples=False,
        )
        return dict(done.metrics)


def _rows(batch: Batch) -> list[dict[str, Any]]:
    """The rows of a batch, with plain values."""
    wanted = [name for name in _COLUMNS if name in batch]
    if not {"task", "response"} <= {*wanted} or len(wanted) < 3:
        raise DataError(
            f"Rows to score have the fields task, doc_id or id, and response; these have "
            f"{listed(batch)}"
        )
    columns = [map(_plain, batch[name]) for name in wanted]
    return [dict(zip(wanted, values, strict=True)) for values in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    """A value of a numpy array, as Python's own."""
    return value.tolist() if hasattr(value, "tolist") else value

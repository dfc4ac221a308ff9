"""Tables of scored responses for Weights & Biases (``--wandb_log_samples``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.schema import FieldError
from lmms_rpts.host.task_index import filters_of
from lmms_rpts.runs.record import Cell, Record
from lmms_rpts.runs.samples import records_of_sample
from lmms_rpts.tasks.benchmark import filter_names, record_types

_NOT_SHOWN = ("doc", "arguments", "doc_hash", "token_counts", "input_media")


def scored_tasks(configs: Mapping[str, Any]) -> list[str]:
    """The tasks that use our filters, by name, from lmms-eval's ``configs`` of results."""
    ours = filter_names()
    return [
        name
        for name, config in configs.items()
        if isinstance(config, Mapping) and filters_of(config) & ours
    ]


def log_tables(wandb_logger: Any, samples: Mapping[str, Sequence[Any]]) -> None:
    """Log one table and one artifact for each task."""
    import wandb

    ours = scored_tasks(wandb_logger.task_configs)
    for task, found in samples.items():
        try:
            rows = list(_scored_rows(task, found) if task in ours else map(_plain_row, found))
            heads = list(dict.fromkeys(head for row in rows for head in row)) or ["doc_id"]
            data = [[_clean(row.get(head)) for head in heads] for row in rows]
            # Mixed types: a score is a number or missing, and W&B would refuse a column of both.
            table = wandb.Table(columns=heads, data=data, allow_mixed_types=True)
            wandb_logger.run.log({f"{task}_eval_results": table})
            wandb_logger._log_samples_as_artifact(found, task)
        except Exception as error:  # W&B failed, or the disk is full: keep the results
            logger.warning("The samples of {} are not logged to W&B: {}", task, error)


def _scored_rows(task: str, samples: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """One row per response, by document and repeat.

    Rows of a task's own pipelines, which contain no record of this package, are left out.
    """
    found = [each for sample in samples for each in _records(task, sample)]
    found.sort(key=lambda each: (each.instance.doc_id, each.repeat))
    repeats = any(each.repeat for each in found)
    for each in found:
        yield (
            {"doc_id": each.instance.doc_id}
            | ({"repeat": each.repeat} if repeats else {})
            | {"id": str(getattr(each.instance, "id", ""))}
            | each.cells()
            | {"response": each.text}
        )


def _plain_row(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """Prompt, target, responses and metrics of a sample of another package's task.

    ``sample`` is as lmms-eval saves it; saving adds ``input`` and drops ``arguments``.
    """
    heads = ("doc_id", "input", "target", "resps", "filtered_resps")
    values = {name: value for name, value in sample.items() if name not in _NOT_SHOWN}
    return {head: sample[head] for head in heads if head in sample} | values


def _records(task: str, sample: Mapping[str, Any]) -> Iterable[Record]:
    for kind in record_types():
        try:
            return records_of_sample(kind, sample, task)
        except FieldError:
            continue
    return []


def _clean(cell: object) -> Cell:
    """A number or a text, without lone surrogates, which cannot be saved in a file."""
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    return storable(cell if isinstance(cell, str) else str(cell))

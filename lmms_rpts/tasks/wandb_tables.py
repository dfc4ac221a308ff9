"""Tables of scored responses for Weights & Biases (``--wandb_log_samples``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_rpts.escaping import storable
from lmms_rpts.runs.record import Cell, Record
from lmms_rpts.runs.samples import records_of_sample
from lmms_rpts.schema import FieldError
from lmms_rpts.tasks.any_task.names import filters_of
from lmms_rpts.tasks.benchmark import filter_names, record_types


def scored_tasks(configs: Mapping[str, Any]) -> list[str]:
    """The tasks that use our filters, by name, from lmms-eval's ``configs`` of results."""
    ours = filter_names()
    return [
        name
        for name, config in configs.items()
        if isinstance(config, Mapping) and filters_of(config) & ours
    ]


def log_tables(wandb_logger: Any, samples: Mapping[str, Sequence[Any]]) -> list[str]:
    """Log one table and one artifact for each task that uses our filters.

    Args:
        wandb_logger: lmms-eval's WandbLogger.
        samples: logged samples by task.

    Returns:
        The tasks whose samples are logged: lmms-eval's own function can skip them.
    """
    tasks = [task for task in scored_tasks(wandb_logger.task_configs) if task in samples]
    for task in tasks:
        try:
            _log_table(wandb_logger.run, task, samples[task])
            wandb_logger._log_samples_as_artifact(samples[task], task)
        except Exception as error:  # W&B failed, or the disk is full: keep the results
            logger.warning("The samples of {} are not logged to W&B: {}", task, error)
    return tasks


def _log_table(run: Any, task: str, samples: Sequence[Any]) -> None:
    import wandb

    heads, rows = table_of(task, samples)
    # Mixed types: a score is a number or missing, and W&B would refuse a column of both.
    table = wandb.Table(columns=heads, data=rows, allow_mixed_types=True)
    run.log({f"{task}_eval_results": table})


def table_of(task: str, samples: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Cell]]]:
    """The columns and rows of a task's table: one row per response, by document and repeat.

    Rows of a task's own pipelines, which contain no record of this package, are left out.
    """
    found = [each for sample in samples for each in _records(task, sample)]
    found.sort(key=lambda each: (each.instance.doc_id, each.repeat))
    repeats = any(each.repeat for each in found)
    rows = [
        {"doc_id": each.instance.doc_id}
        | ({"repeat": each.repeat} if repeats else {})
        | {"id": _text(getattr(each.instance, "id", ""))}
        | each.cells()
        | {"response": each.text}
        for each in found
    ]
    heads = list(dict.fromkeys(head for row in rows for head in row)) or ["doc_id"]
    return heads, [[_clean(row.get(head)) for head in heads] for row in rows]


def _records(task: str, sample: Mapping[str, Any]) -> Iterable[Record]:
    for kind in record_types():
        try:
            return records_of_sample(kind, sample, task)
        except FieldError:
            continue
    return []


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def _clean(cell: Cell) -> Cell:
    """A cell without lone surrogates, which cannot be saved in a file."""
    return storable(cell) if isinstance(cell, str) else cell

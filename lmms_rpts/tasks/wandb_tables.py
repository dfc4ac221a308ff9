"""Tables of scored responses for Weights & Biases (``--wandb_log_samples``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_rpts.escaping import storable
from lmms_rpts.runs.record import Cell, Record
from lmms_rpts.runs.samples import records_of_sample
from lmms_rpts.schema import FieldError
from lmms_rpts.tasks.any_task.names import filters_of
from lmms_rpts.tasks.benchmark import filter_names, record_types

_Table = tuple[list[str], list[list[Cell]]]
_NOT_SHOWN = ("doc", "arguments", "doc_hash", "token_counts", "input_media")


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
    _log_each(wandb_logger, samples, tasks, table_of)
    return tasks


def log_plain_tables(
    wandb_logger: Any, samples: Mapping[str, Sequence[Any]], tasks: Iterable[str]
) -> None:
    """Log one table and one artifact for each of these tasks, as ``log_tables``."""
    _log_each(wandb_logger, samples, tasks, plain_table_of)


def _log_each(
    wandb_logger: Any,
    samples: Mapping[str, Sequence[Any]],
    tasks: Iterable[str],
    make: Callable[[str, Sequence[Any]], _Table],
) -> None:
    import wandb

    for task in tasks:
        try:
            heads, rows = make(task, samples[task])
            # Mixed types: a score is a number or missing, and W&B would refuse a column of both.
            table = wandb.Table(columns=heads, data=rows, allow_mixed_types=True)
            wandb_logger.run.log({f"{task}_eval_results": table})
            wandb_logger._log_samples_as_artifact(samples[task], task)
        except Exception as error:  # W&B failed, or the disk is full: keep the results
            logger.warning("The samples of {} are not logged to W&B: {}", task, error)


def table_of(task: str, samples: Sequence[Mapping[str, Any]]) -> _Table:
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
    return _table(rows)


def plain_table_of(task: str, samples: Sequence[Mapping[str, Any]]) -> _Table:
    """The columns and rows of another package's task: prompt, target, responses and metrics.

    Args:
        task: unused.
        samples: as lmms-eval saves them; saving adds ``input`` and drops ``arguments``.
    """
    heads = ("doc_id", "input", "target", "resps", "filtered_resps")
    rows = [
        {head: sample[head] for head in heads if head in sample}
        | {name: value for name, value in sample.items() if name not in _NOT_SHOWN}
        for sample in samples
    ]
    return _table(rows)


def _table(rows: Sequence[Mapping[str, Any]]) -> _Table:
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


def _clean(cell: object) -> Cell:
    """A number or a text, without lone surrogates, which cannot be saved in a file."""
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    return storable(_text(cell))

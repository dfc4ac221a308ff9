"""Wrappers of lmms-eval's results: standard errors, cached responses, usage.

Each function gets lmms-eval's own first. Nothing is imported for other tasks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def stderr_for_metric(
    original: Callable[..., Any], metric: Any, bootstrap_iters: int
) -> Callable[..., float] | None:
    """The standard error of means that leave documents out."""
    from lmms_rpts.tasks.aggregation import mean_of_scored, stderr_of_scored

    if metric is mean_of_scored:
        return stderr_of_scored if bootstrap_iters > 0 else None
    found: Callable[..., float] | None = original(metric, bootstrap_iters)
    return found


def pooled_sample_stderr(
    original: Callable[..., float], errors: Sequence[Any], sizes: Sequence[int]
) -> float:
    """The standard error of a group's mean over tasks that share documents."""
    # lmms-eval treats the documents of a group's tasks as independent; some are translations.
    aggregation = sys.modules.get("lmms_rpts.tasks.aggregation")
    error = aggregation.stderr_over_tasks(errors) if aggregation else None
    return original(errors, sizes) if error is None else error


def consolidate_group_results(
    original: Callable[..., Any], results: Any, versions: Any, tasks: Any, *more: Any, **named: Any
) -> Any:
    """Group results without metrics that no document has a value of."""
    own_tasks = sys.modules.get("lmms_rpts.tasks.own_tasks")
    if own_tasks is not None:  # it has checked each task with RPTS filters
        own_tasks.drop_unlisted_metrics(results, tasks)
    return original(results, versions, tasks, *more, **named)


def create_response_cache(
    original: Callable[..., Any], cache_root: str, *args: Any, **kwargs: Any
) -> Any:
    """The cache of responses, with those of runs that were killed."""
    # --use_cache stores what a run has written under a separate name, and adds it to what later
    # runs see only when that run ends normally: after a kill the responses would be lost.
    from lmms_rpts.tasks.benchmark import benchmark_of

    ours = any(benchmark_of(name) for name in _task_names(kwargs.get("task_dict") or {}))
    if ours and kwargs.get("world_size", 1) == 1:  # several processes share a name that stays
        try:
            from lmms_rpts.models.killed_runs import add_killed_runs

            add_killed_runs(Path(cache_root).absolute())
        except Exception as error:
            from loguru import logger

            logger.warning("Cannot add the responses of earlier runs to --use_cache: {}", error)
    return original(cache_root, *args, **kwargs)


def _task_names(tasks: Mapping[Any, Any]) -> Iterable[str]:
    for name, task in tasks.items():
        if isinstance(name, str):
            yield name
        if isinstance(task, Mapping):
            yield from _task_names(task)


def reset_usage(original: Callable[[], None]) -> None:
    """Begin another run: nothing was spent."""
    original()
    spending = sys.modules.get("lmms_rpts.filters.budget")
    if spending is not None:
        spending.reset_spending()


def summarize_usage(original: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """lmms-eval's summary with the usage of judges in all processes."""
    spending = sys.modules.get("lmms_rpts.filters.budget")
    # Before: lmms-eval counts the first process's calls only.
    judges = None if spending is None else spending.close_accounts()
    validity = None if spending is None else spending.noted_validity()
    more = {"judges": judges, "validity": validity}
    return {**original(), **{name: found for name, found in more.items() if found}}

"""Checks, before generation, of custom tasks that use the filters of this package."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval.api.registry import AGGREGATION_REGISTRY
from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.filters.base import RptsFilter
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.host.task_index import filters_of, wrapped_name
from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.benchmark import all_filters, filter_names, refuse_unknown_settings
from lmms_rpts.tasks.data import DataError, raise_faults

_REMEDY = (
    "Fix the data, or convert them to this form in the task's process_docs; "
    "docs/your-own-data.md lists the fields."
)
_PACKAGE = "lmms_rpts"


def check_own_tasks(manager: Any, names: Sequence[Any]) -> None:
    """Build the custom tasks and groups that use RPTS filters, only for their checks.

    lmms-eval builds tasks after the model is loaded. Other errors are ignored here, since some
    things work only in lmms-eval's own sequence.
    """
    own = [name for name in names if _uses_filters(manager, name, frozenset())]
    if not own:
        return
    refuse_unknown_settings()
    distributed: Any = sys.modules.get("torch.distributed")
    shared = distributed is not None and distributed.is_initialized()
    first = not shared or distributed.get_rank() == 0
    try:
        if not first:
            distributed.barrier()  # only the first process fills the cache of data sets
        manager.load_task_or_group(copy.deepcopy(own))
    except UserError:
        raise
    except Exception as error:
        logger.debug("Tasks are not checked before the model is loaded: {}", error)
    finally:
        if shared and first:
            distributed.barrier()


def drop_unlisted_metrics(results: Any, tasks: Mapping[Any, Any]) -> None:
    """Drop metrics without a value from the results of tasks with RPTS filters.

    A metric that a task computes and does not list is an empty list there, and a group's mean over
    numbers and lists would fail after everything is judged and paid for. A metric that the settings
    leave out would be a row of NaN.
    """
    for name, task in tasks.items():
        if isinstance(task, Mapping):
            drop_unlisted_metrics(results, task)
        elif name in results and (filters := _own_filters(task)):
            found = results[name]
            unasked = frozenset().union(*(each.unasked for each in filters))
            empty = [each for each, value in found.items() if type(value) is list and not value]
            unasked_rows = [each for each in found if _metric_of(each) in unasked]
            for metric in {*empty, *unasked_rows}:
                del found[metric]


def _metric_of(key: str) -> str:
    """The metric of a key of lmms-eval's results: ``METRIC,FILTER`` or ``METRIC_stderr,FILTER``."""
    return key.partition(",")[0].partition("_stderr")[0]


def check_task(task: Any, documents: Any) -> None:
    """Check a task with RPTS filters; make its means leave out documents without a value."""
    filters = _own_filters(task)
    name = task.config.task
    _check_order(task)
    _settle_aggregations(task)
    faults: dict[str, None] = {}
    for at, doc in enumerate(documents):
        label = f"document {at}" + (f" (id {doc['id']!r})" if "id" in doc else "")
        for each in filters:
            said = list(each.document_faults(doc))
            if isinstance(each, ScoreFilter) and said == [each.blindness()]:
                # Reported once: the judge is the cause, not each document.
                raise DataError(f"The task {name!r} cannot be judged: {label}: {said[0]}.")
            faults |= dict.fromkeys(f"{label}: {fault}" for fault in said)
    raise_faults(f"The task {name!r}", list(faults), _REMEDY)


def _own_filters(task: Any) -> list[RptsFilter]:
    every = [each for ensemble in getattr(task, "_filters", ()) for each in ensemble.filters]
    return [each for each in every if isinstance(each, RptsFilter)]


def _check_order(task: Any) -> None:
    """Raise a DataError if a filter would get input of the wrong type after generation."""
    for ensemble in task._filters:
        given: type | None = str
        for each in ensemble.filters:
            if not isinstance(each, RptsFilter):
                given = None  # its output type is unknown
                continue
            if given is not None and not issubclass(given, each.takes):
                names = ", ".join(_name(other) for other in ensemble.filters)
                raise DataError(
                    f"The task {task.config.task!r} has its filters in an invalid order "
                    f"({names}): {each.ORDER}."
                )
            given = each.gives


def _name(component: object) -> str:
    known = {each: name for name, each in all_filters().items()}
    return known.get(type(component), type(component).__name__)


def _settle_aggregations(task: Any) -> None:
    """Check aggregations: an unjudged document has the value None, which most do not support."""
    process = task.config.process_results
    ours = getattr(process, "__module__", "").split(".")[0] == _PACKAGE
    known: dict[Callable[..., Any], str] = {
        found: name for name, found in AGGREGATION_REGISTRY.items()
    }
    for metric, aggregation in task._aggregation_list.items():
        name = known.get(aggregation)
        if name == "mean":
            task._aggregation_list[metric] = mean_of_scored
        elif name is not None and name != "bypass" and ours:
            raise DataError(
                f"The task {task.config.task!r} aggregates {metric!r} by {name!r}, which cannot "
                "leave out documents that could not be judged. Write aggregation: mean."
            )


def _uses_filters(manager: Any, name: Any, seen: frozenset[str]) -> bool:
    """Whether a task, or a part of a group, is from neither package and uses RPTS filters."""
    if isinstance(name, str):
        if name in seen or name not in manager.task_index:
            return False
        seen |= {name}
        entry = manager.task_index[name]
        path = entry["yaml_path"]
        if wrapped_name(manager, name) is not None:
            return True
        if path == -1:  # a tag, or a group defined by its tasks
            return any(_uses_filters(manager, part, seen) for part in entry["task"])
        if any(Path(path).resolve().is_relative_to(place) for place in _packages()):
            return False
        config = manager._get_config(name)
    else:
        config = name
    return isinstance(config, Mapping) and any(_parts(manager, config, seen))


def _parts(manager: Any, config: Mapping[str, Any], seen: frozenset[str]) -> Iterator[bool]:
    yield bool(filters_of(config) & filter_names())
    listed = config.get("task")
    parts = listed if isinstance(listed, list) else []
    if isinstance(listed, str) and listed not in seen:
        parts = [listed]  # a configuration that changes a named task
    for part in parts:
        yield _uses_filters(manager, part, seen)


def _packages() -> tuple[Path, Path]:
    import lmms_eval

    return Path(__file__).resolve().parents[1], Path(str(lmms_eval.__file__)).resolve().parent

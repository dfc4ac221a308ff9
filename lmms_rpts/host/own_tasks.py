"""Checks, before generation, of custom tasks that use the filters of this package."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lmms_eval.api.registry import AGGREGATION_REGISTRY
from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import load_settings, refuse_unknown
from lmms_rpts.filters.base import RptsFilter, without_media
from lmms_rpts.filters.grading import all_filters
from lmms_rpts.filters.rpts import ScoreFilter
from lmms_rpts.filters.session import reset_session
from lmms_rpts.host.task_files import filters_of
from lmms_rpts.judging.registry import find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError
from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.data import Check, DataError, data_fault, problem, raise_faults
from lmms_rpts.tasks.images import task_images
from lmms_rpts.tasks.own.data import OwnData
from lmms_rpts.tasks.registry import SETTINGS_TABLES, check_tasks, data_of, filter_names

_REMEDY = (
    "Fix the data, or convert them to this form in the task's process_docs; "
    "docs/your-own-data.md lists the fields."
)
_ADVICE = "docs/your-own-data.md shows what a task file looks like"
_PACKAGE = "lmms_rpts"


def check_before(manager: Any, tasks: Any) -> None:
    """Check the requested tasks before the model is loaded, and begin a run without usage.

    lmms-eval builds tasks after the model is loaded, so errors in their data would appear late.
    Own tasks and groups that use RPTS filters are built once for their checks.
    """
    reset_session()
    names: Sequence[Any] = [tasks] if isinstance(tasks, str) else tasks
    check_tasks([name for name in names if isinstance(name, str)])
    check_own_tasks(manager, names)


def check_own_tasks(manager: Any, names: Sequence[Any]) -> None:
    """Build own tasks that use RPTS filters, only for their checks.

    Other errors are ignored, since some things work only in lmms-eval's own sequence.
    """
    own = [name for name in names if _uses_filters(manager, name, frozenset())]
    if not own:
        return
    refuse_unknown(SETTINGS_TABLES)
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


def load_data(task: Any, dataset_kwargs: Any = None) -> None:
    """``download`` of a task whose ``dataset_path`` is that of a benchmark, or of own data.

    The documents are made in memory of the questions of the part that ``dataset_name`` names, or of
    those of the `OwnData` in ``dataset_kwargs``. Their digest is added to the task's metadata.
    """
    from datasets import DatasetDict

    config = task.config
    benchmark, part = data_of(config.dataset_path), config.dataset_name
    if isinstance(dataset_kwargs, OwnData):
        found: Any = dataset_kwargs.load()
    elif benchmark is None:
        raise DataError(
            f"The task {config.task!r} has no data: write dataset_kwargs: !function utils.DATA. "
            f"{_ADVICE}."
        )
    elif part in benchmark.tasks.values():
        found = benchmark.load(part)
        if tokens := benchmark.tokens(part):
            config.generation_kwargs["max_new_tokens"] = tokens
    else:
        parts = ", ".join(dict.fromkeys(benchmark.tasks.values()))
        raise DataError(
            f"The task {config.task!r}: {config.dataset_path} has no part {part!r}. Set "
            f"dataset_name to one of: {parts}"
        )
    split = config.test_split or "test"
    documents = config.process_docs(found.dataset) if config.process_docs else found.dataset
    task.dataset = DatasetDict({split: documents})
    task.dataset_no_image = DatasetDict({split: without_media(documents)})
    config.metadata = {**(config.metadata or {}), "data_sha256": found.digest}


def check_task(task: Any, filters: Sequence[RptsFilter]) -> None:
    """Check a task with RPTS filters; make its means leave out documents without a value."""
    name = task.config.task
    for each in filters:
        each.visuals = partial(task_images, task)
    _check_order(task)
    _settle_aggregations(task)
    # Questions of benchmarks were checked when they were read.
    ours = data_of(task.config.dataset_path) is not None and not task.config.process_docs
    documents = [] if ours else without_media(task.task_docs)
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


def _check_order(task: Any) -> None:
    """Raise a DataError if a filter would get input of the wrong type after generation."""
    for ensemble in task._filters:
        given: type | None = str
        for each in (*ensemble.filters, RptsFilter()):  # the last one must give texts
            if not isinstance(each, RptsFilter):
                given = None  # its output type is unknown
                continue
            if given is not None and not issubclass(given, each.takes):
                known = {kind: name for name, kind in all_filters().items()}
                kinds = [type(other) for other in ensemble.filters]
                names = ", ".join(known.get(kind, kind.__name__) for kind in kinds)
                raise DataError(
                    f"The task {task.config.task!r} has its filters in an invalid order "
                    f"({names}): {each.ORDER}."
                )
            given = each.gives


def _settle_aggregations(task: Any) -> None:
    """Check aggregations: an unjudged document has the value None, which most do not support."""
    process = task.config.process_results  # ours are partial functions
    ours = getattr(getattr(process, "func", process), "__module__", "").split(".")[0] == _PACKAGE
    known: dict[Any, str] = {found: name for name, found in AGGREGATION_REGISTRY.items()}
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


# --- lmms-rpts doctor --include_path -------------------------------------------------------------


def examine_folder(folder: Path) -> Sequence[Check]:
    """Check the tasks that ``--include_path FOLDER`` would add; loads no model.

    The data and images of each task are checked as before a run.
    """
    from lmms_eval.tasks import TaskManager

    if not folder.is_dir():
        return [problem("own tasks", f"{folder} is not a folder", "pass a folder with task files")]
    try:
        # Skips lmms-eval's own index of thousands of files.
        manager = TaskManager("ERROR", include_path=str(folder), include_defaults=False)
    except Exception as error:  # the reader may raise any error for a broken file
        return [problem("own tasks", f"{folder} has an unreadable YAML file: {error}", _ADVICE)]
    names = [*manager.all_subtasks, *manager.all_groups]
    if not names:
        return [problem("own tasks", f"{folder} contains no .yaml file with a task", _ADVICE)]
    checks: list[Check] = []
    judge: dict[str, Check] = {}
    for name in names:
        try:
            checks.append(_examined(manager, name))
        except JudgeConfigurationError as error:
            judge[str(error)] = problem("judge", error)
            # The data are checked without a judge, too.
            reset_session(load_settings(judge=NO_JUDGE))
            checks.append(_examined(manager, name))
            reset_session()
    settings = load_settings()
    try:
        if judge and settings.judge:
            find_judge(settings.judge, settings)
    except JudgeConfigurationError:
        return checks  # a judge that cannot be used has its own check
    return [*checks, *judge.values()]


def _examined(manager: Any, name: str) -> Check:
    """The result for one task; a JudgeConfigurationError if it needs a judge, or a better one."""
    from lmms_rpts.tasks.own.starting import check_name

    try:
        config = manager._get_config(name)
        check_own_tasks(manager, [name])
        data = config.get("dataset_kwargs") if isinstance(config, Mapping) else None
        if not isinstance(data, OwnData):
            return Check(name, "ok", "its file is readable")
        check_name(name)
        instances = len(data.load().questions)
    except JudgeConfigurationError:
        raise
    except UserError as error:
        return data_fault(name, error)
    except Exception as error:  # a function that the YAML names may be missing or fail
        return problem(name, f"cannot be read: {error}", _ADVICE)
    return Check(name, "ok", f"{instances:,} instances, answers: {data.answer}")

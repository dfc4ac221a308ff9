"""Integration with lmms-eval: the only module that changes it, in three places.

lmms-eval has an entry point for models (``lmms_eval.models``) and a public dictionary of filters,
but none for tasks, and it hands a filter all documents of a task instead of those of its responses.
So this module, when lmms-eval is imported,

1. adds the folders of our tasks to its index of tasks (``TaskManager.initialize_tasks``);
2. gives each *instance* of a task with our data its own ``download``, and each with our filters its
   own ``apply_filters``, ``process_results`` and ``override_metric``
   (``ConfigurableTask.__init__``);
3. checks the requested tasks before the model is loaded, and adds the usage of judges and the
   settings to the results (``evaluator.simple_evaluate``).

No method of another task changes. A failed wrap is logged instead of breaking lmms-eval.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import wrapt

# Of our functions. Not ``__wrapped__``: simple_evaluate is decorated by lmms-eval itself.
MARK = "_lmms_rpts_wrapped"
_registered = False


def manifests() -> list[Any]:
    """Entry point of the group ``lmms_eval.models``: register everything, return the models."""
    from lmms_eval.models.registry_v2 import ModelManifest

    register()
    return [
        ModelManifest("replay", simple_class_path="lmms_rpts.host.replay.Replay"),
        ModelManifest(
            "hf_multimodal",
            simple_class_path="lmms_rpts.host.hf_multimodal.HfMultimodal",
            aliases=("hf-multimodal",),  # the name in lm-evaluation-harness
        ),
    ]


def register() -> None:
    """Add the tasks and filters to lmms-eval, now or once it is imported; idempotent."""
    global _registered
    if _registered:
        return
    _registered = True
    _when_imported("lmms_eval.filters", _add_filters)
    for module, owner, name, wrapper in _WRAPS:
        _when_imported(module, functools.partial(_wrap, owner, name, wrapper))


def _when_imported(name: str, hook: Callable[[ModuleType], None]) -> None:
    def run(module: ModuleType) -> None:
        try:
            hook(module)
        except Exception as error:  # an error of the plugin must not break lmms-eval
            from loguru import logger

            logger.error(
                "lmms_rpts cannot extend {} ({}: {}); its tasks will not work with this version",
                module.__name__,
                type(error).__name__,
                error,
            )

    wrapt.register_post_import_hook(run, name)


def _wrap(owner: str, name: str, wrapper: Callable[..., Any], module: ModuleType) -> None:
    place: Any = getattr(module, owner) if owner else module
    # The evaluator imports models, which import the plugin: it may be half loaded here.
    original = getattr(place, name, None)
    if original is None or hasattr(original, MARK):
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(wrapped, MARK, True)
    setattr(place, name, wrapped)


def _add_filters(filters: ModuleType) -> None:
    from lmms_rpts.filters.grading import all_filters

    filters.FILTER_REGISTRY.update(all_filters())


# --- 1. the index of tasks -----------------------------------------------------------------------


def _initialize_tasks(
    original: Callable[..., dict[str, Any]],
    manager: Any,
    include_path: str | list[str] | None = None,
    include_defaults: bool = True,
) -> dict[str, Any]:
    # A TaskManager is made before the evaluator is called, which may have been half loaded.
    if evaluator := sys.modules.get("lmms_eval.evaluator"):
        _wrap("", "simple_evaluate", _simple_evaluate, evaluator)
    index = original(manager, include_path=include_path, include_defaults=include_defaults)
    if not include_defaults:
        return index
    from lmms_rpts.tasks.registry import BENCHMARKS

    for benchmark in BENCHMARKS.values():
        index = {**manager._get_task_and_group(str(benchmark.folder)), **index}
    return index


# --- 2. the tasks with our filters ---------------------------------------------------------------


def _init_task(original: Callable[..., None], task: Any, *args: Any, **kwargs: Any) -> None:
    # Tasks for chat models hand on their arguments by position.
    call = inspect.signature(original).bind(task, *args, **kwargs)
    config = call.arguments.get("config") or {}
    if str(config.get("dataset_path")) in _data_sets():
        from lmms_rpts.host.own_tasks import load_data

        task.download = functools.partial(load_data, task)
    try:
        original(task, *args, **kwargs)
    except Exception:
        # If a field made the prompt fail, the check raises a better message.
        if hasattr(task, "task_docs"):
            _check(task, _our_filters(task))
        raise
    if ours := _our_filters(task):
        _check(task, ours)
        for name in frozenset[str]().union(*(each.unasked for each in ours)):
            task._aggregation_list.pop(name, None)
        task.apply_filters = functools.partial(_apply_filters, task, ours)
        task.process_results = functools.partial(_process_results, task, task.process_results)
        task.override_metric = functools.partial(_override_metric, ours, task.override_metric)


def _data_sets() -> set[str]:
    try:
        from lmms_rpts.tasks.registry import data_sets
    except ImportError:  # an error of the plugin must not break other tasks
        return set()
    return data_sets()


def _our_filters(task: Any) -> list[Any]:
    # No import here: if our filters failed to load, other tasks must still work.
    base = sys.modules.get("lmms_rpts.filters.base")
    every = [each for ensemble in getattr(task, "_filters", ()) for each in ensemble.filters]
    return [each for each in every if base is not None and isinstance(each, base.RptsFilter)]


def _check(task: Any, ours: Sequence[Any]) -> None:
    if ours:
        from lmms_rpts.host.own_tasks import check_task

        check_task(task, ours)


def _apply_filters(task: Any, ours: Sequence[Any]) -> None:
    """Filter the responses with *their* documents.

    An idle process of a distributed run holds a copy of document 0 as padding, which lmms-eval does
    not report: judging it would waste money.
    """
    padding = [each for each in task.instances if each.metadata.get("__padding_only__")]
    real = [each for each in task.instances if not each.metadata.get("__padding_only__")]
    docs = ours[0].documents(task, real)
    for ensemble in task._filters:
        if not any(each in ours for each in ensemble.filters):
            ensemble.apply(task.instances, task.task_docs)
            continue
        ensemble.apply(real, docs)
        for each in padding:
            each.filtered_resps[ensemble.name] = ""


def _process_results(task: Any, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Only the metrics that the task lists: others would be empty lists in a group's mean."""
    found = original(*args, **kwargs)
    return {name: value for name, value in found.items() if name in task._aggregation_list}


def _override_metric(ours: Sequence[Any], original: Callable[..., Any], metric_name: str) -> None:
    original(metric_name=metric_name)
    if metric_name == "bypass":  # --predict_only asks for responses only
        for each in ours:
            if hasattr(each, "stop_judging"):
                each.stop_judging()


# --- 3. before the model is loaded, and after the run --------------------------------------------


def _simple_evaluate(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    from lmms_eval.tasks import TaskManager

    call = inspect.signature(original).bind(*args, **kwargs)
    given = call.arguments
    if given.get("task_manager") is None:  # as lmms-eval makes it, which then indexes nothing again
        given["task_manager"] = TaskManager(
            given.get("verbosity") or "INFO", model_name=given.get("model")
        )
    try:
        from lmms_rpts.host.own_tasks import check_before
        from lmms_rpts.host.results import complete
    except ImportError:  # an error of the plugin must not break lmms-eval
        return original(*call.args, **call.kwargs)
    check_before(given["task_manager"], given.get("tasks") or [])
    return complete(original(*call.args, **call.kwargs))


_WRAPS: tuple[tuple[str, str, str, Callable[..., Any]], ...] = (
    ("lmms_eval.tasks", "TaskManager", "initialize_tasks", _initialize_tasks),
    ("lmms_eval.api.task", "ConfigurableTask", "__init__", _init_task),
    ("lmms_eval.evaluator", "", "simple_evaluate", _simple_evaluate),
)

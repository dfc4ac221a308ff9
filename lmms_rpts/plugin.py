"""Integration with lmms-eval: the only module that modifies its internals.

lmms-eval 0.7 has no hook for a plugin's tasks, passes the wrong documents to filters, has no
standard error for means that leave out documents, counts the tokens of one process only, turns a
likelihood into text, leaves truncated files on a full disk, and loses the responses of a run that
was killed. This module fixes each of these by wrapping a function when the module that defines it
is imported. It does not import these modules itself, leaves other tasks unchanged, and logs a
failed wrap instead of breaking lmms-eval.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import wrapt

from lmms_rpts.host.result_hooks import (
    consolidate_group_results,
    create_response_cache,
    execute_cached,
    log_wandb_samples,
    pooled_sample_stderr,
    read_response,
    reset_usage,
    save_results,
    save_samples,
    start_wandb,
    stderr_for_metric,
    summarize_usage,
    unwrap_output,
    with_messages,
    with_places,
    write_response,
)

_MARK = "_lmms_rpts_wrapped"
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
    from lmms_rpts.tasks.benchmark import verifier_modules

    hooks: dict[str, Callable[[ModuleType], None]] = {
        "lmms_eval.filters": _add_filters,
        "lmms_eval.verifiers": _add_verifiers,
        "lmms_eval.evaluator": _check_early,
        **dict.fromkeys(_WRAPPERS, _wrap_all),
    }
    hooks |= dict.fromkeys(verifier_modules(), _add_late_verifier)
    for module, hook in hooks.items():
        wrapt.register_post_import_hook(_guarded(hook), module)


def _guarded(hook: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    @functools.wraps(hook)
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

    return run


def _wrap(owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    if getattr(original, _MARK, False):
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(wrapped, _MARK, True)
    setattr(owner, name, wrapped)


def _wrap_all(module: ModuleType) -> None:
    for place, wrapper in _WRAPPERS[module.__name__].items():
        owner, _, name = place.rpartition(".")
        _wrap(getattr(module, owner) if owner else module, name, wrapper)


# --- tasks ---------------------------------------------------------------------------------------


def _check_early(module: ModuleType) -> None:
    # The evaluator imports models, which import the plugin: it may be half loaded here.
    if hasattr(module, "simple_evaluate"):
        _wrap(module, "simple_evaluate", _simple_evaluate)
        _wrap(module, "evaluate", _evaluate)
        _wrap(module, "_process_document_results", _process_document)


def _simple_evaluate(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Build third-party tasks that use RPTS filters once before the model is loaded.

    lmms-eval builds tasks after the model, so errors in their documents would appear late.
    """
    call = inspect.signature(original).bind(*args, **kwargs)
    manager, model = (call.arguments.get(each) for each in ("task_manager", "model"))
    if manager is None:
        from lmms_eval.tasks import TaskManager

        # As in simple_evaluate, which then does not index all tasks again.
        manager = TaskManager(call.arguments.get("verbosity") or "INFO", model_name=model)
        call.arguments["task_manager"] = manager
    try:
        from lmms_rpts.host.own_files import requested_tasks
        from lmms_rpts.host.own_tasks import check_own_tasks
    except ImportError:  # an error of the plugin must not break lmms-eval
        return original(**call.arguments)
    names = requested_tasks(manager, call.arguments)
    check_own_tasks(manager, names)
    return with_places(original(**call.arguments))


def _evaluate(original: Callable[..., Any], lm: Any, task_dict: Any, *args: Any, **kw: Any) -> Any:
    from lmms_rpts.host.result_hooks import careful_calls, follow

    with follow(task_dict, kw.get("cli_args")), careful_calls(lm, task_dict):
        return original(lm, task_dict, *args, **kw)


def _initialize_tasks(
    original: Callable[..., dict[str, Any]],
    manager: Any,
    include_path: str | list[str] | None = None,
    include_defaults: bool = True,
) -> dict[str, Any]:
    # The command line creates its TaskManager before it calls the evaluator.
    evaluator = sys.modules.get("lmms_eval.evaluator")
    if evaluator is not None:
        _guarded(_check_early)(evaluator)
    if not include_defaults:
        return original(manager, include_path=include_path, include_defaults=False)
    from lmms_rpts.host.task_index import built_entries, few_tasks
    from lmms_rpts.tasks.benchmark import benchmarks

    ours: dict[str, Any] = {}
    for benchmark in benchmarks().values():
        ours |= manager._get_task_and_group(str(benchmark.folder)) | built_entries(benchmark)
    index = few_tasks(original, manager, include_path, ours)
    if index is None:
        index = original(manager, include_path=include_path, include_defaults=True)
    return ours | index


def _match_tasks(original: Callable[..., list[str]], manager: Any, task_list: Any) -> list[str]:
    from lmms_rpts.host.own_files import refuse_shadowed

    _add_wrapped(manager, task_list)
    matched = original(manager, task_list)
    refuse_shadowed(manager, matched)
    _check(matched)
    return matched


def _load_task_or_group(
    original: Callable[..., Any], manager: Any, task_list: Any = None, *args: Any, **kwargs: Any
) -> Any:
    _add_wrapped(manager, task_list)
    _check([task_list] if isinstance(task_list, str) else task_list or [])
    return original(manager, task_list, *args, **kwargs)


def _load_yaml_config(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    from lmms_rpts.host.own_files import load_whole
    from lmms_rpts.host.task_index import built_config

    built = built_config(*args, **kwargs)
    if built is not None:
        return built
    return load_whole(original, *args, **kwargs)


def _add_wrapped(manager: Any, task_list: Any) -> None:
    """Register requested names such as ``mmmu_val_rpts``."""
    from lmms_rpts.host.task_index import add_wrapped

    add_wrapped(manager, [task_list] if isinstance(task_list, str) else task_list or [])


def _get_config(original: Callable[..., Any], manager: Any, name: str) -> Any:
    from lmms_rpts.host.task_index import wrapped_name

    config, asked = original(manager, name), wrapped_name(manager, name)
    if asked is None:
        return config
    from lmms_rpts.base.settings import load_settings
    from lmms_rpts.host.wrapped_task import wrapped_config

    return wrapped_config(config, name, asked, graded=load_settings().grades is not None)


def _check(names: Iterable[Any]) -> None:
    from lmms_rpts.tasks import check_tasks

    check_tasks([name for name in names if isinstance(name, str)])


# --- filters -------------------------------------------------------------------------------------


def _add_filters(filters: ModuleType) -> None:
    from lmms_rpts.host.any_task import AnyTransformFilter
    from lmms_rpts.tasks.benchmark import all_filters

    filters.FILTER_REGISTRY.update(all_filters(), rpts_any_transform=AnyTransformFilter)


def _add_verifiers(verifiers: Any) -> None:
    from lmms_rpts.tasks.benchmark import all_verifiers

    verifiers.VERIFIER_REGISTRY.update(all_verifiers())


def _add_late_verifier(module: ModuleType) -> None:
    """Add a verifier whose own import triggered the import of lmms-eval's verifiers."""
    verifiers = sys.modules.get("lmms_eval.verifiers")
    if hasattr(verifiers, "VERIFIER_REGISTRY"):
        _add_verifiers(verifiers)


def _apply_ensemble(
    original: Callable[..., None], ensemble: Any, instances: Sequence[Any], docs: Any
) -> None:
    if docs is None or not any(_is_ours(each, "RptsFilter") for each in ensemble.filters):
        original(ensemble, instances, docs)
        return
    from lmms_rpts.base.settings import load_settings
    from lmms_rpts.filters.documents import AlignedDocuments

    # An idle process of a distributed run holds a copy of document 0 as padding, which lmms-eval
    # does not report: judging it would waste money.
    padding = [each for each in instances if each.metadata.get("__padding_only__")]
    real = [each for each in instances if not each.metadata.get("__padding_only__")]
    task = instances[0].task_name if instances else None
    host = _host_of(ensemble.filters)
    if host is None:
        visuals = next(each.visuals for each in ensemble.filters if _is_ours(each, "RptsFilter"))
        ids = [each.doc_id for each in real]
        docs = AlignedDocuments(docs, ids, task, visuals, load_settings().image_size)
    else:
        docs = host.documents(real)
    original(ensemble, real, docs)
    for each in padding:
        each.filtered_resps[ensemble.name] = ""


def _override_metric(original: Callable[..., None], task: Any, metric_name: str) -> None:
    original(task, metric_name=metric_name)
    # --predict_only asks for responses only, but lmms-eval runs the filters.
    if metric_name == "bypass":
        for ensemble in task._filters:
            for each in ensemble.filters:
                if _is_ours(each, "JudgingFilter"):
                    each.stop_judging()


def _init_task(original: Callable[..., None], task: Any, *args: Any, **kwargs: Any) -> None:
    try:
        original(task, *args, **kwargs)
    except Exception:
        # If a field made the prompt fail, the check below raises a better message.
        _check_filters_documents(task)
        raise
    _check_filters_documents(task)


def _check_filters_documents(task: Any) -> None:
    filters = [each for ensemble in getattr(task, "_filters", ()) for each in ensemble.filters]
    if any(hasattr(each, "host") for each in filters):
        from lmms_rpts.host.any_task import join_task

        join_task(task, filters)
        return
    if any(_is_ours(each, "RptsFilter") for each in filters) and hasattr(task, "task_docs"):
        from lmms_rpts.filters.documents import without_media
        from lmms_rpts.host.own_tasks import check_task
        from lmms_rpts.tasks.images import task_images

        for each in filters:
            if _is_ours(each, "RptsFilter"):
                each.visuals = functools.partial(task_images, task)
        check_task(task, without_media(task.task_docs))


def _host_of(filters: Iterable[Any]) -> Any:
    """The wrapped task, from the filters of an ``_rpts`` pipeline; None for any other pipeline."""
    return next((each.host for each in filters if getattr(each, "host", None)), None)


def _is_ours(candidate: Any, kind: str) -> bool:
    # No import here: if the plugin's filters failed to load, other pipelines must still work.
    filters = sys.modules.get("lmms_rpts.filters.base")
    return filters is not None and isinstance(candidate, getattr(filters, kind))


def _process_document(original: Callable[..., Any], item: Any, *args: Any, **kwargs: Any) -> Any:
    host = _host_of_task(kwargs.get("task"))
    if host is None or host.graded:
        return with_messages(original(item, *args, **kwargs), item[2])
    from lmms_rpts.host.any_task import process_document

    return with_messages(process_document(host, original, item, *args, **kwargs), item[2])


def _process_results(
    original: Callable[..., Any], task: Any, doc: Any, *args: Any, **kw: Any
) -> Any:
    hooks = sys.modules.get("lmms_rpts.host.any_task")
    if hooks is None or not hooks.in_our_pipeline():
        return original(task, doc, *args, **kw)
    return _host_of_task(task).process_results(doc, *args)


def _host_of_task(task: Any) -> Any:
    ensembles = getattr(task, "_filters", ())
    return _host_of(each for ensemble in ensembles for each in ensemble.filters)


_WRAPPERS: dict[str, dict[str, Callable[..., Any]]] = {
    "lmms_eval.api.filter": {"FilterEnsemble.apply": _apply_ensemble},
    "lmms_eval.api.task": {
        "Task.override_metric": _override_metric,
        "ConfigurableTask.__init__": _init_task,
        "ConfigurableTask.process_results": _process_results,
    },
    "lmms_eval.utils": {"load_yaml_config": _load_yaml_config},
    "lmms_eval.tasks": {
        "TaskManager.initialize_tasks": _initialize_tasks,
        # The command line matches names before it loads the model: the earliest place to report
        # missing data. The Python API calls load_task_or_group.
        "TaskManager.match_tasks": _match_tasks,
        "TaskManager._get_config": _get_config,
        "TaskManager.load_task_or_group": _load_task_or_group,
    },
    "lmms_eval.evaluator_utils": {
        "stderr_for_metric": stderr_for_metric,
        "pooled_sample_stderr": pooled_sample_stderr,
        "consolidate_group_results": consolidate_group_results,
    },
    "lmms_eval.models.model_utils.usage_metrics": {
        "reset_usage_metrics": reset_usage,
        "summarize_usage_metrics": summarize_usage,
    },
    "lmms_eval.loggers.evaluation_tracker": {
        "EvaluationTracker.save_results_aggregated": save_results,
        "EvaluationTracker.save_results_samples": save_samples,
    },
    "lmms_eval.loggers.wandb_logger": {
        "WandbLogger.post_init": start_wandb,
        "WandbLogger.log_eval_samples": log_wandb_samples,
    },
    "lmms_eval.api.instance": {"unwrap_generation_output": unwrap_output},
    "lmms_eval.caching.response_cache": {
        "_serialize_response": write_response,
        "_deserialize_response": read_response,
        "ResponseCache.create": create_response_cache,
        "ResponseCache.execute": execute_cached,
    },
}
"""Wrappers of functions of lmms-eval, by module."""

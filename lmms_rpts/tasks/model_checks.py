"""Checks that the model supports likelihood tasks and multi-round tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_rpts.models.likelihood_support import check_likelihood
from lmms_rpts.models.multi_round_support import check_multi_round
from lmms_rpts.tasks.benchmark import benchmark_of

_CHECKS: Mapping[Callable[[Any, str, bool, Any], None], tuple[str, ...]] = {
    check_likelihood: ("multiple_choice", "loglikelihood"),
    check_multi_round: ("generate_until_multi_round",),
}
"""The output types of the tasks that each check is for."""
_SHOWN = 3


def check_model(
    manager: Any,
    names: Sequence[Any],
    model: Any,
    *,
    force_simple: bool = False,
    model_args: Any = None,
) -> None:
    """Check that a model supports these tasks before it is loaded: not every model does.

    Third-party tasks are ignored.

    Args:
        manager: lmms-eval's TaskManager.
        names: names of tasks, groups and tags, or configurations.
        model: name of the model, or the model.
        force_simple: lmms-eval's flag of this name; ``model_args``: likewise.

    Raises:
        LikelihoodError, MultiRoundError: if the model does not support them; the message says what
            to use.
    """
    kinds = dict(_output_types(manager, names, set()))
    for check, wanted in _CHECKS.items():
        found = [task for task, kind in kinds.items() if kind in wanted]
        if found:
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            check(model, ", ".join(found[:_SHOWN]) + more, force_simple, model_args)


def _output_types(
    manager: Any, names: Sequence[Any], seen: set[str]
) -> Iterator[tuple[str, object]]:
    """The built-in tasks among these, each with its output type."""
    for name in names:
        if isinstance(name, Mapping):  # a configuration: of a group, or one that changes a task
            parts = name.get("task")
            yield from _output_types(manager, parts if isinstance(parts, list) else [parts], seen)
        if not isinstance(name, str) or name in seen or name not in manager.task_index:
            continue
        seen.add(name)
        entry = manager.task_index[name]
        if entry["yaml_path"] == -1:  # a tag, or a group defined by its tasks
            yield from _output_types(manager, entry["task"], seen)
        elif entry["type"] == "group":
            yield from _output_types(manager, [_config(entry["yaml_path"])], seen)
        elif benchmark_of(name):
            yield name, _config(entry["yaml_path"]).get("output_type")


def _config(path: str) -> Mapping[str, Any]:
    from lmms_eval.utils import load_yaml_config

    try:
        found: Mapping[str, Any] = load_yaml_config(path, mode="simple")  # runs no !function
    except Exception as error:  # lmms-eval will read it again and report the error
        logger.debug("{} is not checked before the model is loaded: {}", path, error)
        return {}
    return found

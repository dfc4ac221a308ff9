"""Whether the chosen model can do what tasks that score answer options by likelihood need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loguru import logger

from lmms_rpts.models.likelihood_support import check_likelihood
from lmms_rpts.tasks.benchmark import benchmark_of

OUTPUT_TYPES = ("multiple_choice", "loglikelihood")
_SHOWN = 3


def check_model(
    manager: Any, names: Sequence[Any], model: Any, *, force_simple: bool = False
) -> None:
    """Check a model for those of our tasks that score by likelihood, before it is loaded.

    Tasks of others are passed over.

    Args:
        manager: lmms-eval's TaskManager.
        names: names of tasks, groups and tags, or configurations.
        model: name of the model, or the model.
        force_simple: as lmms-eval's flag.

    Raises:
        LikelihoodError: if the model has no likelihoods; it says what to use.
    """
    found = list(dict.fromkeys(_likelihood_tasks(manager, names, set())))
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        check_likelihood(model, ", ".join(found[:_SHOWN]) + more, force_simple)


def _likelihood_tasks(manager: Any, names: Sequence[Any], seen: set[str]) -> Iterator[str]:
    for name in names:
        if isinstance(name, Mapping):  # a configuration: of a group, or one that changes a task
            parts = name.get("task")
            yield from _likelihood_tasks(
                manager, parts if isinstance(parts, list) else [parts], seen
            )
        if not isinstance(name, str) or name in seen or name not in manager.task_index:
            continue
        seen.add(name)
        entry = manager.task_index[name]
        if entry["yaml_path"] == -1:  # a tag, or a group that its tasks name
            yield from _likelihood_tasks(manager, entry["task"], seen)
        elif entry["type"] == "group":
            yield from _likelihood_tasks(manager, [_config(entry["yaml_path"])], seen)
        elif benchmark_of(name) and _config(entry["yaml_path"]).get("output_type") in OUTPUT_TYPES:
            yield name


def _config(path: str) -> Mapping[str, Any]:
    from lmms_eval.utils import load_yaml_config

    try:
        found: Mapping[str, Any] = load_yaml_config(path, mode="simple")  # runs no !function
    except Exception as error:  # lmms-eval will read it again, and say what is wrong
        logger.debug("{} is not checked before the model is loaded: {}", path, error)
        return {}
    return found

"""Configuration of a task of lmms-eval with RPTS next to its own filters and metrics."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.any_task.names import WrappedName
from lmms_rpts.tasks.rpts_eval.results import LOWER_IS_BETTER, METRICS, process_results

FILTER = "rpts"
"""Name of the pipeline, shown in the column ``Filter`` of lmms-eval's table."""

_OWN_PIPELINE = {"name": "none", "filter": [{"function": "take_first"}]}
"""The default filters of lmms-eval."""

_STEPS_TOKENS = 2048


def wrapped_config(
    base: Mapping[str, Any], name: str, asked: WrappedName, *, graded: bool
) -> dict[str, Any]:
    """The configuration of ``NAME_rpts``.

    Args:
        base: configuration of the task, complete and unchanged.
        name: name of the wrapped task.
        asked: the parts of the requested name.
        graded: whether the grades of the responses are known already: then the task's own filters
            and metrics are left out, since they may use a grader that costs money.
    """
    config = copy.copy(dict(base))
    config["task"] = name
    ours = {
        "name": FILTER,
        "filter": [
            {"function": "rpts_any_transform", "mode": "auto", "variant": asked.variant},
            {"function": "rpts_score"},
            {"function": "rpts_aggregate"},
        ],
    }
    config["filter_list"] = [*(base.get("filter_list") or [_OWN_PIPELINE]), ours]
    if graded:
        config |= {
            "filter_list": [ours],
            "process_results": partial(results_beside, taken=_own_metrics(base)),
            # The first filter handles thinking.
            "reasoning_tags": "none",
        }
    if asked.variant == "steps":
        config["generation_kwargs"] = _room_for_steps(base.get("generation_kwargs"))
    for listing in ("tag", "group"):  # the new task is in none of the groups
        config.pop(listing, None)
    return config


def results_beside(doc: Any, results: Any, taken: Sequence[str]) -> dict[str, Any]:
    """The RPTS metrics of one document, under names that the task's own metrics don't use.

    Args:
        doc: document of the task; unused.
        results: records of ``rpts_aggregate``.
        taken: names of the task's own metrics.
    """
    found = process_results({}, results)
    return {metric_name(name, taken): value for name, value in found.items()}


def metric_name(metric: str, taken: Any) -> str:
    """The name of an RPTS metric in a task: prefixed with ``rpts_`` if the task uses the name."""
    return f"rpts_{metric}" if metric in taken else metric


def add_metrics(task: Any) -> list[str]:
    """Make a task aggregate the metrics of RPTS next to its own.

    They cannot be in its ``metric_list``: if a task has no ``process_results``, lmms-eval computes
    each metric listed there from the response and the gold answer.

    Args:
        task: lmms-eval's ConfigurableTask; changed in place.

    Returns:
        The names of the task's own metrics.
    """
    own = list(task._aggregation_list)
    for metric in METRICS:
        name = metric_name(metric, own)
        task._aggregation_list[name] = mean_of_scored
        task._higher_is_better[name] = metric not in LOWER_IS_BETTER
    return own


def _own_metrics(base: Mapping[str, Any]) -> list[str]:
    """The names of the task's metrics; those of lmms-eval for a task that lists none."""
    if base.get("metric_list") is not None:
        named = [each["metric"] for each in base["metric_list"]]
        return [each if isinstance(each, str) else str(each.__name__) for each in named]
    from lmms_eval.api.registry import DEFAULT_METRIC_REGISTRY

    return list(DEFAULT_METRIC_REGISTRY["generate_until"])


def _room_for_steps(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments with enough tokens for steps, and without a stop at the first blank line."""
    given = dict(kwargs or {})
    most = given.get("max_new_tokens")
    enough = isinstance(most, int) and most >= _STEPS_TOKENS
    return {**given, "max_new_tokens": most if enough else _STEPS_TOKENS, "until": []}

"""The tasks and groups of ReForm-Eval, built for lmms-eval from the table of sets.

The values of a full configuration that depend on settings are computed each time a task is built,
not at import, so that changed settings take effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any

from lmms_rpts.tasks.reform_eval.sets import TASKS, groups

_HERE = "lmms_rpts.tasks.reform_eval"
OF_SET = ("cider", "bleu_4", "cider_ptb", "rouge_l_ptb", "bleu_4_ptb", "meteor")
"""Caption metrics that are defined only for a whole set."""

_MEAN = "lmms_rpts.tasks.aggregation:mean_of_scored"
_GRADES = dict.fromkeys(("accuracy", "accuracy_strict", "format_hit_rate"), _MEAN)
_OPEN = {**dict.fromkeys(("accuracy", "accuracy_strict"), _MEAN)}
_INSTABILITY = {"instability": f"{_HERE}.results:instability_over"}
_METRICS: Mapping[str, Mapping[str, str]] = {
    "choice": {**_GRADES, **_INSTABILITY},
    "online": {**_GRADES, "instability": f"{_HERE}.results:instability_of_rounds"},
    "open": {**_OPEN, **_INSTABILITY},
    "caption": {"rouge_l": _MEAN, **dict.fromkeys(OF_SET, f"{_HERE}.results:of_set")},
}
"""The function that aggregates each metric, by the form of the answers."""


def _task(name: str, *, full: bool) -> dict[str, Any]:
    """The configuration of a task; without ``full`` only its type and filters, fast to compute."""
    chosen, method, history = TASKS[name]
    online, likelihood = history == "online", method == "likelihood"
    output_type = {"gold": "generate_until", "online": "generate_until_multi_round"}[history]
    reads = "reform_online" if online else "reform_answer"
    config: dict[str, Any] = {
        "task": name,
        "dataset_path": "json",
        "test_split": "test",
        "output_type": "multiple_choice" if likelihood else output_type,
        # Our filters handle thinking; lmms-eval's own stripping would lose it.
        "reasoning_tags": "none",
        "filter_list": [
            {
                "name": "none",
                "filter": [{"function": "reform_likelihood" if likelihood else reads}],
            }
        ],
    }
    if not full:
        return config
    from lmms_rpts.tasks.reform_eval import dataset

    form = "online" if online else chosen.form
    functions = ["doc_to_visual", "doc_to_text", "doc_to_messages", "doc_to_target"]
    for function in [*functions, *(["doc_to_choice"] if likelihood else [])]:
        config[function] = resolve_name(f"{_HERE}.prompts:{function}")
    config["process_results"] = resolve_name(f"{_HERE}.results:process_{form}")
    config["metric_list"] = [
        {
            "metric": metric,
            "aggregation": _aggregation(metric, place),
            "higher_is_better": metric != "instability",
        }
        for metric, place in _METRICS[form].items()
    ]
    if likelihood:
        config["target_delimiter"] = " "
    else:
        config["generation_kwargs"] = dataset.generation_kwargs(chosen)
    config["dataset_kwargs"] = dataset.dataset_kwargs(name)
    config["metadata"] = dataset.metadata(name)
    return config


def _aggregation(metric: str, place: str) -> Callable[..., float]:
    found: Callable[..., float] = resolve_name(place)
    return partial(found, metric) if metric in OF_SET else found


def _group(name: str, *, full: bool) -> dict[str, Any]:
    """The configuration of a group: its sets have equal weights, as in the published averages."""
    config: dict[str, Any] = {"group": name, "task": list(groups()[name])}
    if full:
        captions = name == "reform_description"
        config["aggregate_metric_list"] = [
            {
                "metric": metric,
                "aggregation": resolve_name("lmms_rpts.tasks.aggregation:mean_over_tasks"),
                "weight_by_size": False,
            }
            for metric in (("cider", "rouge_l", "bleu_4") if captions else _METRICS["choice"])
        ]
        config["metadata"] = {"version": 1.0}
    return config


BUILT: Mapping[str, Callable[..., dict[str, Any]]] = {
    **{name: partial(_task, name) for name in TASKS},
    **{name: partial(_group, name) for name in groups()},
}
"""The function that builds the configuration of each task and group."""

"""The 61 data sets of ReForm-Eval, from their only list (``sets.csv``), and tasks made of them.

The values of a full configuration that depend on settings are computed each time a task is built,
not at import, so that changed settings take effect.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

Kind = Literal["choice", "ocr", "kie", "caption"]
Method = Literal["generation", "likelihood"]
METHODS: tuple[Method, ...] = get_args(Method)
Mark = Literal["upper", "lower", "number", "random"]
History = Literal["gold", "online"]
"""Answers in the past rounds of a dialogue: the right ones, or the model's own."""

DIMENSIONS = {
    "coarse": "Coarse-Grained Perception",
    "fine": "Fine-Grained Perception",
    "text": "Scene Text Perception",
    "reasoning": "Visually Grounded Reasoning",
    "spatial": "Spatial Understanding",
    "crossmodal": "Cross-Modal Inference",
    "description": "Visual Description",
    "dialogue": "Multi-Turn Dialogue",
}
"""The 8 dimensions: end of the group name, and published name."""

_HERE = "lmms_rpts.tasks.reform_eval"


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set, as in its published configuration (arXiv 2310.02569).

    Attributes:
        name: name of the task, without ``reform_``.
        title: name in the publishers' README.
        dimension: one of the values of ``DIMENSIONS``.
        config: file name of the published configuration.
        file: data file, below ``huggingface_data``.
        layout: name of the layout of the file, see ``layouts.csv``.
        kind: how answers are given and graded.
        family: name of the group of instructions.
        version, split: values required in the file; empty: not checked.
        variant: distinguishes sets with the same layout; may be empty.
        dataset_name: value required in the file; empty: not checked.
        boxes: ``xywh N`` or ``xyxy N``: draw boxes of this format, with lines N pixels wide;
            ``crop``: crop the image to its box; empty: ignore boxes.
        max_tokens: number of new tokens as published.
    """

    name: str
    title: str
    dimension: str
    config: str
    file: str
    layout: str
    kind: Kind
    family: str
    version: str
    split: str
    variant: str
    dataset_name: str
    boxes: str
    max_tokens: int

    @property
    def methods(self) -> tuple[Method, ...]:
        """The possible answer methods: single choice also by the likelihood of the options."""
        return METHODS if self.kind == "choice" else ("generation",)

    @property
    def form(self) -> str:
        """The form of the answers: ``choice``, ``open`` or ``caption``."""
        return "open" if self.kind in ("ocr", "kie") else self.kind


@cache
def data_sets() -> Mapping[str, DataSet]:
    """All sets by name, in the order of the published table."""
    rows: list[dict[str, Any]] = rows_of("sets.csv")
    return {row["name"]: DataSet(**row | {"max_tokens": int(row["max_tokens"])}) for row in rows}


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a table in this folder."""
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


class ReformTask(NamedTuple):
    """A task: a set, how answers are obtained, and whose answers a dialogue's history contains."""

    set: DataSet
    method: Method
    history: History


# What the end of a task's name means.
_WAYS: Mapping[str, tuple[Method, History]] = {
    "": ("generation", "gold"),
    "_likelihood": ("likelihood", "gold"),
    "_online": ("generation", "online"),
}


TASKS: Mapping[str, ReformTask] = {
    f"reform_{chosen.name}{end}": ReformTask(chosen, method, history)
    for end, (method, history) in _WAYS.items()
    for chosen in data_sets().values()
    if (chosen.layout == "dialogue" if history == "online" else method in chosen.methods)
}
"""All tasks by name."""


@cache
def groups() -> Mapping[str, list[str]]:
    """The groups of tasks by name: all, each dimension, the same by likelihood, and online."""
    found: dict[str, list[str]] = {}
    for end, way in _WAYS.items():
        tasks = {name: each.set for name, each in TASKS.items() if each[1:] == way}
        for name, dimension in DIMENSIONS.items():
            listed = [task for task, chosen in tasks.items() if chosen.dimension == dimension]
            if listed:
                found[f"reform_{name}{end}"] = listed
        if end != "_online":
            found[f"reform_eval{end}"] = list(tasks)
    return found


# --- configurations for lmms-eval ----------------------------------------------------------------


def _task(name: str, *, full: bool) -> dict[str, Any]:
    """The configuration of a task; without ``full`` only its type and filters, fast to compute."""
    chosen, method, history = TASKS[name]
    output_type, filter_name = {
        ("generation", "gold"): ("generate_until", "reform_answer"),
        ("generation", "online"): ("generate_until_multi_round", "reform_online"),
        ("likelihood", "gold"): ("multiple_choice", "reform_likelihood"),
    }[method, history]
    config: dict[str, Any] = {
        "task": name,
        "dataset_path": "json",
        "test_split": "test",
        "output_type": output_type,
        # Our filters handle thinking; lmms-eval's own stripping would lose it.
        "reasoning_tags": "none",
        "filter_list": [{"name": "none", "filter": [{"function": filter_name}]}],
    }
    if not full:
        return config
    from lmms_rpts.tasks.aggregation import metric_list
    from lmms_rpts.tasks.reform_eval import dataset, prompts, results

    functions = ["doc_to_visual", "doc_to_text", "doc_to_messages", "doc_to_target"]
    for function in [*functions, *(["doc_to_choice"] if method == "likelihood" else [])]:
        config[function] = getattr(prompts, function)
    form = "online" if history == "online" else chosen.form
    config["process_results"] = partial(results.process, form)
    config["metric_list"] = metric_list(results.metrics_of(form))
    if method == "likelihood":
        config["target_delimiter"] = " "
    else:
        config["generation_kwargs"] = dataset.generation_kwargs(chosen)
    config["dataset_kwargs"] = dataset.dataset_kwargs(name)
    config["metadata"] = dataset.metadata(name)
    return config


def _group(name: str, *, full: bool) -> dict[str, Any]:
    """The configuration of a group: its sets have equal weights, as in the published averages."""
    config: dict[str, Any] = {"group": name, "task": list(groups()[name])}
    if full:
        from lmms_rpts.tasks.aggregation import group_metric_list
        from lmms_rpts.tasks.reform_eval.results import group_metrics

        names = group_metrics(captions=name == "reform_description")
        config["aggregate_metric_list"] = group_metric_list(names, weight_by_size=False)
        config["metadata"] = {"version": 1.0}
    return config


BUILT: Mapping[str, Callable[..., dict[str, Any]]] = {
    **{name: partial(_task, name) for name in TASKS},
    **{name: partial(_group, name) for name in groups()},
}
"""The function that builds the configuration of each task and group."""

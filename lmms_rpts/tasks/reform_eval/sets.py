"""The 61 data sets of ReForm-Eval, from their only list (``sets.csv``)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

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

_PREFIX = "reform_"
_LIKELIHOOD = "_likelihood"
_ONLINE = "_online"


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set, as in its published configuration (arXiv 2310.02569).

    Attributes:
        name: name of the task, without ``reform_``.
        title: name in the publishers' README.
        dimension: one of the values of ``DIMENSIONS``.
        config: file name of the published configuration.
        file: data file, below ``huggingface_data``.
        layout: name of the reader in ``source_format``.
        kind: how answers are given and graded.
        family: name of the group of instructions.
        version, split: values required in the file; empty: not checked.
        variant: distinguishes sets with the same layout; may be empty.
        dataset_name: value required in the file; empty: not checked.
        boxes: ``xywh N`` or ``xyxy N``: draw boxes of this format, with lines N pixels wide;
            ``crop``: crop the image to its box; empty: ignore boxes.
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

    @property
    def methods(self) -> tuple[Method, ...]:
        """The possible answer methods: single choice also by the likelihood of the options."""
        return METHODS if self.kind == "choice" else ("generation",)

    @property
    def form(self) -> str:
        """The form of the answers: ``choice``, ``open`` or ``caption``."""
        return "open" if self.kind in ("ocr", "kie") else self.kind

    def task(self, method: Method) -> str:
        """The name of the task with this method."""
        return f"{_PREFIX}{self.name}{_LIKELIHOOD if method == 'likelihood' else ''}"

    @property
    def online_task(self) -> str | None:
        """The name of the task with online history; None if the set has no dialogues."""
        return f"{_PREFIX}{self.name}{_ONLINE}" if self.layout == "dialogue" else None


@cache
def data_sets() -> Mapping[str, DataSet]:
    """All sets by name, in the order of the published table."""
    with Path(__file__).with_name("sets.csv").open(encoding="utf-8", newline="") as rows:
        found = [DataSet(**cast(Any, row)) for row in csv.DictReader(rows)]
    return {each.name: each for each in found}


def groups() -> dict[str, list[str]]:
    """The groups of tasks by name: all, each dimension, the same by likelihood, and online."""
    found: dict[str, list[str]] = {}
    for method in METHODS:
        end = _LIKELIHOOD if method == "likelihood" else ""
        every = [each for each in data_sets().values() if method in each.methods]
        for name, dimension in DIMENSIONS.items():
            tasks = [each.task(method) for each in every if each.dimension == dimension]
            if tasks:
                found[f"{_PREFIX}{name}{end}"] = tasks
        found[f"{_PREFIX}eval{end}"] = [each.task(method) for each in every]
    online = [each.online_task for each in data_sets().values()]
    found[f"{_PREFIX}dialogue{_ONLINE}"] = [task for task in online if task]
    return found


class ReformTask(NamedTuple):
    """A task: a set, how answers are obtained, and whose answers a dialogue's history contains."""

    set: DataSet
    method: Method
    history: History


def _tasks() -> dict[str, ReformTask]:
    found = {
        chosen.task(method): ReformTask(chosen, method, "gold")
        for method in METHODS
        for chosen in data_sets().values()
        if method in chosen.methods
    }
    online = {each.online_task: each for each in data_sets().values()}
    return found | {
        task: ReformTask(chosen, "generation", "online") for task, chosen in online.items() if task
    }


TASKS: dict[str, ReformTask] = _tasks()
"""All tasks by name."""

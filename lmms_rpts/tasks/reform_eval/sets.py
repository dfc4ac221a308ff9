"""The 61 data sets of ReForm-Eval: the only list of them (``sets.csv``)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

Kind = Literal["choice", "ocr", "kie", "caption"]
Method = Literal["generation", "likelihood"]
METHODS: tuple[Method, ...] = get_args(Method)
History = Literal["gold", "online"]
"""Whose answers stand in the past rounds of a dialogue: the right ones, or the model's own."""

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
"""The 8 dimensions: the end of a group's name, and the published name."""

_PREFIX = "reform_"
_LIKELIHOOD = "_likelihood"
_ONLINE = "_online"


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set, as the published configuration of its name has it (arXiv 2310.02569).

    Attributes:
        name: of its task, without ``reform_``.
        title: as the publishers' README calls it.
        dimension: one of the values of ``DIMENSIONS``.
        config: the file name of the published configuration.
        file: its data, below ``huggingface_data``.
        layout: which reader of ``source_format`` reads it.
        kind: how answers are given and graded.
        family: which instructions are used.
        version, split: what its file must say of itself; empty: nothing.
        variant: what distinguishes it among the sets of its layout; may be empty.
        dataset_name: what its file must call itself; empty: nothing.
        boxes: ``xywh N`` or ``xyxy N``: boxes of such numbers are drawn, N pixels wide; ``crop``:
            the image is cut to its box; empty: boxes are passed over.
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
        """How answers may be had: single choice also by the likelihood of the options."""
        return METHODS if self.kind == "choice" else ("generation",)

    def task(self, method: Method) -> str:
        """The name of its task."""
        return f"{_PREFIX}{self.name}{_LIKELIHOOD if method == 'likelihood' else ''}"

    @property
    def online_task(self) -> str | None:
        """The name of the task whose history holds the model's own answers; None: no dialogue."""
        return f"{_PREFIX}{self.name}{_ONLINE}" if self.layout == "dialogue" else None


@cache
def data_sets() -> Mapping[str, DataSet]:
    """All sets by name, in the order of the published table."""
    with Path(__file__).with_name("sets.csv").open(encoding="utf-8", newline="") as rows:
        found = [DataSet(**cast(Any, row)) for row in csv.DictReader(rows)]
    return {each.name: each for each in found}


def by_config(config: str) -> DataSet:
    """The set of a published configuration.

    Raises:
        KeyError: if there is none.
    """
    return {each.config: each for each in data_sets().values()}[config]


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

"""The 61 data sets of ReForm-Eval, their tasks and groups, and the settings."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from lmms_rpts.base.settings import Place, Table, setting

Kind = Literal["choice", "ocr", "kie", "caption"]
Method = Literal["generation", "likelihood"]
METHODS: tuple[Method, ...] = ("generation", "likelihood")
Mark = Literal["upper", "lower", "number", "random"]
History = Literal["gold", "online"]
"""Answers in the past rounds of a dialogue: the right ones, or the model's own."""
Order = Literal["balanced", "fixed"]
WordingChoice = Literal["varied", "fixed"]
Reduction = Literal["sum", "mean"]
MaxTokens = Literal["long", "published"]

# The 8 dimensions: end of the group name, and published name.
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


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set, as in its published configuration (arXiv 2310.02569).

    Attributes:
        name: name of the task, without ``reform_``.
        title: name in the publishers' README.
        dimension: one of the values of ``DIMENSIONS``.
        config: file name of the published configuration.
        file: data file, below ``huggingface_data``; it contains the images.
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

    @property
    def files(self) -> tuple[str, ...]:
        """All its files below ``huggingface_data``; ``file`` is the first."""
        if self.layout == "tdiuc":
            choices = f"TDIUC/choice_list/{self.variant}.json"
            return (self.file, "TDIUC/TDIUC_val_anns.json", choices)
        if self.layout == "counting":
            return (self.file, "MSCOCO/objectCounting_answer_list/answer_list.json")
        return (self.file,)


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

# All tasks by name.
TASKS: Mapping[str, ReformTask] = {
    f"reform_{chosen.name}{end}": ReformTask(chosen, method, history)
    for end, (method, history) in _WAYS.items()
    for chosen in data_sets().values()
    if (chosen.layout == "dialogue" if history == "online" else method in chosen.methods)
}


def _groups() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for end, way in _WAYS.items():
        tasks = {name: each.set for name, each in TASKS.items() if each[1:] == way}
        for name, dimension in DIMENSIONS.items():
            listed = tuple(task for task, chosen in tasks.items() if chosen.dimension == dimension)
            if listed:
                found[f"reform_{name}{end}"] = listed
        if end != "_online":
            found[f"reform_eval{end}"] = tuple(tasks)
    return found


# The groups of tasks by name: all, each dimension, the same by likelihood, and online.
GROUPS: Mapping[str, tuple[str, ...]] = _groups()

# Number of times that a sample is presented, as the publishers recommend; captions once.
_DUPLICATES = 5


class ReformSettings(Table, env_prefix="REFORM_"):
    """The settings of ReForm-Eval."""

    TABLE: ClassVar[str] = "reform"
    path: Place | None = setting(None, "folder of the data; without it, downloaded")
    instructions: Place | None = setting(None, "JSON file of the published instructions")
    duplicates: int | None = setting(
        None, "times each sample is presented; 5, captions 1", ge=1, le=1000
    )
    wording: WordingChoice = setting("varied", "`varied`: each duplicate has another instruction")
    order: Order = setting(
        "balanced", "`balanced`: the order of options changes between duplicates"
    )
    max_tokens: MaxTokens = setting(
        "long", "`long`: 1024 new tokens, captions 256; `published`: 30, captions 12 to 16"
    )
    marks: Mark = setting("upper", "marks of options; `random`: drawn for each duplicate")
    in_context: bool = setting(True, "a solved example before each single choice by generation")
    limit: int | None = setting(
        None, "use the first N samples of each set", "REFORM_LIMIT_SAMPLES", ge=1
    )
    reduction: Reduction = setting(
        "sum", "likelihood of an option: `sum` (published) or `mean` of its tokens"
    )
    seed: int = setting(0, "seed for all random draws", ge=0, le=2**32)

    def duplicates_of(self, chosen: DataSet) -> int:
        """Number of times that each sample of a set is presented."""
        return self.duplicates or (1 if chosen.kind == "caption" else _DUPLICATES)

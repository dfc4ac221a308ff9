"""The 61 data sets of ReForm-Eval, their tasks and groups, and the settings."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from lmms_rpts.base.settings import Place, Table, setting

Kind = Literal["choice", "ocr", "kie", "caption"]
Method = Literal["generation", "likelihood"]

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
    """One data set, as in its published configuration (arXiv 2310.02569): a row of ``sets.csv``.

    Attributes:
        name, title: name of the task, without ``reform_``; name in the publishers' README.
        config, file: published configuration; data file, which contains the images.
        layout, variant: of the file, see ``layouts.csv``.
        family: name of the group of instructions.
        version, split, dataset_name: values required in the file; empty: not checked.
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
        """How it can be answered: single choices also by the likelihood of the options."""
        return ("generation", "likelihood") if self.kind == "choice" else ("generation",)

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
    """A task; ``online``: the history of a dialogue has the model's answers, not the right ones."""

    set: DataSet
    method: Method = "generation"
    online: bool = False


def _tasks() -> Iterator[tuple[str, ReformTask]]:
    for each in data_sets().values():
        yield f"reform_{each.name}", ReformTask(each)
    for each in data_sets().values():
        if "likelihood" in each.methods:
            yield f"reform_{each.name}_likelihood", ReformTask(each, "likelihood")
        if each.layout == "dialogue":
            yield f"reform_{each.name}_online", ReformTask(each, online=True)


TASKS: Mapping[str, ReformTask] = dict(_tasks())


def _groups() -> dict[str, tuple[str, ...]]:
    short = {title: name for name, title in DIMENSIONS.items()}
    found: dict[str, tuple[str, ...]] = {}
    for name, task in TASKS.items():
        end = name.removeprefix(f"reform_{task.set.name}")
        groups = (short[task.set.dimension], *(() if task.online else ("eval",)))
        for group in (f"reform_{each}{end}" for each in groups):
            found[group] = (*found.get(group, ()), name)
    return found


# All sets, and those of each dimension.
GROUPS: Mapping[str, tuple[str, ...]] = _groups()


class ReformSettings(Table, env_prefix="REFORM_"):
    """The settings of ReForm-Eval."""

    TABLE: ClassVar[str] = "reform"
    path: Place | None = setting(None, "folder of the data; without it, downloaded")
    instructions: Place | None = setting(None, "JSON file of the published instructions")
    duplicates: int | None = setting(
        None, "times each sample is presented; 5, captions 1", ge=1, le=1000
    )
    wording: Literal["varied", "fixed"] = setting(
        "varied", "`varied`: each duplicate has another instruction"
    )
    order: Literal["balanced", "fixed"] = setting(
        "balanced", "`balanced`: the order of options changes between duplicates"
    )
    max_tokens: Literal["long", "published"] = setting(
        "long", "`long`: 1024 new tokens, captions 256; `published`: 30, captions 12 to 16"
    )
    marks: Literal["upper", "lower", "number", "random"] = setting(
        "upper", "marks of options; `random`: drawn for each duplicate"
    )
    in_context: bool = setting(True, "a solved example before each single choice by generation")
    limit: int | None = setting(
        None, "use the first N samples of each set", "REFORM_LIMIT_SAMPLES", ge=1
    )
    reduction: Literal["sum", "mean"] = setting(
        "sum", "likelihood of an option: `sum` (published) or `mean` of its tokens"
    )
    seed: int = setting(0, "seed for all random draws", ge=0, le=2**32)

    def duplicates_of(self, chosen: DataSet) -> int:
        """Number of times that each sample of a set is presented: 5 as the publishers recommend."""
        return self.duplicates or (1 if chosen.kind == "caption" else 5)

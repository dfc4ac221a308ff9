"""The record of an answer to a sample of ReForm-Eval: written by its filters."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record import Asked, Record
from lmms_rpts.runs.run import RunOf
from lmms_rpts.schema import Flag, Model, Number, Several, Share, Text, Whole
from lmms_rpts.tasks.benchmark import record_types
from lmms_rpts.tasks.reform_eval.sets import History, Kind, Method
from lmms_rpts.tasks.reform_eval.settings import Order, Reduction, WordingChoice
from lmms_rpts.tasks.reform_eval.text_form import Mark


class ReformGrade(Model):
    """One reading of the answer."""

    chosen: Whole | None = Field(
        description="the place of the chosen option as shown, which may lie beyond the last; null "
        "if none was, and where the answer is free"
    )
    correct: Flag | None = Field(
        description="right or wrong; null where the reference is empty, and for captions"
    )
    rule: Text = Field(description="which rule decided; may be empty")


class ReformInstance(Asked):
    """One duplicate of a sample, without its image."""

    id: Text = Field(description="the sample's own id")
    sample: Whole = Field(description="its place in the data")
    duplicate: Whole = Field(description="which of its duplicates, from 0")
    set: Text = Field(description="the data set's name")
    kind: Kind = Field(description="choice, ocr, kie or caption")
    method: Method = Field(description="generation or likelihood")
    instruct: Text = Field(description="the instruction; may be empty")
    question: Text = Field(description="the question, with its options where they are shown")
    options: Several[Text] = Field(description="in the order in which they are shown; may be empty")
    order: Several[Whole] = Field(description="for each of these its place in the data")
    marks: Text = Field(description="their marks; empty where they are not shown")
    right: Whole | None = Field(
        description="the place of the right one as shown; null: free answer"
    )
    answers: Several[Text] = Field(description="what a free answer may be; reference captions")
    round: Whole | None = Field(description="of a dialogue, from 0; null for others")

    @property
    def key(self) -> tuple[str, int]:
        """Its task and its sample: duplicates are answers to one question."""
        return (self.task, self.sample)


class ReformAsking(Model):
    """How samples were asked and graded."""

    instructions: Text = Field(description="whose: ours or published")
    instructions_sha256: Text = Field(description="of the instructions, in hexadecimal")
    duplicates: Whole | None = Field(
        default=None, description="REFORM_DUPLICATES; null: 5, captions 1"
    )
    wording: WordingChoice = Field(description="REFORM_WORDING")
    order: Order = Field(description="REFORM_ORDER")
    marks: Mark = Field(description="REFORM_MARKS")
    in_context: Flag = Field(description="REFORM_IN_CONTEXT")
    reduction: Reduction | None = Field(description="REFORM_REDUCTION; null by generation")
    seed: Whole = Field(description="REFORM_SEED")
    # Records of before there were online histories have none.
    history: History = Field(
        default="gold",
        description="whose answers the past rounds of a dialogue have: gold (the right ones) or "
        "online (the model's own)",
    )

    @property
    def times_asked(self) -> str:
        """How often each sample was asked."""
        return "5, captions once" if self.duplicates is None else str(self.duplicates)

    @property
    def judge(self) -> str:
        """Who graded."""
        return "rule" if self.reduction is None else f"likelihood ({self.reduction})"


class ReformRecord(Record):
    """The record of an answer to a sample of ReForm-Eval."""

    SCHEMA: ClassVar[str] = "lmms_rpts.reform"
    BENCHMARK: ClassVar[str] = "ReForm-Eval"
    FILTER: ClassVar[str] = "reform_answer"
    READERS: ClassVar[str] = "lmms-rpts grades summarises them"

    score: Share | None = Field(
        description="by the published rules: 1 or 0; captions: ROUGE-L; null if unscored"
    )
    published: ReformGrade = Field(description="by the published rules")
    strict: ReformGrade = Field(description="by ours")
    prediction: Text = Field(description="the text that was graded; by likelihood the option")
    source: Literal[ReasoningSource, "likelihood"] = Field(
        description="where the prediction stands in the response"
    )
    losses: Several[Number] = Field(
        description="by likelihood, of each option: the negative log-likelihood that was compared"
    )
    means: Several[Number] = Field(description="by likelihood, of each option: the loss per token")
    instance: ReformInstance = Field(description="one duplicate of a sample, without its image")
    settings: ReformAsking = Field(description="how samples were asked and graded")

    @classmethod
    def alike(cls, one: AbstractSet[ReformAsking], other: AbstractSet[ReformAsking]) -> bool:
        """Whether samples were asked in one way, but for what differs from task to task."""
        reductions = {each.reduction for each in one | other} - {None}
        of_tasks = {"reduction": None, "history": "gold"}
        ways = [{each.model_copy(update=of_tasks) for each in part} for part in (one, other)]
        return ways[0] == ways[1] and len(reductions) <= 1

    @property
    def chosen_text(self) -> str:
        """What the published instability takes an answer for: an option's text, or all of it."""
        chosen, options = self.published.chosen, self.instance.options
        return options[chosen] if chosen is not None and chosen < len(options) else self.prediction

    @property
    def hit(self) -> bool | None:
        """Whether the published rules found a mark; None where there is none to find."""
        return self.published.chosen is not None if self.instance.kind == "choice" else None


ReformRun = RunOf[ReformRecord]
"""The answers of one model in one evaluation of ReForm-Eval."""


def read_reform_runs(paths: Iterable[str | Path]) -> list[ReformRun]:
    """Read runs of ReForm-Eval from samples files or folders: as ``read_runs`` does those of RPTS.

    Raises:
        RunError: naming the file, the line and the remedy, where something can't be read.
    """
    return read_runs_of(ReformRecord, paths, record_types)

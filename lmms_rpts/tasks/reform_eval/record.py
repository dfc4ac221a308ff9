"""The record of an answer to a sample of ReForm-Eval: written by its filters."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import ClassVar, Literal

from pydantic import Field

from lmms_rpts.base.schema import Flag, Model, Number, Several, Share, Text, Whole
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.record import Asked, Record
from lmms_rpts.runs.run import RunOf
from lmms_rpts.tasks.reform_eval.benchmark import (
    History,
    Kind,
    Mark,
    MaxTokens,
    Method,
    Order,
    Reduction,
    ReformSettings,
    WordingChoice,
)
from lmms_rpts.tasks.reform_eval.instructions import load_instructions


class ReformGrade(Model):
    """One reading of the answer."""

    chosen: Whole | None = Field(
        description="index of the chosen option as shown, which may be beyond the last; null "
        "if none was chosen, and for free answers"
    )
    correct: Flag | None = Field(
        description="whether the answer is right; null if the rules cannot decide, and for captions"
    )
    rule: Text = Field(description="the rule that decided; may be empty")


class ReformInstance(Asked):
    """One duplicate of a sample, without its image."""

    id: Text = Field(description="id of the sample in the data")
    sample: Whole = Field(description="index of the sample in the data")
    duplicate: Whole = Field(description="number of the duplicate, from 0")
    set: Text = Field(description="name of the data set")
    kind: Kind = Field(description="kind of the set")
    method: Method = Field(description="how answers are obtained")
    instruct: Text = Field(description="the instruction; may be empty")
    question: Text = Field(description="the question, with its options if they are shown")
    options: Several[Text] = Field(
        description="options in the order in which they are shown; may be empty"
    )
    order: Several[Whole] = Field(description="for each option, its index in the data")
    marks: Text = Field(description="marks of the options; empty if they are not shown")
    right: Whole | None = Field(
        description="index of the right option as shown; null for free answers"
    )
    answers: Several[Text] = Field(description="accepted free answers; reference captions")
    round: Whole | None = Field(description="round of a dialogue, from 0; null for other sets")

    @property
    def key(self) -> tuple[str, int]:
        """Task and sample: duplicates count as answers to one question."""
        return (self.task, self.sample)

    def option(self, index: int | None) -> str | None:
        """The text of an option; None for no index, and beyond the last option."""
        return self.options[index] if index is not None and index < len(self.options) else None

    @property
    def gold(self) -> tuple[str, ...]:
        """The right option, or the accepted answers."""
        right = self.option(self.right)
        return self.answers if right is None else (right,)

    @property
    def gold_text(self) -> str:
        """The right option, or the accepted answers, as one text."""
        return "; ".join(self.gold)


class ReformAsking(Model):
    """How samples were presented and graded."""

    instructions: Text = Field(description="`ours` (built-in) or `published`")
    instructions_sha256: Text = Field(description="SHA-256 of the instructions, in hexadecimal")
    duplicates: Whole | None = Field(
        default=None, description="the setting `duplicates`; null: 5, for captions 1"
    )
    wording: WordingChoice = Field(description="the setting `wording`")
    order: Order = Field(description="the setting `order`")
    marks: Mark = Field(description="the setting `marks`")
    in_context: Flag = Field(description="the setting `in_context`")
    max_tokens: MaxTokens = Field(
        default="long", description="the setting `max_tokens`; has no effect on likelihood"
    )
    reduction: Reduction | None = Field(description="the setting `reduction`; null for generation")
    seed: Whole = Field(description="the setting `seed`")
    history: History = Field(
        default="gold",
        description="answers in the past rounds of a dialogue: `gold` (the right ones) or "
        "`online` (the model's own)",
    )

    @classmethod
    def of(cls, reform: ReformSettings, method: Method, history: History = "gold") -> ReformAsking:
        """The form of the prompts and the grading under these settings."""
        instructions = load_instructions(reform.instructions)
        names = ("wording", "order", "marks", "in_context", "max_tokens", "seed")
        return cls(
            **{name: getattr(reform, name) for name in names},
            duplicates=reform.duplicates,
            instructions=instructions.source,
            instructions_sha256=instructions.sha256,
            reduction=reform.reduction if method == "likelihood" else None,
            history=history,
        )

    @property
    def times_asked(self) -> str:
        """Number of times that each sample was presented."""
        return "5, captions once" if self.duplicates is None else str(self.duplicates)

    @property
    def length(self) -> str | None:
        """Maximum length of answers; None for likelihood."""
        return self.max_tokens if self.reduction is None else None

    @property
    def judge(self) -> str:
        """How answers were graded."""
        return "rule" if self.reduction is None else f"likelihood ({self.reduction})"


class ReformRecord(Record):
    """The record of an answer to a sample of ReForm-Eval."""

    SCHEMA: ClassVar[str] = "lmms_rpts.reform"
    BENCHMARK: ClassVar[str] = "ReForm-Eval"
    FILTER: ClassVar[str] = "reform_answer"

    score: Share | None = Field(
        description="1 or 0 by the published rules; ROUGE-L for captions; null if unscored"
    )
    published: ReformGrade = Field(description="grade by the published rules")
    strict: ReformGrade = Field(description="grade by the strict rules")
    prediction: Text = Field(
        description="the text that was graded; for likelihood the chosen option"
    )
    source: Literal[ReasoningSource, "likelihood"] = Field(
        description="the part of the response that was graded"
    )
    losses: Several[Number] = Field(
        description="likelihood only: the negative log-likelihood of each option that was compared"
    )
    means: Several[Number] = Field(description="likelihood only: the loss per token of each option")
    instance: ReformInstance = Field(description="one duplicate of the sample, without its image")
    settings: ReformAsking = Field(description="how samples were presented and graded")

    @classmethod
    def mergeable(cls, one: AbstractSet[ReformAsking], other: AbstractSet[ReformAsking]) -> bool:
        """Whether samples were presented in the same way, ignoring what differs between tasks."""
        reductions = {each.reduction for each in one | other} - {None}
        of_tasks = {"reduction": None, "history": "gold"}
        ways = [{each.model_copy(update=of_tasks) for each in part} for part in (one, other)]
        return ways[0] == ways[1] and len(reductions) <= 1

    @property
    def is_read(self) -> bool:
        """Whether an answer could be read: an option of a single choice, or any text."""
        if self.instance.kind != "choice":
            return bool(self.prediction.strip())
        return self.published.chosen is not None or self.strict.chosen is not None

    @property
    def chosen_text(self) -> str:
        """The answer for the published instability: an option's text, or the whole prediction."""
        text = self.instance.option(self.published.chosen)
        return self.prediction if text is None else text

    @property
    def hit(self) -> bool | None:
        """Whether the published rules found a mark; None if no mark is expected."""
        return self.published.chosen is not None if self.instance.kind == "choice" else None


ReformRun = RunOf[ReformRecord]
"""The answers of one model in one evaluation of ReForm-Eval."""

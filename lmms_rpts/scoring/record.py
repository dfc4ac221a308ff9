"""The record of a response scored by RPTS: filled once, read by all commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from lmms_rpts.base.schema import FieldError, Flag, Model, Number, Several, Share, Text, Whole
from lmms_rpts.base.settings import Source
from lmms_rpts.judging.types import Verdict
from lmms_rpts.reasoning import (
    Clue,
    InvalidReference,
    ReasoningChain,
    ReasoningTree,
    Step,
    StepError,
    build_tree,
)
from lmms_rpts.reasoning.clues import Evidence
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.reasoning.tree import RIGHT_REASON, Modality
from lmms_rpts.runs.record import FromJudge, Record, unset
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.scorer import NO_RESPONSE, REQUEST_FAILED

NO_GRADE = "the task's metrics don't say whether the answer is right"


class Answer(FromJudge):
    """The final answer; ``reason`` says why there is none, or why `correct` is null."""

    value: Text | None = Field(
        description="agree, disagree or undetermined (none is stated, or it takes no side); for "
        "other questions the answer that was found; null if one is stated, but could not be read"
    )
    by: Literal["rule", "judge", "function", "task"] = Field(
        default="rule", description="what determined the answer"
    )
    correct: Flag | None = Field(description="whether it is right; null if this can't be decided")


class JudgedStep(Model):
    """A step and its score."""

    premises: Several[Clue] = Field(description="the evidence and steps that the step cites")
    conclusion: Text = Field(description="the conclusion of the step")
    height: Whole = Field(description="1 + the largest height of its premises; a leaf has 0")
    counts: Flag = Field(
        description="whether the root depends on the step; other steps do not enter the score"
    )
    modality: Modality = Field(description="kind of the step's premises")
    score: Share | None = Field(description="score of the step; null if it could not be judged")
    note: Text | None = unset(None, "why the step has this score, or none, without a judge")
    verdicts: Several[Verdict] = Field(
        default=(),
        description="the judge's verdicts, in order: `evidence` are the facts or premises that it "
        "was given; after a score below 0.5, an inference is judged again with more premises",
    )

    @property
    def error(self) -> str | None:
        """Why it has no score; None if it has one."""
        if self.score is not None:
            return None
        return self.verdicts[-1].error if self.verdicts else self.note


class Diagnosis(Model):
    """What the chain uses and repeats; it does not enter the score."""

    restating: Several[Whole] = Field(
        description="steps that only restate a textual clue, the context, or a conclusion that"
        " they cite"
    )
    needed: Several[Clue] = Field(
        description="the images and textual clues that the gold reasoning depends on; without "
        "gold reasoning, all that are given"
    )
    used: Several[Clue] = Field(description="the part of `needed` that the root depends on")
    coverage: Share = Field(description="share of `needed` that is used; 1 if none is needed")


class Transform(FromJudge):
    """How the response was read; ``reason`` says why there are no steps."""

    read_by: Literal["rule", "llm", "nothing"] = Field(
        description="what read the steps: rules or a judge; `nothing` if there are none"
    )
    style: Text = Field(description="format of the steps, as detected by the rules")
    source: ReasoningSource = Field(description="which part of the response was read")
    chain: Several[Text] = Field(default=(), description="the steps as read, before repair")
    problems: Several[Text] = Field(default=(), description="problems found while reading")


class Scoring(Model):
    """Everything except the response that the score depends on."""

    judge: Text = Field(description="the judge")
    decay: Share = Field(description="setting `decay`: decay of the weights")
    focus_height: Whole = Field(
        description="setting `focus_height`: height at which the weight is 1"
    )
    threshold: Share = Field(
        default=RIGHT_REASON,
        description="setting `threshold`: RPTS from which on the reasoning counts as sound",
    )
    prompt_version: Text = Field(description="version of the judge's prompts")
    temperature: Number = Field(default=0.0, description="sampling temperature of the judge")
    source: Source = unset(
        "answer", "setting `source`: what was scored; omitted for the visible answer"
    )
    evidence: Evidence = unset("facts", "evidence for claims about images; omitted for `facts`")


class RptsRecord(Record):
    """The record of a response scored by RPTS."""

    SCHEMA: ClassVar[str] = "lmms_rpts.rpts"
    SCORE: ClassVar[str] = "rpts"
    BENCHMARK: ClassVar[str] = "RPTS"

    rpts: Share | None = Field(description="the Reasoning Process Tree Score; null if unscored")
    diagnosis: Diagnosis = Field(
        description="what the chain uses and repeats; it does not enter the score"
    )
    answer: Answer = Field(description="the final answer")
    first_error: StepError | None = Field(
        description="the first step below 0.5 that the root depends on; null if there is none"
    )
    chain: Several[Text] = Field(
        description='the repaired steps as text; the conclusion of step k is "Conclusion k"'
    )
    steps: Several[JudgedStep] = Field(description="each step with its score")
    invalid_references: Several[InvalidReference] = Field(
        description="references to evidence or steps that do not exist; they count as leaves "
        "without evidence"
    )
    transform: Transform = Field(description="how the response was parsed into steps")
    instance: Question = Field(description="the document, without its images")
    settings: Scoring = Field(description="everything the score depends on, except the response")

    def check(self) -> None:
        """Raise a FieldError if fields contradict each other, as in a file that was changed."""
        count = len(self.steps)
        if len(self.chain) != count:
            raise FieldError(f"the chain has {len(self.chain)} steps, but steps has {count}")
        if self.rpts is not None and any(step.score is None for step in self.steps):
            raise FieldError("the record has an RPTS, but a step without a score")

    @property
    def final(self) -> str | None:
        """The final answer."""
        return self.answer.value

    @property
    def undecided(self) -> bool:
        """Whether an answer is stated, but neither rules nor a judge decided whether it is right.

        False for answers that the metric of a wrapped task does not grade.
        """
        answer = self.answer
        return answer.correct is None and answer.error is not None and answer.by != "task"

    def mean_of(self, modality: Modality, of: Callable[[float], float] = float) -> float | None:
        """The mean of the scores of steps of one kind, or of what ``of`` returns for them."""
        scores = [step.score for step in self.steps if step.modality == modality]
        there = [of(score) for score in scores if score is not None]
        return sum(there) / len(there) if there and self.rpts is not None else None

    def graded(self, correct: bool | None) -> RptsRecord:
        """This record with a grade of its answer that is known from elsewhere; None: unknown."""
        missing = self.transform.reason or ""
        if missing == NO_RESPONSE or missing.startswith(REQUEST_FAILED):
            return self
        reason = NO_GRADE if correct is None else self.answer.reason
        found = {"correct": correct, "by": "task", "reason": reason}
        return self.model_copy(update={"answer": self.answer.model_copy(update=found)})

    def tree(self) -> ReasoningTree:
        """The tree of its steps."""
        steps = tuple(Step(step.premises, step.conclusion) for step in self.steps)
        chain = ReasoningChain(steps, self.instance.language)
        return build_tree(chain, len(self.instance.visual_clue), len(self.instance.textual_clue))

    @cached_property
    def metrics(self) -> Mapping[str, float | None]:
        """The values that enter lmms-eval's means, by metric name.

        A record without a score has no ``rpts*`` values, a wrong answer no
        ``right_for_wrong_reason``, and a chain without steps of a modality no mean for it.
        """
        return {name: each.of(self) for name, each in METRICS.items()}

"""The record of a response scored by RPTS: written by ``rpts_aggregate``, read by all commands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import ClassVar, get_args

from pydantic import Field, model_validator

from lmms_rpts.filters.metrics import DIAGNOSTICS, METRICS, RIGHT_REASON, is_sound
from lmms_rpts.filters.record_parts import (
    Answer,
    Fault,
    FirstError,
    JudgedRoot,
    JudgedStep,
    RecordedDiagnosis,
    RptsInstance,
    Scoring,
    Transform,
    cluster_of,
    own_id,
)
from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.reasoning import (
    Clue,
    Diagnosis,
    ReasoningChain,
    ReasoningTree,
    Step,
    build_tree,
    diagnose,
    guarded_score,
    needed_evidence,
    parse_chain,
    repair_chain,
)
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.reasoning.localisation import Modality
from lmms_rpts.reasoning.outline import outline
from lmms_rpts.runs.record import Cell, Record
from lmms_rpts.schema import FieldError, Several, Share, Text

__all__ = [
    "DIAGNOSTICS",
    "MODALITIES",
    "RIGHT_REASON",
    "Answer",
    "Fault",
    "FirstError",
    "JudgedRoot",
    "JudgedStep",
    "RecordedDiagnosis",
    "RptsInstance",
    "RptsRecord",
    "Scoring",
    "Transform",
    "cluster_of",
    "is_sound",
    "own_id",
]

MODALITIES: tuple[Modality, ...] = get_args(Modality)


class RptsRecord(Record):
    """The record of a response scored by RPTS."""

    SCHEMA: ClassVar[str] = "lmms_rpts.rpts"
    SCORE: ClassVar[str] = "rpts"
    BENCHMARK: ClassVar[str] = "RPTS"
    FILTER: ClassVar[str] = "rpts_aggregate"
    AGAIN: ClassVar[str] = "score the responses again (lmms-rpts score)"
    READERS: ClassVar[str] = "lmms-rpts summarize, report, compare, sweep and export read them"

    rpts: Share | None = Field(description="the Reasoning Process Tree Score; null if unscored")
    # Records written before the guarded score lack the next three.
    guarded: Share | None = Field(
        default=None,
        description="the guarded score; null if unscored, or if `root` has no score",
    )
    root: JudgedRoot | None = Field(
        default=None,
        description="whether the evidence leads to the final answer; null if there is no root, or "
        "if the answer was not found in the text",
    )
    diagnosis: RecordedDiagnosis | None = Field(default=None, description="diagnosis of the chain")
    answer: Answer = Field(description="the final answer")
    first_error: FirstError | None = Field(
        description="the first step below 0.5 that the root depends on; null if there is none"
    )
    chain: Several[Text] = Field(
        description='the repaired steps as text; the conclusion of step k is "Conclusion k"'
    )
    steps: Several[JudgedStep] = Field(description="each step with its score")
    invalid_references: Several[Fault] = Field(
        description="references to evidence or steps that do not exist; they count as leaves "
        "without evidence"
    )
    transform: Transform = Field(description="how the response was parsed into steps")
    instance: RptsInstance = Field(description="the document, without its images")
    settings: Scoring = Field(description="everything the score depends on, except the response")

    @model_validator(mode="after")
    def _fits_together(self) -> RptsRecord:
        count = len(self.steps)
        if len(self.chain) != count:
            raise FieldError(f"the chain has {len(self.chain)} steps, but steps has {count}")
        if self.rpts is not None and any(step.score is None for step in self.steps):
            raise FieldError("the record has an RPTS, but a step without a score")
        for at, fault in enumerate(self.invalid_references):
            if fault.step >= count:
                raise FieldError(f"invalid_references[{at}] refers to a step that does not exist")
        error = self.first_error
        if error is not None and not all(at < count for at in (error.step, *error.path)):
            raise FieldError("first_error refers to a step that does not exist")
        return self

    @property
    def undecided(self) -> bool:
        """Whether an answer is stated, but neither rules nor a judge decided whether it is right.

        False for answers that the metric of a wrapped task does not grade.
        """
        answer = self.answer
        return answer.correct is None and answer.error is not None and answer.by != "task"

    def tree(self) -> ReasoningTree:
        """The tree of its steps."""
        return self._tree

    @cached_property
    def _tree(self) -> ReasoningTree:
        steps = tuple(Step(step.premises, step.conclusion) for step in self.steps)
        chain = ReasoningChain(steps, self.instance.language)
        return build_tree(chain, len(self.instance.visual_clue), len(self.instance.textual_clue))

    def cells(self) -> dict[str, Cell]:
        """The response as a row of a table; ``tree``: its steps as indented text."""
        error = self.first_error
        return {
            "question": self.instance.statement or self.instance.context,
            "gold": self.instance.answer,
            "answer": self.answer.value,
            "correct": self.answer.correct,
            "rpts": self.rpts,
            "guarded": self.guarded,
            "first_error": error.step if error else None,
            "first_error_text": self.steps[error.step].conclusion if error else None,
            "tree": outline(self.tree(), [step.score for step in self.steps]),
            "why": self.reason or self.answer.error,
        }

    @cached_property
    def diagnosed(self) -> Diagnosis:
        """The diagnosis of the chain; computed again, so that old records have it as well."""
        return diagnose_chain(
            self.tree(),
            self.instance.context,
            self.instance.textual_clue,
            len(self.instance.visual_clue),
            self.instance.reasoning,
            self.settings.decay,
            self.settings.focus_height,
        )

    def guarded_anew(self) -> float | None:
        """The guarded score, computed again; None if a score of a step or the root is missing."""
        scores = [step.score for step in self.steps if step.score is not None]
        if self.rpts is None or len(scores) < len(self.steps):
            return None
        if not self.steps:
            return 0.0
        if self.root is None or self.root.score is None:
            return None
        return guarded_score(self.tree(), scores, self.diagnosed, self.root.score)

    @cached_property
    def metrics(self) -> Mapping[str, float | None]:
        """The values that enter lmms-eval's means, by metric name.

        A record without a score has no ``rpts*`` values, a wrong answer no
        ``right_for_wrong_reason``, and a chain without steps of a modality no mean for it. One
        written before the guarded score has no ``guarded_coverage``.
        """
        return {each.name: each.value(self) for each in METRICS}


def diagnose_chain(
    tree: ReasoningTree,
    context: str,
    clues: tuple[str, ...],
    n_images: int,
    gold: tuple[str, ...],
    decay: float,
    focus_height: int,
) -> Diagnosis:
    """The diagnosis of a chain; `gold` may be empty."""
    needed = _needed(gold, clues, n_images, tree.chain.language)
    return diagnose(tree, needed, context, clues, restates, decay, focus_height)


@lru_cache(maxsize=4096)
def _needed(
    gold: tuple[str, ...], clues: tuple[str, ...], n_images: int, language: Language
) -> frozenset[Clue]:
    """The evidence that an argument about a document must use."""
    chain = repair_chain(parse_chain(list(gold), language), clues, restates, n_images=n_images)
    return needed_evidence(build_tree(chain, n_images, len(clues)), n_images, len(clues))

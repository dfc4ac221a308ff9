"""The record of a response that RPTS scored: what ``rpts_aggregate`` writes and all read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, get_args

from pydantic import Field, PlainSerializer, PlainValidator, model_validator

from lmms_rpts.escaping import storable
from lmms_rpts.filters.diagnosis import diagnose_chain
from lmms_rpts.filters.documents import as_text
from lmms_rpts.filters.responses import AnswerBy, Question, ReadBy
from lmms_rpts.reasoning import (
    Clue,
    Diagnosis,
    InvalidReference,
    ReasoningChain,
    ReasoningTree,
    Step,
    build_tree,
    guarded_score,
)
from lmms_rpts.reasoning.clues import KINDS, ClueKind, Language
from lmms_rpts.reasoning.localisation import Modality
from lmms_rpts.reasoning.mentions import MAX_DIGITS
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.record import Asked, Record
from lmms_rpts.schema import (
    Described,
    FieldError,
    Flag,
    Model,
    Number,
    Several,
    Share,
    Text,
    Whole,
    shown,
    wrong,
)

DIAGNOSTICS = (
    "evidence_coverage",
    "restating_steps",
    "missing_references",
    "heaviest_step",
    "steps",
)
"""Metrics of what a chain is made of."""

MODALITIES: tuple[Modality, ...] = get_args(Modality)
RIGHT_REASON = 0.5
"""RPTS from which on the reasoning counts as sound."""

_VARIANT = re.compile(r"_(?:en|zh|free)(?=_|$)")
_MOST_USES = 2**63 - 1
_HIGHEST = 100_000  # scoring again takes time and memory in proportion to it


def cluster_of(task: str, own_id: str) -> tuple[str, str]:
    """What a document shares with its translation: both have the same images and answer."""
    return (_VARIANT.sub("", task), own_id)


def is_sound(rpts: float, threshold: float = RIGHT_REASON) -> bool:
    """Whether the reasoning counts as sound; what rounding alone keeps below the mark is not."""
    return round(rpts, 9) >= threshold


def _number_of_clue(value: object) -> int | None:
    """The number of a clue, which may be as large as a model wrote it."""
    if value is None or (type(value) is int and 0 <= value < 100**MAX_DIGITS):
        return value
    raise FieldError(f"should be a whole number or null, not {shown(value)}")


def _clue(value: object) -> Clue:
    if isinstance(value, Clue):
        return value
    if isinstance(value, list | tuple) and len(value) == 2 and value[0] in KINDS:
        return Clue(value[0], _number_of_clue(value[1]))
    raise wrong("a pair of kind and number", value)


def _own_id(value: object) -> object:
    if isinstance(value, list | dict):
        raise wrong("a text or a number", value)
    return own_id(value)


def own_id(value: object) -> str | int | float | None:
    """The id of a document, of whatever type, as a record holds it."""
    if value is None or type(value) is bool or (type(value) is int and abs(value) < 2**63):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    return storable(shown(value) if isinstance(value, int | float) else as_text(value))


def _focus_height(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _HIGHEST:
        raise wrong(f"a whole number of at most {_HIGHEST}", value)
    return value


ClueField = Annotated[
    Clue,
    PlainValidator(_clue),
    PlainSerializer(lambda clue: [clue.kind, clue.index]),
    Described("[kind, number]"),
]
ClueNumber = Annotated[
    int | None, PlainValidator(_number_of_clue), Described("whole number or null")
]
OwnId = Annotated[Any, PlainValidator(_own_id), Described("text or number")]
FocusHeight = Annotated[int, PlainValidator(_focus_height), Described("whole number")]


class Answer(Model):
    """The final answer."""

    value: Text | None = Field(
        description="agree, disagree or undetermined; of another question what was found; null if "
        "the judge that should say failed"
    )
    by: AnswerBy = Field(description="who said so")
    correct: Flag | None = Field(description="whether it is right; null if nobody can say")
    error: Text | None = Field(description="why there is no answer, or no `correct`")


class FirstError(Model):
    """The first step below 0.5 that the root rests on."""

    step: Whole = Field(description="its number")
    height: Whole = Field(description="its height in the tree")
    modality: Modality = Field(description="what it concludes from")
    score: Share = Field(description="its score")
    path: Several[Whole] = Field(description="the steps from it to the root, itself first")
    invalid: Several[ClueField] = Field(description="its references to clues that do not exist")


class JudgedStep(Model):
    """A step and its score."""

    premises: Several[ClueField] = Field(description="the clues that it cites")
    conclusion: Text = Field(description="what it concludes")
    height: Whole = Field(description="1 + the greatest height of its premises; a leaf has 0")
    counts: Flag = Field(description="whether the root rests on it: others do not enter the score")
    modality: Modality = Field(description="what it concludes from")
    score: Share | None = Field(description="its score; null if the judge failed")
    note: Text | None = Field(description="why it needed no judge")
    questions: Several[Question] = Field(description="what the judge was asked, in order")


class JudgedRoot(Model):
    """Whether the last conclusion entails the answer that was given."""

    score: Share | None = Field(description="from 0 to 1; null if the judge failed")
    note: Text | None = Field(description="why it needed no judge")
    questions: Several[Question] = Field(description="what the judge was asked")


class RecordedDiagnosis(Model):
    """What the chain is made of."""

    restating: Several[Whole] = Field(
        description="steps that say no more than a clue, the context or a conclusion that they cite"
    )
    needed: Several[ClueField] = Field(
        description="the images and textual clues that the gold reasoning rests on; without one, "
        "all that are given"
    )
    used: Several[ClueField] = Field(description="those of them that the root rests on")
    coverage: Share = Field(description="their share; 1 where none is needed")
    missing: Whole = Field(description="references that lead nowhere")
    heaviest: Share = Field(description="share of the weight of `rpts` that one step has, at most")
    most_uses: Whole = Field(description="how often `rpts` counts one step, at most")

    @classmethod
    def of(cls, found: Diagnosis) -> RecordedDiagnosis:
        """As a record holds it."""
        return cls(
            restating=tuple(sorted(found.restating)),
            needed=tuple(sorted(found.needed, key=_place_of)),
            used=tuple(sorted(found.used, key=_place_of)),
            coverage=found.coverage,
            missing=found.missing,
            heaviest=min(1.0, found.heaviest),
            most_uses=min(found.most_uses, _MOST_USES),
        )


def _place_of(clue: Clue) -> tuple[str, int]:
    return clue.kind, clue.index or 0


class Fault(Model):
    """A premise that names nothing."""

    step: Whole = Field(description="the number of the step that cites it")
    kind: ClueKind = Field(description="its kind")
    index: ClueNumber = Field(description="its number, where the text gave one")
    reason: Text = Field(description="why it names nothing")

    def reference(self) -> InvalidReference:
        """The reference in the reasoning tree."""
        return InvalidReference(self.step, Clue(self.kind, self.index), self.reason)


class Transform(Model):
    """How the response was parsed into steps."""

    read_by: ReadBy = Field(description="rules or a judge; `nothing` where there was no text")
    style: Text = Field(description="how the model wrote its steps, as the rules see it")
    source: ReasoningSource = Field(description="which part of the response was parsed")
    chain: Several[Text] = Field(description="the steps as parsed, before repair")
    problems: Several[Text] = Field(description="what could not be parsed")
    reply: Text | None = Field(description="the judge's reply, where it was asked for the steps")
    error: Text | None = Field(description="why there are no steps, where the judge failed")


class RptsInstance(Asked):
    """The document without its images."""

    own_id: OwnId = Field(alias="id", description="its own id")
    language: Language = Field(description="its language")
    ability: Several[Text] = Field(description="the abilities that it tests")
    relation: Text | None = Field(
        description="guided, adversarial or independent; null where the data do not say (the "
        "release of RPTS-Eval does not)"
    )
    statement: Text = Field(description="the statement to agree or disagree with")
    context: Text = Field(description="the context")
    textual_clue: Several[Text] = Field(description="the textual clues")
    visual_clue: Several[Text] = Field(description="the file names of the images")
    reasoning: Several[Text] = Field(description="the gold reasoning, one step per line")
    answer: Text = Field(description="the gold answer")

    @property
    def id(self) -> str:
        """Its own id as text; its number in the data where it has none."""
        if self.own_id is None:
            return str(self.doc_id)
        return self.own_id if isinstance(self.own_id, str) else shown(self.own_id)

    @property
    def cluster(self) -> tuple[str, str]:
        """What it shares with its translation."""
        return cluster_of(self.task, self.id)


class Scoring(Model):
    """All that the score depends on beside the response."""

    judge: Text = Field(description="the judge")
    comparable: Flag = Field(description="false for the lexical judge")
    decay: Share = Field(description="decay of the weights")
    focus_height: FocusHeight = Field(description="height at which the weight is 1")
    prompt_version: Text = Field(description="version of the judge's prompts")
    # Records of before there were several samples do not say: there was one, at 0.
    judge_samples: Whole = Field(default=1, description="replies per question")
    temperature: Number = Field(default=0.0, description="sampling temperature of the judge")


class RptsRecord(Record):
    """The record of a response that RPTS scored."""

    SCHEMA: ClassVar[str] = "lmms_rpts.rpts"
    SCORE: ClassVar[str] = "rpts"
    BENCHMARK: ClassVar[str] = "RPTS"
    FILTER: ClassVar[str] = "rpts_aggregate"
    AGAIN: ClassVar[str] = "score the responses again (lmms-rpts score)"
    READERS: ClassVar[str] = "lmms-rpts summarize, report, compare, sweep and export read them"

    rpts: Share | None = Field(description="the Reasoning Process Tree Score; null if unscored")
    # Records of before the guarded score have none of the next three.
    guarded: Share | None = Field(
        default=None,
        description="the guarded score; null if unscored, or if nobody said whether the root bears "
        "on the answer",
    )
    root: JudgedRoot | None = Field(
        default=None,
        description="whether the root bears on the answer; null without root or answer",
    )
    diagnosis: RecordedDiagnosis | None = Field(
        default=None, description="what the chain is made of"
    )
    answer: Answer = Field(description="the final answer")
    first_error: FirstError | None = Field(
        description="the first step below 0.5 that the root rests on; null if there is none"
    )
    chain: Several[Text] = Field(
        description='the repaired steps as text; step k concludes "Conclusion k"'
    )
    steps: Several[JudgedStep] = Field(description="each step with its score")
    invalid_references: Several[Fault] = Field(
        description="premises that name nothing; they count as leaves without evidence"
    )
    transform: Transform = Field(description="how the response was parsed into steps")
    instance: RptsInstance = Field(description="the document without its images")
    settings: Scoring = Field(description="all that the score depends on beside the response")

    @model_validator(mode="after")
    def _fits_together(self) -> RptsRecord:
        count = len(self.steps)
        if len(self.chain) != count:
            raise FieldError(
                f"the chain has {len(self.chain)} steps, but {count} stand under steps"
            )
        if self.rpts is not None and any(step.score is None for step in self.steps):
            raise FieldError("the record has an RPTS, but a step without a score")
        for at, fault in enumerate(self.invalid_references):
            if fault.step >= count:
                raise FieldError(f"invalid_references[{at}] names a step that there is not")
        error = self.first_error
        if error is not None and not all(at < count for at in (error.step, *error.path)):
            raise FieldError("first_error names a step that there is not")
        return self

    def tree(self) -> ReasoningTree:
        """The tree of its steps."""
        steps = tuple(Step(step.premises, step.conclusion) for step in self.steps)
        chain = ReasoningChain(steps, self.instance.language)
        return build_tree(chain, len(self.instance.visual_clue), len(self.instance.textual_clue))

    @cached_property
    def diagnosed(self) -> Diagnosis:
        """What the chain is made of; computed anew, so that old records have it as well."""
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
        """The guarded score, computed; None where a score, or the root's, is missing."""
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
        """The values that enter lmms-eval's means, by the names of its metrics.

        A record without a score has no ``rpts*`` values, a wrong answer no
        ``right_for_wrong_reason``, and a chain without a step of some modality no mean of them.
        """
        rpts, correct = self.rpts, self.answer.correct
        known = rpts is not None and correct is not None
        sound = rpts is not None and is_sound(rpts)
        guarded = self.guarded
        guarded_known = guarded is not None and correct is not None
        guarded_sound = guarded is not None and is_sound(guarded)
        return {
            "rpts": rpts,
            "accuracy": None if correct is None else float(correct),
            "accuracy_rpts": float(bool(correct) and sound) if known else None,
            "rpts_visual": self._mean_of_steps("visual"),
            "rpts_textual": self._mean_of_steps("textual"),
            "right_for_wrong_reason": float(not sound) if known and correct else None,
            "parse_rate": None if self.transform.error else float(bool(self.chain)),
            "judge_coverage": float(rpts is not None),
            "rpts_guarded": guarded,
            "accuracy_guarded": float(bool(correct) and guarded_sound) if guarded_known else None,
            "right_for_wrong_reason_guarded": (
                float(not guarded_sound) if guarded_known and correct else None
            ),
            "root_bears": None if self.root is None else self.root.score,
            **self._made_of(),
        }

    def _made_of(self) -> dict[str, float | None]:
        """The diagnosis as numbers; none where there is no chain to look at."""
        steps = len(self.steps)
        if self.transform.error or not steps:
            return dict.fromkeys(DIAGNOSTICS) | {"steps": None if self.transform.error else 0.0}
        found = self.diagnosed
        return {
            "evidence_coverage": found.coverage,
            "restating_steps": len(found.restating) / steps,
            "missing_references": float(found.missing),
            "heaviest_step": min(1.0, found.heaviest),
            "steps": float(steps),
        }

    def _mean_of_steps(self, modality: Modality) -> float | None:
        scores = [step.score for step in self.steps if step.modality == modality]
        there = [score for score in scores if score is not None]
        return sum(there) / len(there) if there and self.rpts is not None else None

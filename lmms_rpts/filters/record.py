"""The record of a response scored by RPTS: filled by the filters, read by all commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.schema import (
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
from lmms_rpts.filters.documents import STANCES, as_text
from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.reasoning import (
    Clue,
    InvalidReference,
    ReasoningChain,
    ReasoningTree,
    Step,
    build_tree,
)
from lmms_rpts.reasoning.clues import KINDS, ClueKind, Evidence, Language
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.reasoning.tree import Modality
from lmms_rpts.runs.record import Asked, Called, Record, is_none

_VARIANT = re.compile(r"_(?:en|zh|free)(?=_|$)")
_ABILITIES = {
    "识别": "Recognition",
    "常识": "Commonsense",
    "空间感知": "Spatial awareness",
    "数学": "Math",
    "比较图像": "Compare images",
}
"""English names of the abilities in the Chinese texts of RPTS-Eval."""


def cluster_of(task: str, own_id: str) -> tuple[str, str]:
    """Key that a document shares with its translation: both have the same images and answer."""
    return (_family(task), own_id)


@cache  # asked for each response and metric
def _family(task: str) -> str:
    return _VARIANT.sub("", task)


def _number_of_clue(value: object) -> int | None:
    """The number of a clue; models may write numbers of many digits."""
    if value is None or (type(value) is int and value >= 0):
        return value
    raise FieldError(f"should be a whole number or null, not {shown(value)}")


def _clue(value: object) -> Clue:
    if isinstance(value, Clue):
        return value
    if isinstance(value, list | tuple) and len(value) == 2 and value[0] in KINDS:
        return Clue(value[0], _number_of_clue(value[1]))
    raise wrong("a pair of kind and number", value)


def _own_id(value: object) -> str | int | float | None:
    """The id of a document as it is stored in a record, for ids of any type."""
    if isinstance(value, int | float):
        return value if abs(value) < 2**63 else shown(value)  # NaN is not
    return None if value is None else storable(as_text(value))


ReadBy = Literal["rule", "llm", "nothing"]
Kind = Literal["image", "inference", "second"]
ClueField = Annotated[
    Clue,
    PlainValidator(_clue),
    PlainSerializer(lambda clue: [clue.kind, clue.index]),
    WithJsonSchema({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
]
ClueNumber = Annotated[
    int | None, PlainValidator(_number_of_clue), WithJsonSchema({"type": ["integer", "null"]})
]
OwnId = Annotated[
    Any, PlainValidator(_own_id), WithJsonSchema({"type": ["string", "number", "null"]})
]


class Answer(Called):
    """The final answer."""

    value: Text | None = Field(
        description="agree, disagree or undetermined (none is stated, or it takes no side); for "
        "other questions the answer that was found; null if one is stated, but could not be read"
    )
    by: Literal["rule", "judge", "function", "task"] = Field(
        default="rule", description="what determined the answer"
    )
    correct: Flag | None = Field(description="whether it is right; null if this can't be decided")
    error: Text | None = Field(
        default=None, description="why there is no answer, or why `correct` is null"
    )
    reply: Text | None = Field(
        default=None,
        description="the judge's complete reply; omitted if it was not asked for the answer",
        exclude_if=is_none,
    )


class FirstError(Model):
    """The first step below 0.5 that the root depends on."""

    step: Whole = Field(description="number of the step")
    height: Whole = Field(description="height of the step in the tree")
    modality: Modality = Field(description="kind of the step's premises")
    score: Share = Field(description="score of the step")
    path: Several[Whole] = Field(description="the steps from it to the root, starting with itself")
    invalid: Several[ClueField] = Field(
        description="its references to evidence or steps that do not exist"
    )


class Question(Called):
    """One question to the judge, and its reply."""

    kind: Kind = Field(
        description="`image`: claim about an image; `inference`: whether the conclusion "
        "follows; `second`: the same with more premises, after a score below 0.5"
    )
    evidence: Several[Text] = Field(default=(), description="facts or premises given to the judge")
    score: Share | None = Field(description="the score; null if there is none")
    reply: Text | None = Field(default=None, description="the judge's complete reply")
    error: Text | None = Field(default=None, description="why there is no score")
    images: Several[Whole] = Field(
        default=(),
        description="numbers of the images shown to the judge; omitted if none",
        exclude_if=lambda images: not images,
    )


class JudgedStep(Model):
    """A step and its score."""

    premises: Several[ClueField] = Field(description="the evidence and steps that the step cites")
    conclusion: Text = Field(description="the conclusion of the step")
    height: Whole = Field(description="1 + the largest height of its premises; a leaf has 0")
    counts: Flag = Field(
        description="whether the root depends on the step; other steps do not enter the score"
    )
    modality: Modality = Field(description="kind of the step's premises")
    score: Share | None = Field(description="score of the step; null if the judge failed")
    note: Text | None = Field(
        default=None, description="reason if the step was scored without a judge"
    )
    questions: Several[Question] = Field(
        default=(), description="the questions to the judge, in order"
    )


class Diagnosis(Model):
    """What the chain uses and repeats; it does not enter the score."""

    restating: Several[Whole] = Field(
        description="steps that only restate a textual clue, the context, or a conclusion that"
        " they cite"
    )
    needed: Several[ClueField] = Field(
        description="the images and textual clues that the gold reasoning depends on; without "
        "gold reasoning, all that are given"
    )
    used: Several[ClueField] = Field(description="the part of `needed` that the root depends on")
    coverage: Share = Field(description="share of `needed` that is used; 1 if none is needed")


class Fault(Model):
    """A premise that cites nothing that exists."""

    step: Whole = Field(description="number of the step that contains the reference")
    kind: ClueKind = Field(description="kind of the reference")
    index: ClueNumber = Field(description="number in the reference, if the text has one")
    reason: Text = Field(description="why it is invalid")

    def reference(self) -> InvalidReference:
        """The reference in the reasoning tree."""
        return InvalidReference(self.step, Clue(self.kind, self.index), self.reason)


class Transform(Called):
    """How the response was parsed into steps."""

    read_by: ReadBy = Field(
        description="what parsed the steps: rules or a judge; `nothing` if there was no text"
    )
    style: Text = Field(description="format of the steps, as detected by the rules")
    source: ReasoningSource = Field(description="which part of the response was parsed")
    chain: Several[Text] = Field(default=(), description="the steps as parsed, before repair")
    problems: Several[Text] = Field(default=(), description="problems found while parsing")
    reply: Text | None = Field(
        default=None, description="the judge's reply, if it was asked for the steps"
    )
    error: Text | None = Field(
        default=None, description="why there are no steps, if the judge failed"
    )


class RptsInstance(Asked):
    """The document without its images."""

    own_id: OwnId = Field(alias="id", description="id of the document in the data")
    language: Language = Field(description="language of the document")
    ability: Several[Text] = Field(description="abilities that the document tests")
    relation: Text | None = Field(
        description="guided, adversarial or independent; null if the data do not give it (the "
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
        """The id in the data as text; else the document's number in the data."""
        if self.own_id is None:
            return str(self.key[1])
        return self.own_id if isinstance(self.own_id, str) else shown(self.own_id)

    @property
    def abilities(self) -> tuple[str, ...]:
        """The abilities, in English if RPTS-Eval names them in both languages."""
        return tuple(dict.fromkeys(_ABILITIES.get(name, name) for name in self.ability))

    @property
    def is_statement(self) -> bool:
        """Whether models were asked to agree or disagree, rather than asked a question."""
        return self.answer in STANCES

    @property
    def cluster(self) -> tuple[str, str]:
        """Key that the document shares with its translation."""
        return cluster_of(self.task, self.id)


class Scoring(Model):
    """Everything except the response that the score depends on."""

    judge: Text = Field(description="the judge")
    comparable: Flag = Field(description="false for the lexical judge")
    decay: Share = Field(description="setting `decay`: decay of the weights")
    focus_height: Whole = Field(
        description="setting `focus_height`: height at which the weight is 1"
    )
    prompt_version: Text = Field(description="version of the judge's prompts")
    temperature: Number = Field(default=0.0, description="sampling temperature of the judge")
    source: Literal["answer", "thinking"] = Field(
        default="answer",
        description="setting `source`: what was scored; omitted for the visible answer",
        exclude_if=lambda source: source == "answer",
    )
    evidence: Evidence = Field(
        default="facts",
        description="evidence for claims about images; omitted for `facts`",
        exclude_if=lambda evidence: evidence == "facts",
    )


MODALITIES: tuple[Modality, ...] = get_args(Modality)


class RptsRecord(Record):
    """The record of a response scored by RPTS."""

    SCHEMA: ClassVar[str] = "lmms_rpts.rpts"
    SCORE: ClassVar[str] = "rpts"
    BENCHMARK: ClassVar[str] = "RPTS"
    FILTER: ClassVar[str] = "rpts_aggregate"
    AGAIN: ClassVar[str] = "score the responses again (lmms-rpts score)"

    rpts: Share | None = Field(description="the Reasoning Process Tree Score; null if unscored")
    diagnosis: Diagnosis = Field(
        description="what the chain uses and repeats; it does not enter the score"
    )
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
        error = self.first_error
        places = {
            "invalid_references": [fault.step for fault in self.invalid_references],
            "first_error": [] if error is None else [error.step, *error.path],
        }
        for name, steps in places.items():
            if any(at >= count for at in steps):
                raise FieldError(f"{name} refers to a step that does not exist")
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

    @cached_property
    def metrics(self) -> Mapping[str, float | None]:
        """The values that enter lmms-eval's means, by metric name.

        A record without a score has no ``rpts*`` values, a wrong answer no
        ``right_for_wrong_reason``, and a chain without steps of a modality no mean for it.
        """
        return {name: each.of(self) for name, each in METRICS.items()}

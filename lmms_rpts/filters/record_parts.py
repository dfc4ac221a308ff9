"""Parts of the record of a response scored by RPTS; ``filters.record`` has the whole record."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator

from lmms_rpts.escaping import storable
from lmms_rpts.filters.documents import STANCES, as_text
from lmms_rpts.filters.responses import AnswerBy, Question, ReadBy
from lmms_rpts.reasoning import Clue, Diagnosis, InvalidReference
from lmms_rpts.reasoning.clues import KINDS, ClueKind, Language
from lmms_rpts.reasoning.evidence import Evidence
from lmms_rpts.reasoning.localisation import Modality
from lmms_rpts.reasoning.mentions import MAX_DIGITS
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.record import Asked
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
from lmms_rpts.settings import Jury

_VARIANT = re.compile(r"_(?:en|zh|free)(?=_|$)")
_ABILITIES = {
    "识别": "Recognition",
    "常识": "Commonsense",
    "空间感知": "Spatial awareness",
    "数学": "Math",
    "比较图像": "Compare images",
}
"""English names of the abilities in the Chinese texts of RPTS-Eval."""
_MOST_USES = 2**63 - 1
_CLUE_NUMBERS = 100**MAX_DIGITS
_HIGHEST = 100_000  # time and memory for scoring again are proportional to it


def cluster_of(task: str, own_id: str) -> tuple[str, str]:
    """Key that a document shares with its translation: both have the same images and answer."""
    return (_family(task), own_id)


@cache  # asked for each response and metric
def _family(task: str) -> str:
    return _VARIANT.sub("", task)


def _number_of_clue(value: object) -> int | None:
    """The number of a clue; models may write very large numbers."""
    if value is None or (type(value) is int and 0 <= value < _CLUE_NUMBERS):
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
        raise wrong("a string or a number", value)
    return own_id(value)


def own_id(value: object) -> str | int | float | None:
    """The id of a document as it is stored in a record, for ids of any type."""
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
        description="agree, disagree or undetermined (none is stated, or it takes no side); for "
        "other questions the answer that was found; null if one is stated, but could not be read"
    )
    by: AnswerBy = Field(description="what determined the answer")
    correct: Flag | None = Field(description="whether it is right; null if this can't be decided")
    error: Text | None = Field(description="why there is no answer, or why `correct` is null")


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
    note: Text | None = Field(description="reason if the step was scored without a judge")
    questions: Several[Question] = Field(description="the questions to the judge, in order")


class JudgedRoot(Model):
    """Whether the evidence leads to a last conclusion that settles the question as answered."""

    score: Share | None = Field(
        description="score for whether the evidence leads to a root that settles the question with"
        " this answer; null if the judge failed"
    )
    note: Text | None = Field(description="reason if the root was scored without a judge")
    questions: Several[Question] = Field(description="the questions to the judge")


class RecordedDiagnosis(Model):
    """The diagnosis of the chain."""

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
    missing: Whole = Field(
        description="number of references to evidence or steps that do not exist"
    )
    heaviest: Share = Field(description="share of the heaviest step in the total weight of `rpts`")
    most_uses: Whole = Field(description="largest number of times that `rpts` counts one step")

    @classmethod
    def of(cls, found: Diagnosis) -> RecordedDiagnosis:
        """A diagnosis in the form of a record."""
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
    """A premise that cites nothing that exists."""

    step: Whole = Field(description="number of the step that contains the reference")
    kind: ClueKind = Field(description="kind of the reference")
    index: ClueNumber = Field(description="number in the reference, if the text has one")
    reason: Text = Field(description="why it is invalid")

    def reference(self) -> InvalidReference:
        """The reference in the reasoning tree."""
        return InvalidReference(self.step, Clue(self.kind, self.index), self.reason)


class Transform(Model):
    """How the response was parsed into steps."""

    read_by: ReadBy = Field(
        description="what parsed the steps: rules or a judge; `nothing` if there was no text"
    )
    style: Text = Field(description="format of the steps, as detected by the rules")
    source: ReasoningSource = Field(description="which part of the response was parsed")
    chain: Several[Text] = Field(description="the steps as parsed, before repair")
    problems: Several[Text] = Field(description="problems found while parsing")
    reply: Text | None = Field(description="the judge's reply, if it was asked for the steps")
    error: Text | None = Field(description="why there are no steps, if the judge failed")


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
            return str(self.doc_id)
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
    focus_height: FocusHeight = Field(
        description="setting `focus_height`: height at which the weight is 1"
    )
    prompt_version: Text = Field(description="version of the judge's prompts")
    # Records written before there were several samples lack these: one sample, at temperature 0.
    judge_samples: Whole = Field(default=1, description="replies per question")
    temperature: Number = Field(default=0.0, description="sampling temperature of the judge")
    jury: Jury = Field(
        default="mean",
        description="setting `jury`: how several scores are joined; omitted for `mean`",
        exclude_if=lambda jury: jury == "mean",
    )
    partial_jury: Flag = Field(
        default=False,
        description=(
            "whether a judge gave no score and that of the others counts: not comparable with "
            "full juries; omitted if false"
        ),
        exclude_if=lambda partial: not partial,
    )
    evidence: Evidence = Field(
        default="facts",
        description="evidence for claims about images; omitted for `facts`",
        exclude_if=lambda evidence: evidence == "facts",
    )

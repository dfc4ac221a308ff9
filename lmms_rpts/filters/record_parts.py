"""Parts of the record of a response that RPTS scored; ``filters.record`` has the whole."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator

from lmms_rpts.escaping import storable
from lmms_rpts.filters.documents import STANCES, as_text
from lmms_rpts.filters.responses import AnswerBy, Question, ReadBy
from lmms_rpts.reasoning import Clue, Diagnosis, InvalidReference
from lmms_rpts.reasoning.clues import KINDS, ClueKind, Language
from lmms_rpts.reasoning.localisation import Modality
from lmms_rpts.reasoning.mentions import MAX_DIGITS
from lmms_rpts.reasoning.planning import Evidence
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

_VARIANT = re.compile(r"_(?:en|zh|free)(?=_|$)")
_ABILITIES = {
    "识别": "Recognition",
    "常识": "Commonsense",
    "空间感知": "Spatial awareness",
    "数学": "Math",
    "比较图像": "Compare images",
}
"""What the Chinese texts of RPTS-Eval call the abilities."""
_MOST_USES = 2**63 - 1
_HIGHEST = 100_000  # scoring again takes time and memory in proportion to it


def cluster_of(task: str, own_id: str) -> tuple[str, str]:
    """What a document shares with its translation: both have the same images and answer."""
    return (_VARIANT.sub("", task), own_id)


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
    def abilities(self) -> tuple[str, ...]:
        """The abilities, in English where RPTS-Eval names them in both languages."""
        return tuple(dict.fromkeys(_ABILITIES.get(name, name) for name in self.ability))

    @property
    def is_statement(self) -> bool:
        """Whether models were asked to agree or disagree; others were asked a question."""
        return self.answer in STANCES

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
    evidence: Evidence = Field(
        default="facts",
        description="what claims about images were judged by: facts, image or both; left out for "
        "facts",
        exclude_if=lambda evidence: evidence == "facts",
    )

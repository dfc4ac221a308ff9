"""Records of RPTS in samples: typed, and checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from lmms_rpts.filters.aggregate import SCHEMA, SCHEMA_VERSION
from lmms_rpts.filters.records import Question
from lmms_rpts.reasoning import (
    Clue,
    InvalidReference,
    ReasoningChain,
    ReasoningTree,
    Step,
    StepError,
    build_tree,
)
from lmms_rpts.reasoning.clues import KINDS, LANGUAGES, Language
from lmms_rpts.reasoning.localisation import Modality
from lmms_rpts.runs.fields import FieldError, Fields, ForeignError, shown
from lmms_rpts.tasks.rpts_eval.documents import cluster_of
from lmms_rpts.tasks.rpts_eval.record_questions import read_number, read_premise, read_question
from lmms_rpts.tasks.rpts_eval.results import metrics_of

MODALITIES: tuple[Modality, ...] = get_args(Modality)
_HIGHEST = 100_000  # scoring again takes time and memory in proportion to it


@dataclass(frozen=True, slots=True)
class Instance:
    """What was asked: a document without its images.

    Attributes:
        task: the task it belongs to.
        doc_id: its number in the task's data, from 0.
        id: its own name, as text.
        visual_clue: the names of its images.
        reasoning: the gold reasoning, a step a line.
        answer: the gold answer.
    """

    task: str
    doc_id: int
    id: str
    language: Language
    ability: tuple[str, ...]
    relation: str | None
    statement: str
    context: str
    textual_clue: tuple[str, ...]
    visual_clue: tuple[str, ...]
    reasoning: tuple[str, ...]
    answer: str

    @property
    def cluster(self) -> tuple[str, str]:
        """What it shares with its translation, which has the same images and the same answer."""
        return cluster_of(self.task, self.id)

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from all others of a run."""
        return (self.task, self.doc_id)


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step and what the judge made of it; ``docs/record.md`` names the fields."""

    premises: tuple[Clue, ...]
    conclusion: str
    height: int
    counts: bool
    modality: Modality
    score: float | None
    note: str | None
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the free text was read into steps."""

    read_by: str
    style: str
    source: str
    problems: tuple[str, ...]
    reply: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Scoring:
    """The settings that a score depends on."""

    judge: str
    comparable: bool
    prompt_version: str
    judge_samples: int
    temperature: float
    decay: float
    focus_height: int


@dataclass(frozen=True, slots=True)
class Response:
    """One response of a model to one instance.

    Attributes:
        repeat: its number among the responses to the instance, from 0.
        text: what the model wrote; None where the file doesn't hold it.
        rpts: in [0, 1]; None if it could not be scored: ``reason`` says why.
        answer: agree or disagree, of a maths problem what was found, or undetermined; None if it
            could not be told. ``correct`` may be None beside an answer.
        chain: the repaired steps, written out.
        metrics: the values that enter lmms-eval's means, None where there is none.
        tokens: tokens that the model wrote, where it reported them.
    """

    instance: Instance
    repeat: int
    text: str | None
    rpts: float | None
    reason: str | None
    answer: str | None
    answer_by: str
    answer_error: str | None
    correct: bool | None
    first_error: StepError | None
    chain: tuple[str, ...]
    steps: tuple[JudgedStep, ...]
    invalid: tuple[InvalidReference, ...]
    reading: Reading
    scoring: Scoring
    metrics: Mapping[str, float | None]
    tokens: int | None

    def tree(self) -> ReasoningTree:
        """The tree of its steps."""
        steps = tuple(Step(step.premises, step.conclusion) for step in self.steps)
        chain = ReasoningChain(steps, self.instance.language)
        return build_tree(chain, len(self.instance.visual_clue), len(self.instance.textual_clue))


def is_record(value: object) -> bool:
    """Whether a value may be a record of ours, of whatever version."""
    return isinstance(value, dict) and value.get("schema") == SCHEMA


def parse_response(
    value: object,
    *,
    task: str,
    doc_id: int,
    repeat: int = 0,
    text: str | None = None,
    tokens: int | None = None,
) -> Response:
    """Read one record of ``rpts_aggregate``.

    Raises:
        FieldError: naming what is wrong.
    """
    record = Fields(Fields.of(value, "the record").values)
    _check_schema(record)
    answer, scored = record.part("answer"), record.choice("outcome", ("scored", "unscored"))
    steps = tuple(_step(part) for part in record.parts("steps"))
    chain = record.texts("chain")
    if len(chain) != len(steps):
        raise FieldError(f"the chain has {len(chain)} steps, but {len(steps)} stand under steps")
    invalid = tuple(_fault(part, len(steps)) for part in record.parts("invalid_references"))
    rpts = record.share("rpts") if scored == "scored" else None
    if rpts is not None and any(step.score is None for step in steps):
        raise FieldError("the record has an RPTS, but a step without a score")
    return Response(
        instance=_instance(record.part("instance"), task, doc_id),
        repeat=repeat,
        text=text,
        rpts=rpts,
        reason=record.text_or_none("reason"),
        answer=answer.text_or_none("value"),
        answer_by=answer.text("by"),
        answer_error=answer.text_or_none("error"),
        correct=answer.flag_or_none("correct"),
        first_error=_first_error(record, len(steps), invalid),
        chain=chain,
        steps=steps,
        invalid=invalid,
        reading=_reading(record.part("transform")),
        scoring=_scoring(record.part("settings")),
        metrics=metrics_of({**record.values, "rpts": rpts}),
        tokens=tokens,
    )


def _check_schema(record: Fields) -> None:
    if not is_record(record.values):
        raise FieldError("it was not scored by rpts_aggregate (no schema lmms_rpts.rpts)")
    version = record.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise ForeignError(
            f"it was written with schema version {shown(version)}, and this lmms-rpts reads "
            f"version {SCHEMA_VERSION}: use the lmms-rpts that wrote it, or score the responses "
            "again (lmms-rpts score)"
        )


def _instance(part: Fields, task: str, doc_id: int) -> Instance:
    return Instance(
        task=task,
        doc_id=doc_id,
        id=_own_id(part, doc_id),
        language=part.choice("language", LANGUAGES),
        ability=part.texts("ability"),
        relation=part.text_or_none("relation"),
        statement=part.text("statement"),
        context=part.text("context"),
        textual_clue=part.texts("textual_clue"),
        visual_clue=part.texts("visual_clue"),
        reasoning=part.texts("reasoning"),
        answer=part.text("answer"),
    )


def _own_id(part: Fields, doc_id: int) -> str:
    value = part.get("id")
    if isinstance(value, str):
        return part.text("id")
    if isinstance(value, list | dict):
        raise FieldError(f"{part.place}.id should be a text or a number, not {shown(value)}")
    return str(doc_id) if value is None else shown(value)


def _step(part: Fields) -> JudgedStep:
    return JudgedStep(
        premises=tuple(read_premise(item, part) for item in part.items("premises")),
        conclusion=part.text("conclusion"),
        height=part.whole("height"),
        counts=part.flag("counts"),
        modality=part.choice("modality", MODALITIES),
        score=part.share_or_none("score"),
        note=part.text_or_none("note"),
        questions=tuple(read_question(each) for each in part.parts("questions")),
    )


def _first_error(
    record: Fields, steps: int, invalid: tuple[InvalidReference, ...]
) -> StepError | None:
    if record.get("first_error") is None:
        return None
    part = record.part("first_error")
    step, path = part.whole("step"), part.items("path")
    if not all(type(each) is int and 0 <= each < steps for each in (step, *path)):
        raise FieldError("first_error names a step that there is not")
    return StepError(
        step=step,
        height=part.whole("height"),
        modality=part.choice("modality", MODALITIES),
        score=part.share("score"),
        path=tuple(path),
        invalid=tuple(fault for fault in invalid if fault.step == step),
    )


def _fault(part: Fields, steps: int) -> InvalidReference:
    step, kind = part.whole("step"), part.choice("kind", KINDS)
    if step >= steps:
        raise FieldError(f"{part.place} names a step that there is not")
    clue = Clue(kind, read_number(part.get("index"), f"{part.place}.index"))
    return InvalidReference(step, clue, part.text("reason"))


def _reading(part: Fields) -> Reading:
    return Reading(
        read_by=part.text("read_by"),
        style=part.text("style"),
        source=part.text("source"),
        problems=part.texts("problems"),
        reply=part.text_or_none("reply"),
        error=part.text_or_none("error"),
    )


def _scoring(part: Fields) -> Scoring:
    focus_height = part.whole("focus_height")
    if focus_height > _HIGHEST:
        raise FieldError(f"{part.place}.focus_height should be at most {_HIGHEST}")
    return Scoring(
        judge=part.text("judge"),
        comparable=part.flag("comparable"),
        prompt_version=part.text("prompt_version"),
        # Records of before there were several samples don't say: there was one, at 0.
        judge_samples=part.whole("judge_samples", 1),
        temperature=part.number("temperature", 0.0),
        decay=part.share("decay"),
        focus_height=focus_height,
    )

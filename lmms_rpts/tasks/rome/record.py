"""Records of ROME in samples: typed, and checked field by field."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lmms_rpts.judging.types import storable
from lmms_rpts.runs.fields import FieldError, Fields, check_version
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record_types import RecordType, RunOf
from lmms_rpts.tasks.benchmark import record_types
from lmms_rpts.tasks.rome.filter import SCHEMA, SCHEMA_VERSION
from lmms_rpts.tasks.rome.source_format import SUBTASKS

_AGAIN = "run the task again"


@dataclass(frozen=True, slots=True)
class RomeInstance:
    """What was asked: a question without its images.

    Attributes:
        task: the task it belongs to.
        doc_id: its number in the task's data, from 0.
        id: its own name.
        evaluator_kwargs: the arguments of its grader, as JSON with sorted keys.
        question_type, image_type, image_subtype, reasoning_type: None where the data don't say.
        images: the names of its images.
    """

    task: str
    doc_id: int
    id: str
    subtask: str
    language: str
    question: str
    reference: str
    evaluator: str
    evaluator_kwargs: str
    question_type: str | None
    image_type: str | None
    image_subtype: str | None
    reasoning_type: str | None
    images: tuple[str, ...]

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from all others of a run."""
        return (self.task, self.doc_id)


@dataclass(frozen=True, slots=True)
class RomeGrading:
    """How answers were graded.

    Attributes:
        grader: ``rule``, ``llm`` or ``recommended``, as ROME_GRADER says.
        model: the judge that graded, or told of consistency; None where it was not to be asked,
            as with ``recommended`` in most subtasks.
    """

    grader: str
    model: str | None
    prompt_version: str

    @property
    def judge(self) -> str:
        """Who graded: ``rule`` or the judge."""
        return "rule" if self.grader == "rule" or self.model is None else self.model


@dataclass(frozen=True, slots=True)
class RomeResponse:
    """One answer of a model to one question.

    Attributes:
        repeat: its number among the responses to the question, from 0.
        text: what the model wrote; None where the file doesn't hold it.
        score: the grade that counts, in [0, 1]; None if there is none: ``reason`` says why.
        grader: who gave it.
        rule: the grade by the published rules, in [0, 1]; None where there is no response.
        strict: the grade by ours, in [0, 1], or None.
        llm: the judge's grade, 0 or 1; None where it was not asked, or failed: ``error``.
        answer: what was graded, without the thinking.
        source: where it was found in the response.
        consistent: whether the thinking concludes what the answer says; None where nobody was
            asked, or the judge failed.
        consistency_error: why the judge failed at that.
        tokens: tokens that the model wrote, where it reported them.
    """

    instance: RomeInstance
    repeat: int
    text: str | None
    score: float | None
    reason: str | None
    grader: Literal["rule", "llm"]
    rule: float | None
    strict: float | None
    llm: float | None
    error: str | None
    answer: str
    source: str
    consistent: bool | None
    consistency_error: str | None
    scoring: RomeGrading
    tokens: int | None

    @property
    def disputed_by_strict(self) -> bool:
        """Whether the published rules and ours disagree."""
        return None not in (self.rule, self.strict) and self.rule != self.strict

    @property
    def disputed_by_llm(self) -> bool:
        """Whether the published rules and the judge disagree."""
        return None not in (self.rule, self.llm) and self.rule != self.llm


RomeRun = RunOf[RomeResponse, RomeGrading]
"""The answers of one model in one evaluation of ROME."""


def read_rome_runs(paths: Iterable[str | Path]) -> list[RomeRun]:
    """Read runs of ROME from samples files or folders: as ``read_runs`` does those of RPTS.

    The subtasks of one evaluation are parts of one run.

    Raises:
        RunError: naming the file, the line and the remedy, where something can't be read.
    """
    return read_runs_of(ROME, paths)


def parse_rome_response(
    value: object,
    *,
    task: str,
    doc_id: int,
    repeat: int = 0,
    text: str | None = None,
    tokens: int | None = None,
) -> RomeResponse:
    """Read one record of ``rome_answer``.

    Raises:
        FieldError: naming what is wrong.
    """
    record = Fields(Fields.of(value, "the record").values)
    check_version(record, SCHEMA_VERSION, _AGAIN)
    grades = record.part("grades")
    llm, agreed = grades.part_or_none("llm"), record.part_or_none("consistency")
    scored = record.choice("outcome", ("scored", "unscored")) == "scored"
    return RomeResponse(
        instance=_instance(record.part("instance"), task, doc_id),
        repeat=repeat,
        text=text,
        score=record.share("score") if scored else None,
        reason=record.text_or_none("reason"),
        grader=record.choice("grader", ("rule", "llm")),
        rule=grades.share_or_none("rule"),
        strict=grades.share_or_none("strict"),
        llm=None if llm is None else llm.share_or_none("score"),
        error=None if llm is None else llm.text_or_none("error"),
        answer=record.text("answer"),
        source=record.text("source"),
        consistent=None if agreed is None else agreed.flag_or_none("consistent"),
        consistency_error=None if agreed is None else agreed.text_or_none("error"),
        scoring=_grading(record.part("settings")),
        tokens=tokens,
    )


def _instance(part: Fields, task: str, doc_id: int) -> RomeInstance:
    return RomeInstance(
        task=task,
        doc_id=doc_id,
        id=part.text("id"),
        subtask=part.choice("subtask", SUBTASKS),
        language=part.text("language"),
        question=part.text("question"),
        reference=part.text("reference"),
        evaluator=part.text("evaluator"),
        evaluator_kwargs=_canonical(part.part("evaluator_kwargs")),
        question_type=part.text_or_none("question_type"),
        image_type=part.text_or_none("image_type"),
        image_subtype=part.text_or_none("image_subtype"),
        reasoning_type=part.text_or_none("reasoning_type"),
        images=part.texts("images"),
    )


def _canonical(part: Fields) -> str:
    """An object as text, the same for equal ones."""
    try:
        return storable(json.dumps(part.values, ensure_ascii=False, sort_keys=True))
    except (ValueError, RecursionError):  # a number of 5000 digits; lists a thousand deep
        raise FieldError(f"{part.place} can't be written as JSON again") from None


def _grading(part: Fields) -> RomeGrading:
    return RomeGrading(
        grader=part.text("grader"),
        model=part.text_or_none("judge"),
        prompt_version=part.text("prompt_version"),
    )


def _alike(one: frozenset[RomeGrading], other: frozenset[RomeGrading]) -> bool:
    """Whether the same graders were set; some questions may have been left to rules."""
    graders = [{(each.grader, each.prompt_version) for each in part} for part in (one, other)]
    models = {each.model for each in one | other} - {None}
    return graders[0] == graders[1] and len(models) <= 1


ROME: RecordType[RomeResponse, RomeGrading] = RecordType(
    schema=SCHEMA,
    benchmark="ROME",
    task="a ROME task",
    filter="rome_answer",
    again=_AGAIN,
    readers="lmms-rpts rome summarises them",
    parse=parse_rome_response,
    alike=_alike,
    others=record_types,
)
"""Records of ``rome_answer``."""

"""Records of CMMaTH in samples: typed, and checked field by field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lmms_rpts.judging.parsers.verdicts import Mistake
from lmms_rpts.runs.fields import Fields, check_version
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record_types import RecordType, RunOf
from lmms_rpts.tasks.benchmark import record_types
from lmms_rpts.tasks.cmmath.filter import SCHEMA, SCHEMA_VERSION
from lmms_rpts.tasks.cmmath.knowledge import Point, knowledge_points

MISTAKES: tuple[Mistake, ...] = get_args(Mistake)
"""The kinds of mistakes that a judge tells apart."""

_AGAIN = "run the task again"
_OUTCOMES = ("correct", "incorrect", "undecided")


@dataclass(frozen=True, slots=True)
class CmmathInstance:
    """What was asked: a problem without its images.

    Attributes:
        task: the task it belongs to, which says how it was asked.
        doc_id: its number in the task's data, from 0.
        id: its own name, the same in all tasks.
        form: what is asked: ``choice``, ``blank``, ``parts`` or ``open``.
        category: what kind of picture it has; None where the data don't say.
        grade_id, grade_group: the school year and the school, as published; None as above.
        points: the knowledge points that it needs; none where the data don't say.
        images: the names of its images.
    """

    task: str
    doc_id: int
    id: str
    question: str
    reference: str
    form: str
    category: str | None
    grade_id: int | None
    grade_group: int | None
    points: tuple[Point, ...]
    images: tuple[str, ...]

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from all others of a run."""
        return (self.task, self.doc_id)


@dataclass(frozen=True, slots=True)
class CmmathGrading:
    """How answers were graded.

    Attributes:
        grader: ``rule``, ``judge`` or ``both``, as CMMATH_GRADER says.
        model: the judge that graded; None where none was to, whoever tells kinds of mistakes.
    """

    grader: str
    model: str | None
    prompt_version: str
    rules_version: str

    @property
    def judge(self) -> str:
        """Who graded: ``rule``, the judge, or ``rule`` and the judge."""
        if self.grader == "rule":
            return "rule"
        judge = self.model or "no judge"
        return judge if self.grader == "judge" else f"rule+{judge}"


@dataclass(frozen=True, slots=True)
class CmmathResponse:
    """One answer of a model to one problem.

    Attributes:
        repeat: its number among the responses to the problem, from 0.
        text: what the model wrote; None where the file doesn't hold it.
        score: the grade that counts, 1 or 0; None if there is none: ``reason`` says why.
        grader: who gave it; None where nobody did.
        outcome: the grade by rules; None where there is no response.
        rule: which rule gave it, or why none could.
        found: the final answer as the rules read it; empty where they found none.
        judged: the judge's grade, 1 or 0; None where it was not asked, or failed: ``error``.
        answer_type: the type of the reference, as the rules see it.
        answer: what was graded, without the thinking.
        source: where it was found in the response.
        mistake: what kind of mistake it holds; None where nobody was asked, or the judge failed.
        mistake_error: why the judge failed at that.
        tokens: tokens that the model wrote, where it reported them.
    """

    instance: CmmathInstance
    repeat: int
    text: str | None
    score: float | None
    reason: str | None
    grader: Literal["rule", "judge"] | None
    outcome: Literal["correct", "incorrect", "undecided"] | None
    rule: str
    found: str
    judged: float | None
    error: str | None
    answer_type: str
    answer: str
    source: str
    mistake: Mistake | None
    mistake_error: str | None
    scoring: CmmathGrading
    tokens: int | None

    @property
    def ruled(self) -> float | None:
        """The grade by rules, 1 or 0; None where they have none."""
        return {"correct": 1.0, "incorrect": 0.0}.get(self.outcome or "")

    @property
    def undecided(self) -> bool | None:
        """Whether the rules left it undecided; None where there is no response."""
        return None if self.outcome is None else self.outcome == "undecided"

    @property
    def disputed(self) -> bool:
        """Whether the rules and the judge disagree."""
        return None not in (self.ruled, self.judged) and self.ruled != self.judged


CmmathRun = RunOf[CmmathResponse, CmmathGrading]
"""The answers of one model in one evaluation of CMMaTH."""


def read_cmmath_runs(paths: Iterable[str | Path]) -> list[CmmathRun]:
    """Read runs of CMMaTH from samples files or folders: as ``read_runs`` does those of RPTS.

    The tasks of one evaluation are parts of one run: the same problems, asked in other ways.

    Raises:
        RunError: naming the file, the line and the remedy, where something can't be read.
    """
    return read_runs_of(CMMATH, paths)


def parse_cmmath_response(
    value: object,
    *,
    task: str,
    doc_id: int,
    repeat: int = 0,
    text: str | None = None,
    tokens: int | None = None,
) -> CmmathResponse:
    """Read one record of ``cmmath_grade``.

    Raises:
        FieldError: naming what is wrong.
    """
    record = Fields(Fields.of(value, "the record").values)
    check_version(record, SCHEMA_VERSION, _AGAIN)
    grades = record.part("grades")
    rule, judge = grades.part_or_none("rule"), grades.part_or_none("judge")
    mistake = record.part_or_none("mistake")
    scored = record.choice("outcome", ("scored", "unscored")) == "scored"
    return CmmathResponse(
        instance=_instance(record.part("instance"), task, doc_id),
        repeat=repeat,
        text=text,
        score=record.share("score") if scored else None,
        reason=record.text_or_none("reason"),
        grader=record.choice_or_none("grader", ("rule", "judge")),
        outcome=None if rule is None else rule.choice("outcome", _OUTCOMES),
        rule="" if rule is None else rule.text("rule"),
        found="" if rule is None else rule.text("answer"),
        judged=None if judge is None else judge.share_or_none("score"),
        error=None if judge is None else judge.text_or_none("error"),
        answer_type=record.text("answer_type"),
        answer=record.text("answer"),
        source=record.text("source"),
        mistake=None if mistake is None else mistake.choice_or_none("kind", MISTAKES),
        mistake_error=None if mistake is None else mistake.text_or_none("error"),
        scoring=_grading(record.part("settings")),
        tokens=tokens,
    )


def _instance(part: Fields, task: str, doc_id: int) -> CmmathInstance:
    return CmmathInstance(
        task=task,
        doc_id=doc_id,
        id=part.text("id"),
        question=part.text("question"),
        reference=part.text("reference"),
        form=part.text("form"),
        category=part.text_or_none("category"),
        grade_id=part.whole_or_none("grade_id"),
        grade_group=part.whole_or_none("grade_group"),
        points=knowledge_points(part.text_or_none("knowledge_point")),
        images=part.texts("images"),
    )


def _grading(part: Fields) -> CmmathGrading:
    grader = part.choice("grader", ("rule", "judge", "both"))
    judge = part.text_or_none("judge")
    return CmmathGrading(
        grader=grader,
        model=None if grader == "rule" else judge,
        prompt_version=part.text("prompt_version"),
        rules_version=part.text("rules_version"),
    )


CMMATH: RecordType[CmmathResponse, CmmathGrading] = RecordType(
    schema=SCHEMA,
    benchmark="CMMaTH",
    task="a CMMaTH task",
    filter="cmmath_grade",
    again=_AGAIN,
    readers="lmms-rpts cmmath summarises them",
    parse=parse_cmmath_response,
    others=record_types,
)
"""Records of ``cmmath_grade``."""

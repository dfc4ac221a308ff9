"""The record of an answer to a question of ROME: written by ``rome_answer``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, PlainSerializer, PlainValidator

from lmms_rpts.escaping import storable
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record import Asked, JudgeGrade, Record
from lmms_rpts.runs.run import RunOf
from lmms_rpts.schema import Described, FieldError, Flag, Model, Several, Share, Text, wrong
from lmms_rpts.tasks.benchmark import record_types
from lmms_rpts.tasks.rome.settings import Grader, RomeGrader


def _canonical(value: object) -> str:
    """An object as JSON text with sorted keys: the same for equal ones, and hashable."""
    if not isinstance(value, dict):
        raise wrong("an object", value)
    try:
        return storable(json.dumps(value, ensure_ascii=False, sort_keys=True))
    except (ValueError, RecursionError):  # a number of 5000 digits; lists a thousand deep
        raise FieldError("can't be written as JSON again") from None


CanonicalJson = Annotated[
    str, PlainValidator(_canonical), PlainSerializer(json.loads), Described("object")
]


class RomeGrades(Model):
    """The grades of the answer."""

    rule: Share | None = Field(
        description="by the published rules; null only where there is no response, or the "
        "question's own data fit no rule"
    )
    strict: Share | None = Field(description="by our rules; null as above")
    llm: JudgeGrade | None = Field(description="by the judge; null where it was not asked")


class Consistency(Model):
    """Whether the answer is what the thinking arrived at."""

    consistent: Flag | None = Field(description="right or wrong; null if the judge failed")
    reply: Text | None = Field(description="the judge's reply, whole")
    error: Text | None = Field(description="why the judge failed")


class RomeInstance(Asked):
    """The question without its images."""

    id: Text = Field(description="its own id")
    subtask: Text = Field(description="its subtask")
    language: Text = Field(description="its language")
    question: Text = Field(description="the question")
    reference: Text = Field(description="the reference answer")
    evaluator: Text = Field(description="the published rule that grades it")
    evaluator_kwargs: CanonicalJson = Field(description="the arguments of that rule")
    question_type: Text | None = Field(description="null where the data do not say")
    image_type: Text | None = Field(description="as above")
    image_subtype: Text | None = Field(description="as above")
    reasoning_type: Text | None = Field(description="as above")
    images: Several[Text] = Field(description="the file names of the images")


class RomeGrading(Model):
    """How the answer was graded."""

    grader: RomeGrader = Field(description="ROME_GRADER")
    model: Text | None = Field(
        alias="judge", description="the judge; null where none is asked about this question"
    )
    prompt_version: Text = Field(description="version of the judge's prompts")

    @property
    def judge(self) -> str:
        """Who graded: ``rule`` or the judge."""
        return "rule" if self.grader == "rule" or self.model is None else self.model


class RomeRecord(Record):
    """The record of an answer to a question of ROME."""

    SCHEMA: ClassVar[str] = "lmms_rpts.rome"
    BENCHMARK: ClassVar[str] = "ROME"
    FILTER: ClassVar[str] = "rome_answer"
    READERS: ClassVar[str] = "lmms-rpts grades summarises them"

    score: Share | None = Field(
        description="the grade that counts; null if unscored, never a zero for a judge that failed"
    )
    grader: Grader = Field(description="who gave it")
    grades: RomeGrades = Field(description="all grades of the answer")
    answer: Text = Field(
        description="the text that was graded: what stands outside the thinking; may be empty"
    )
    source: ReasoningSource = Field(description="where the reasoning stands in the response")
    consistency: Consistency | None = Field(
        description="whether the answer is what the thinking arrived at; null where it was not "
        "asked for, or where thinking or answer are missing"
    )
    instance: RomeInstance = Field(description="the question without its images")
    settings: RomeGrading = Field(description="how the answer was graded")

    @property
    def llm(self) -> float | None:
        """The judge's grade, 0 or 1; None where it was not asked, or failed."""
        return None if self.grades.llm is None else self.grades.llm.score

    @property
    def consistent(self) -> bool | None:
        """Whether the thinking concludes what the answer says; None where nobody can say."""
        return None if self.consistency is None else self.consistency.consistent

    @property
    def disputed_by_strict(self) -> bool:
        """Whether the published rules and ours disagree."""
        rule, strict = self.grades.rule, self.grades.strict
        return None not in (rule, strict) and rule != strict

    @property
    def disputed_by_llm(self) -> bool:
        """Whether the published rules and the judge disagree."""
        return None not in (self.grades.rule, self.llm) and self.grades.rule != self.llm

    @classmethod
    def alike(cls, one: AbstractSet[RomeGrading], other: AbstractSet[RomeGrading]) -> bool:
        """Whether the same graders were set; some questions may have been left to rules."""
        graders = [{(each.grader, each.prompt_version) for each in part} for part in (one, other)]
        models = {each.model for each in one | other} - {None}
        return graders[0] == graders[1] and len(models) <= 1


RomeRun = RunOf[RomeRecord]
"""The answers of one model in one evaluation of ROME."""


def read_rome_runs(paths: Iterable[str | Path]) -> list[RomeRun]:
    """Read runs of ROME from samples files or folders: as ``read_runs`` does those of RPTS.

    The subtasks of one evaluation are parts of one run.

    Raises:
        RunError: naming the file, the line and the remedy, where something can't be read.
    """
    return read_runs_of(RomeRecord, paths, record_types)

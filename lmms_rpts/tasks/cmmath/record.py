"""The record of an answer to a problem of CMMaTH, written by ``cmmath_grade``, and its metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field

from lmms_rpts.judging.parsers import Mistake
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record import Asked, JudgeGrade, Record
from lmms_rpts.runs.run import RunOf
from lmms_rpts.schema import Flag, Model, Several, Share, Text, Whole
from lmms_rpts.tasks.aggregation import Metrics, document_metrics, read_records
from lmms_rpts.tasks.benchmark import record_types
from lmms_rpts.tasks.cmmath.benchmark import CmmathGrader
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, Point, knowledge_points, mastery, ssr

MISTAKES: tuple[Mistake, ...] = get_args(Mistake)
"""The kinds of mistakes that a judge distinguishes."""


class RuleGrade(Model):
    """The grade by rules."""

    outcome: Literal["correct", "incorrect", "undecided"] = Field(description="the grade")
    answer: Text = Field(description="the final answer that was found; may be empty")
    rule: Text = Field(description="the rule that decided, or why none could")


class CmmathGrades(Model):
    """The grades of the answer."""

    rule: RuleGrade | None = Field(
        description="grade by rules, for every CMMATH_GRADER; null only if there is no response"
    )
    judge: JudgeGrade | None = Field(description="grade by the judge; null if it was not asked")


class MistakeEntry(Model):
    """The kind of mistake in a wrong answer."""

    kind: Mistake | None = Field(description="kind of mistake; null if the judge failed")
    reply: Text | None = Field(description="the judge's complete reply")
    error: Text | None = Field(description="why the judge failed")


class CmmathInstance(Asked):
    """The problem without its images."""

    id: Text = Field(description="id of the problem, the same in all tasks")
    question: Text = Field(description="the problem in the publishers' notation")
    reference: Text = Field(description="the reference answer in the same notation")
    form: Text = Field(description="form of the problem: choice, blank, parts or open")
    category: Text | None = Field(description="kind of picture; null if the data do not give it")
    grade_id: Whole | None = Field(description="school year, as published; null as above")
    grade_group: Whole | None = Field(
        description="school: 1 primary, 2 middle, 3 high; null as above"
    )
    knowledge_point: Text | None = Field(
        description="knowledge points, as published; null as above"
    )
    images: Several[Text] = Field(description="the file names of the images")

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The knowledge points that it needs."""
        return knowledge_points(self.knowledge_point)


class CmmathGrading(Model):
    """How the answer was graded."""

    grader: CmmathGrader = Field(description="CMMATH_GRADER")
    mistakes: Flag = Field(default=False, description="the setting `errors`")
    named_judge: Text | None = Field(alias="judge", description="the judge; null if none is set")
    prompt_version: Text = Field(description="version of the judge's prompts")
    rules_version: Text = Field(description="version of the grading rules")

    @property
    def model(self) -> str | None:
        """The judge that graded; None if only rules graded, even if a judge classified mistakes."""
        return None if self.grader == "rule" else self.named_judge

    @property
    def judge(self) -> str:
        """Who graded: ``rule``, the judge, or ``rule`` and the judge."""
        if self.grader == "rule":
            return "rule"
        judge = self.model or "no judge"
        return judge if self.grader == "judge" else f"rule+{judge}"


class CmmathRecord(Record):
    """The record of an answer to a problem of CMMaTH."""

    SCHEMA: ClassVar[str] = "lmms_rpts.cmmath"
    BENCHMARK: ClassVar[str] = "CMMaTH"
    FILTER: ClassVar[str] = "cmmath_grade"
    CELLS: ClassVar[Mapping[str, Sequence[str]]] = {
        "question": ("instance.question",),
        "gold": ("instance.reference",),
        "answer": ("answer",),
        "score": ("score",),
        "rule": ("outcome_by_rules",),
        "judge": ("judged",),
        "why": ("reason", "grades.judge.reply", "grades.judge.error", "grades.rule.rule"),
    }

    score: Share | None = Field(
        description="the grade that counts, 1 or 0; null if unscored (an undecided answer is "
        "never 0)"
    )
    grader: Literal["rule", "judge"] | None = Field(
        description="what gave the grade; null if there is none"
    )
    grades: CmmathGrades = Field(description="all grades of the answer")
    answer_type: Text = Field(
        description="type of the reference; `unknown` if an internal error left the response "
        "unscored"
    )
    answer: Text = Field(
        description="the text that was graded: the response without its thinking; may be empty"
    )
    source: ReasoningSource = Field(description="where the reasoning is in the response")
    mistake: MistakeEntry | None = Field(
        description="the kind of mistake; null if this was not asked (errors = false, or the "
        "score is not 0)"
    )
    instance: CmmathInstance = Field(description="the problem, without its images")
    settings: CmmathGrading = Field(description="how the answer was graded")

    @property
    def scoring(self) -> CmmathGrading:
        """Its settings without those of mistakes, and without a judge asked only about mistakes."""
        changes = {"mistakes": False, "named_judge": self.settings.model}
        return self.settings.model_copy(update=changes)

    @property
    def outcome_by_rules(self) -> str | None:
        """The grade by rules; None if there is no response."""
        return None if self.grades.rule is None else self.grades.rule.outcome

    @property
    def ruled(self) -> float | None:
        """The grade by rules, 1 or 0; None if the rules did not decide."""
        return {"correct": 1.0, "incorrect": 0.0}.get(self.outcome_by_rules or "")

    @property
    def judged(self) -> float | None:
        """The judge's grade, 1 or 0; None if it was not asked, or failed."""
        return None if self.grades.judge is None else self.grades.judge.score

    @property
    def undecided(self) -> bool | None:
        """Whether the rules left it undecided; None if there is no response."""
        found = self.outcome_by_rules
        return None if found is None else found == "undecided"

    @property
    def disputed(self) -> bool:
        """Whether the rules and the judge disagree."""
        return None not in (self.ruled, self.judged) and self.ruled != self.judged


CmmathRun = RunOf[CmmathRecord]
"""The answers of one model in one evaluation of CMMaTH."""


read_cmmath_runs = partial(read_runs_of, CmmathRecord, known=record_types)
"""Reads runs from samples files or folders: see ``read_runs_of``. Tasks are parts of one run."""


SSR = {f"ssr_{threshold}": threshold for threshold in THRESHOLDS}
"""The accuracy that a knowledge point must exceed, by metric name."""

METRICS: Metrics = {
    "accuracy": lambda record: record.score,
    "undecided_rate": lambda record: record.undecided,
    "grader_coverage": lambda record: record.score is not None,
}
"""The value of a record in each metric; None if it has none.

``accuracy``: by the grader that counts; ``undecided_rate``: whether the rules left it undecided,
regardless of the judge; ``grader_coverage``: whether there is an accuracy.
"""

Mastery = dict[str, Any]
"""A document's knowledge points: ``points`` (lists of names, from the top) and ``accuracy``. It is
not named ``score``, because lmms-eval would compute a standard error of it."""


def process_results(
    doc: Mapping[str, Any], results: Sequence[str]
) -> dict[str, float | Mastery | None]:
    """The metrics of one document; the means over its responses.

    The metrics of knowledge points are values for ``ssr_0_1`` and similar aggregations.
    """
    records = read_records(CmmathRecord, results)
    means = document_metrics(records, METRICS)
    return {**means, **dict.fromkeys(SSR, _mastery(records, means["accuracy"]))}


def _share_above(threshold: float) -> Callable[[Sequence[Mastery | None]], float]:
    def share(items: Sequence[Mastery | None]) -> float:
        """The share of knowledge points whose accuracy exceeds the threshold; NaN without any."""
        there = [item for item in items if item is not None]
        pairs = [(map(tuple, item["points"]), item["accuracy"]) for item in there]
        found = ssr(mastery(pairs), threshold)
        return math.nan if found is None else found

    return share


ssr_0_1, ssr_0_2, ssr_0_3, ssr_0_6 = map(_share_above, THRESHOLDS)


def _mastery(records: Sequence[CmmathRecord], accuracy: float | None) -> Mastery | None:
    """None without a score or a point: such a document has no information on any point."""
    if accuracy is None:
        return None
    points = records[0].instance.points
    return {"points": [list(point) for point in points], "accuracy": accuracy} if points else None

"""The record of a graded answer, for all benchmarks whose answers are right or wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field

from lmms_rpts.base.schema import Model, Number, Several, Share, Text, Whole
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.record import FromJudge, Record, unset
from lmms_rpts.stats.metrics import Metric


class Grade(FromJudge):
    """One grade of an answer, by rules or by a judge."""

    score: Share | None = Field(description="from 0 to 1; null if there is none")
    answer: Text | None = unset(None, "the final answer that this grader found")
    rule: Text = unset("", "the rule that decided, or why none could")
    chosen: Whole | None = unset(None, "index of the chosen option as shown, perhaps none of them")


class Finding(FromJudge):
    """What a judge said of a response besides the grade, such as the kind of a mistake."""

    value: Text | None = Field(description="the judge's word; null if it failed")
    left_out: Whole = unset(0, "characters of the text that the judge did not see")


class GradedHow(Model):
    """How an answer was graded: everything except the response that the score depends on."""

    grader: Text = Field(description="the benchmark's setting `grader`")
    model: Text | None = Field(
        alias="judge", description="the judge; null if none is asked about this question"
    )
    prompt_version: Text = Field(description="version of the judge's prompts")

    @property
    def judge(self) -> str:
        """Who graded: ``rule`` or the judge."""
        return "rule" if self.grader == "rule" or self.model is None else self.model


class AnswerRecord(Record):
    """The record of an answer that was graded.

    A benchmark's own record adds ``instance``, its question.
    """

    score: Share | None = Field(
        description="the grade that counts; null if unscored: an undecided answer, or one that a "
        "judge failed to grade, is never 0"
    )
    grader: Text | None = Field(
        description="whose grade counts: a name in `grades`; null if there is none"
    )
    grades: Mapping[Text, Grade] = Field(description="all grades of the answer, by their grader")
    findings: Mapping[Text, Finding] = unset({}, "what else a judge was asked about the response")
    answer: Text = Field(
        description="the text that was graded: the response without its thinking; may be empty"
    )
    source: Literal[ReasoningSource, "likelihood"] = Field(
        description="the part of the response that was graded"
    )
    numbers: Mapping[Text, Several[Number]] = unset({}, "numbers for each option, by their name")
    settings: GradedHow = Field(description="how the answer was graded")

    def value(self, grader: str) -> float | None:
        """The score of a grader; None if there is none."""
        found = self.grades.get(grader)
        return None if found is None else found.score

    def said(self, name: str, word: str) -> float | None:
        """Whether a judge said this word; None if it was not asked, or failed."""
        found = self.findings.get(name)
        return None if found is None or found.value is None else float(found.value == word)

    @property
    def final(self) -> str | None:
        """The final answer, as found by the grader that counts, else by another."""
        ordered = sorted(self.grades.items(), key=lambda pair: pair[0] != self.grader)
        return next((each.answer for _, each in ordered if each.answer is not None), None)

    @property
    def undecided(self) -> bool:
        """Whether the rules could not decide, and nobody else did."""
        rule = self.grades.get("rule")
        return self.grader is None and rule is not None and rule.score is None

    @property
    def disputed(self) -> bool:
        """Whether two graders gave different scores."""
        return len({each.score for each in self.grades.values()} - {None}) > 1

    @property
    def scale(self) -> str:
        """What the score measures, such as ``ROUGE-L``; empty: whether the answer is right."""
        return ""


# --- metrics of all benchmarks whose answers are graded -------------------------------------------


def _if_scored(value: Callable[[AnswerRecord], float | None]) -> Callable[[Any], float | None]:
    return lambda record: None if record.score is None else value(record)


ACCURACY = Metric("accuracy", lambda record: record.score, words="of the responses with a score")
COVERAGE = Metric(
    "grader_coverage",
    lambda record: float(record.score is not None),
    higher_is_better=None,
    head="coverage",
    words="share with a score",
    interval=False,
    tested=False,
)
STRICT = (
    Metric(
        "accuracy_strict",
        _if_scored(lambda record: record.value("strict")),
        head="strict",
        words="by strict rules, of the answers that they decide",
    ),
    Metric(
        "strict_coverage",
        _if_scored(lambda record: float(record.value("strict") is not None)),
        higher_is_better=None,
        head="decided",
        words="share of answers that the strict rules decide",
        interval=False,
        tested=False,
    ),
)

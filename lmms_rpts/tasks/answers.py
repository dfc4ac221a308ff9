"""Questions with one gold answer, graded by rules: what benchmarks of other packages start from.

The data have the form of docs/your-own-data.md. A benchmark declares its record (`AnswerRecord`),
its filter (`AnswerFilter`) and its summary (a copy of `GRADING`); docs/benchmarks.md has examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from pydantic import Field

from lmms_rpts.base.schema import Model, Several, Share, Text
from lmms_rpts.filters.grading import Given, GradingFilter
from lmms_rpts.filters.responses import Doc
from lmms_rpts.grading import grade
from lmms_rpts.grading.grader import Kind
from lmms_rpts.judging import NO_JUDGE
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.metrics import Metric, Metrics, by_name
from lmms_rpts.runs.record import Asked, JudgeGrade, Record
from lmms_rpts.tasks.grade_types import Display, Grading, ShownAnswer, ShownGrade, ShownQuestion
from lmms_rpts.tasks.graded import by_field
from lmms_rpts.tasks.own.prompts import marks_of


class Question(Asked):
    """The question without its images."""

    id: Text = Field(description="id of the question")
    language: Text = Field(description="language of the question")
    question: Text = Field(description="the question")
    options: Several[Text] = Field(description="the options; may be empty")
    answer: Text = Field(description="the gold answer; may be empty")
    references: Several[Text] = Field(description="further accepted answers, or captions")
    abilities: Several[Text] = Field(description="what the question tests; may be empty")
    images: Several[Text] = Field(description="the file names of the images")


class ByRules(Model):
    """How the answer was graded."""

    judge: Literal["rule"] = Field(default="rule", description="the grader")
    rules_version: Text = Field(description="version of the benchmark's rules")


class AnswerRecord(Record):
    """The record of an answer; a benchmark sets SCHEMA, BENCHMARK and FILTER."""

    score: Share | None = Field(description="from 0 to 1; null if the rules could not decide")
    answer: Text = Field(description="the text that was graded: the response without its thinking")
    source: ReasoningSource = Field(description="where the answer is in the response")
    final: Text | None = Field(description="the final answer that was found")
    rule: Text = Field(description="the rule that decided; may be empty")
    instance: Question = Field(description="the question, without its images")
    settings: ByRules = Field(description="how the answer was graded")


METRICS = by_name(
    Metric("accuracy", lambda record: record.score, words="mean score of the answers"),
    Metric(
        "grader_coverage",
        lambda record: record.score is not None,
        higher_is_better=None,
        head="coverage",
        words="share of answers with a score",
        tested=False,
    ),
)


class Graded(NamedTuple):
    """The grade of an answer: its score (None: undecided), the final answer, and the rule."""

    score: float | None
    final: str | None = None
    rule: str = ""


class AnswerDocument(Model):
    """The fields of a question with an answer."""

    id: Any
    language: Language
    form: Text
    statement: Text
    answer: Any
    options: Several[Text]
    visual_clue: Several[Text]


class AnswerFilter(GradingFilter):
    """Grades answers by rules; a benchmark sets RECORD, and may override ``grade``.

    Attributes:
        METRICS: the metrics of its tasks.
        RULES: version of its rules, in records.
    """

    DATA = "your data"
    DOCUMENT = AnswerDocument
    ORDER = "use this filter alone"
    RECORD = AnswerRecord
    NAMES: Mapping[str, str] = {
        "question": "statement",
        "images": "visual_clue",
        "abilities": "ability",
    }
    METRICS: ClassVar[Metrics] = METRICS
    RULES: ClassVar[str] = "1"

    def choose(self, default: str | None) -> str:
        """No judge is asked."""
        return NO_JUDGE

    def grade(self, answer: str, doc: Doc) -> Graded:
        """The grade of an answer (the response without its thinking), by the form of the gold one.

        A hedged or doubled answer is never right; where the rules are not sure, there is no score.
        """
        if doc["form"] not in get_args(Kind):
            return Graded(None, rule=f"answers of the form {doc['form']} need a grade of their own")
        found = grade(
            answer,
            doc["answer"],
            kind=doc["form"],
            options=tuple(doc["options"]),
            tolerance=doc["tolerance"],
        )
        score = {"correct": 1.0, "incorrect": 0.0}.get(found.outcome)
        return Graded(score, found.answer, found.rule)

    def rules(self, answer: str, doc: Doc) -> tuple[float | None, str | None, Graded]:
        """The grade of an answer, and why there is none."""
        found = self.grade(answer, doc)
        undecided = f"the rules cannot decide ({found.rule})" if found.score is None else None
        return found.score, undecided, found

    def fields(self, given: Given, grade: JudgeGrade | None, more: Any, doc: Doc) -> dict[str, Any]:
        """The final answer, the rule that decided, and the version of the rules."""
        found = given.found or Graded(None)
        settings = ByRules(rules_version=self.RULES)
        return {"final": found.final, "rule": found.rule, "settings": settings}


# --- summary and report --------------------------------------------------------------------------


def _question(record: AnswerRecord) -> ShownQuestion:
    asked = record.instance
    marks = marks_of(asked.options)
    pairs = enumerate(zip(marks, asked.options, strict=True))
    right = [at for at, pair in pairs if asked.answer in pair]
    return ShownQuestion(
        text=asked.question,
        options=asked.options,
        marks=marks,
        right=right[0] if len(right) == 1 else None,
        gold=tuple(filter(None, (asked.answer, *asked.references))),
        language=asked.language,
        images=asked.images,
    )


def _answer(record: AnswerRecord) -> ShownAnswer:
    rules = ShownGrade(
        grader="rules",
        value=record.score,
        word="undecided" if record.score is None else "",
        counts=True,
        reason=record.rule,
        error=record.reason,
    )
    return ShownAnswer(final=record.final, grades=(rules,))


GRADING = Grading(
    title="Answers",
    metrics=METRICS,
    breakdowns={
        "task": by_field("instance.task"),
        "language": by_field("instance.language"),
        "ability": lambda record: record.instance.abilities or (None,),
    },
    settings=("rules_version",),
    columns=("accuracy",),
    explained={
        "tokens": "per response",
        "[ ]": "95% interval over questions, of one round",
        "±": "sample standard deviation over rounds",
    },
    display=Display(question=_question, answer=_answer),
)
"""A summary to start from: ``dataclasses.replace(GRADING, title=..., ...)``."""

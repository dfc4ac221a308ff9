"""The record of an answer to a question of ROME, its metrics, and how it is summarized."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.schema import FieldError, Model, Several, Share, Text, wrong
from lmms_rpts.grading.grader import find_final_answer
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.runs.record import Asked, JudgeGrade, Record, is_none
from lmms_rpts.tasks.aggregation import group_metric_list, metric_list, record_metrics
from lmms_rpts.tasks.grade_types import (
    Display,
    Figures,
    Grading,
    ShownAnswer,
    ShownGrade,
    ShownQuestion,
    judged_grade,
)
from lmms_rpts.tasks.graded import by_field
from lmms_rpts.tasks.rebuilding import Rebuilt
from lmms_rpts.tasks.rome import thinking
from lmms_rpts.tasks.rome.benchmark import SUBTASKS, Grader, RomeGrader
from lmms_rpts.tasks.rome.matchers import extract_answer


def _canonical(value: object) -> str:
    """An object as JSON text with sorted keys: the same for equal objects, and hashable."""
    if not isinstance(value, dict):
        raise wrong("an object", value)
    try:
        return storable(json.dumps(value, ensure_ascii=False, sort_keys=True))
    except (ValueError, RecursionError):  # a number of 5000 digits; lists a thousand deep
        raise FieldError("cannot be written as JSON") from None


CanonicalJson = Annotated[
    str, PlainValidator(_canonical), PlainSerializer(json.loads), WithJsonSchema({"type": "object"})
]


class RomeGrades(Model):
    """The grades of the answer."""

    rule: Share | None = Field(
        description="grade by the published rules; null only if there is no response, or if no"
        " rule fits the question's data"
    )
    strict: Share | None = Field(
        description="grade by the strict rules; null if they cannot decide"
    )
    llm: JudgeGrade | None = Field(description="grade by the judge; null if it was not asked")


class RomeInstance(Asked):
    """The question without its images."""

    id: Text = Field(description="id of the question")
    subtask: Text = Field(description="subtask of the question")
    language: Text = Field(description="language of the question")
    question: Text = Field(description="the question")
    reference: Text = Field(description="the reference answer")
    evaluator: Text = Field(description="the published rule that grades the question")
    evaluator_kwargs: CanonicalJson = Field(description="the arguments of that rule")
    question_type: Text | None = Field(description="as published; null if the data do not give it")
    image_type: Text | None = Field(description="as above")
    image_subtype: Text | None = Field(description="as above")
    reasoning_type: Text | None = Field(description="as above")
    images: Several[Text] = Field(description="the file names of the images")


class RomeGrading(Model):
    """How the answer was graded."""

    grader: RomeGrader = Field(description="ROME_GRADER")
    model: Text | None = Field(
        alias="judge", description="the judge; null if none is asked about this question"
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

    score: Share | None = Field(
        description="the grade that counts; null if unscored (a failure of the judge is never 0)"
    )
    grader: Grader = Field(description="what gave the grade")
    grades: RomeGrades = Field(description="all grades of the answer")
    answer: Text = Field(
        description="the text that was graded: the response without its thinking; may be empty"
    )
    source: ReasoningSource = Field(description="where the reasoning is in the response")
    consistency: thinking.Consistency | None = Field(
        description="whether the answer agrees with the thinking; null if this was not asked, "
        "or if thinking or answer is missing"
    )
    pretended_tools: thinking.PretendedTools | None = Field(
        default=None,
        description="whether the thinking pretends to use tools; omitted if this was not asked, "
        "or if there is no thinking",
        exclude_if=is_none,
    )
    instance: RomeInstance = Field(description="the question, without its images")
    settings: RomeGrading = Field(description="how the answer was graded")

    @property
    def llm(self) -> float | None:
        """The judge's grade, 0 or 1; None if it was not asked, or failed."""
        return None if self.grades.llm is None else self.grades.llm.score

    def disputed_by(self, *others: float | None) -> bool:
        """Whether another grade differs from that by the published rules."""
        return self.grades.rule is not None and bool({*others} - {None, self.grades.rule})

    @classmethod
    def mergeable(cls, one: AbstractSet[RomeGrading], other: AbstractSet[RomeGrading]) -> bool:
        """Whether the same graders were set; rules may have graded some questions."""
        graders = [{(each.grader, each.prompt_version) for each in part} for part in (one, other)]
        models = {each.model for each in one | other} - {None}
        return graders[0] == graders[1] and len(models) <= 1


METRICS = by_name(
    # Partial credit in [0, 1] for a place that is too coarse.
    Metric("accuracy", lambda record: record.score, words="by the grader that counts"),
    Metric(
        "accuracy_strict",
        lambda record: record.grades.strict,
        head="strict",
        words="by strict rules, of the answers that they decide",
    ),
    Metric(
        "strict_coverage",
        lambda record: record.grades.strict is not None,
        higher_is_better=None,
        head="decided",
        words="share of answers that the strict rules decide",
        interval=False,
        tested=False,
    ),
    *thinking.METRICS.values(),
    Metric(
        "grader_coverage",
        lambda record: record.score is not None,
        higher_is_better=None,
        head="coverage",
        words="share of answers with an accuracy",
        tested=False,
    ),
)
METRIC_LIST = metric_list(METRICS)
GROUP_METRIC_LIST = group_metric_list(METRICS)


process_results = partial(record_metrics, RomeRecord, METRICS)
"""The metrics of one document, for lmms-eval; the means over its responses."""


# --- summary and report --------------------------------------------------------------------------


def _sentence(figures: Figures) -> str:
    counts, judged = figures.counts, ""
    if counts["judged"]:
        judged = f"; published rules and the judge on {counts['rule_llm']} of {counts['judged']}"
    return (
        f"{figures.model}: {figures.rounds} round{'s' * (figures.rounds > 1)}. Of "
        f"{figures.responses} responses, published and strict rules disagree on "
        f"{counts['rule_strict']}{judged}."
    )


def _question(record: RomeRecord) -> ShownQuestion:
    instance = record.instance
    return ShownQuestion(
        text=instance.question,
        gold=(instance.reference,),
        language=instance.language,
        images=instance.images,
        details={"evaluator": instance.evaluator, "arguments": instance.evaluator_kwargs},
    )


def _answer(record: RomeRecord) -> ShownAnswer:
    return ShownAnswer(final=find_final_answer(record.answer), grades=tuple(_grades(record)))


def _grades(record: RomeRecord) -> Iterator[ShownGrade]:
    grades, by_rule = record.grades, record.grader == "rule"
    yield ShownGrade(
        grader="published rules",
        value=grades.rule,
        counts=by_rule,
        found=extract_answer(record.answer),
        reason=record.instance.evaluator,
        error=record.reason if by_rule else None,
    )
    yield ShownGrade(
        grader="strict rules",
        value=grades.strict,
        word="undecided" if grades.strict is None else "",
        found=find_final_answer(record.answer),
        reason=record.instance.evaluator,
    )
    if grades.llm is not None:
        prompt = partial(_prompt, record, "grade", reference=record.instance.reference)
        yield judged_grade(record.settings.model, grades.llm, not by_rule, prompt)
    yield from thinking.shown_grades(record)


def _prompt(record: RomeRecord, name: str, **fields: str) -> Rebuilt | None:
    # Imported here: lmms-rpts summarize needs no prompts.
    from lmms_rpts.tasks.rebuilding import rebuilt_prompt

    fields |= {"question": record.instance.question, "answer": record.answer}
    version = record.settings.prompt_version
    return rebuilt_prompt(name, record.instance.language, version, **fields)


_INSTANCE = ("subtask", "image_type", "image_subtype", "reasoning_type", "question_type")

GRADING = Grading(
    title="ROME",
    # A summary counts the unscored answers instead of the share of the others.
    metrics={name: each for name, each in METRICS.items() if name != "grader_coverage"},
    breakdowns={
        name: by_field(f"instance.{name}") for name in (*_INSTANCE, "evaluator", "language")
    },
    first="subtask",
    order=SUBTASKS,
    settings=("grader", "model", "prompt_version"),
    counts={
        "judged": lambda record: record.llm is not None,
        "rule_strict": lambda record: record.disputed_by(record.grades.strict),
        "rule_llm": lambda record: record.disputed_by(record.llm),
    },
    asked=thinking.ASKED,
    columns=("accuracy", "accuracy_strict", "strict_coverage", *thinking.METRICS),
    explained={
        "tokens": "per response",
        "[ ]": "95% interval over questions, of one round (exact where all grades are 0 or 1, "
        "Student's t with partial credit)",
        "±": "sample standard deviation over rounds",
    },
    sentence=_sentence,
    flags={"disagreements": lambda record: record.disputed_by(record.grades.strict, record.llm)},
    display=Display(question=_question, answer=_answer),
)

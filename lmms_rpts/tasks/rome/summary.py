"""Summary of runs of ROME, and their questions and answers as a report shows them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.tasks.aggregation import Metrics
from lmms_rpts.tasks.grade_types import (
    Display,
    Figures,
    Grading,
    Listed,
    Listing,
    ShownAnswer,
    ShownGrade,
    ShownQuestion,
    judged_grade,
)
from lmms_rpts.tasks.graded import by_field, summarize_grades
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.matchers import extract_answer
from lmms_rpts.tasks.rome.record import METRICS as _OF_DOCUMENTS
from lmms_rpts.tasks.rome.record import RomeRecord
from lmms_rpts.tasks.rome.strict import whole_answer
from lmms_rpts.tasks.sheets import end_of, metric_column

METRICS: Metrics = {name: of for name, of in _OF_DOCUMENTS.items() if name != "grader_coverage"}
"""The value of a record in each metric; None if it has none."""

_AGREEMENT = {True: "consistent", False: "inconsistent", None: ""}


def _sentence(figures: Figures) -> str:
    counts, judged = figures.counts, ""
    if counts["judged"]:
        judged = f"; published rules and the judge on {counts['rule_llm']} of {counts['judged']}"
    return (
        f"{figures.model}: {figures.rounds} round{'s' * (figures.rounds > 1)}. Of "
        f"{figures.responses} responses, published and strict rules disagree on "
        f"{counts['rule_strict']}{judged}."
    )


def _strict_differs(record: RomeRecord) -> bool:
    return record.disputed_by(record.grades.strict)


def _judge_differs(record: RomeRecord) -> bool:
    return record.disputed_by(record.llm)


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
    return ShownAnswer(
        final=whole_answer(record.answer, doubtful=True), grades=tuple(_grades(record))
    )


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
        found=whole_answer(record.answer, doubtful=True),
        reason=record.instance.evaluator,
    )
    if grades.llm is not None:
        prompt = partial(_prompt, record, "grade", reference=record.instance.reference)
        yield judged_grade(record.settings.model, grades.llm, not by_rule, prompt)
    if record.consistency is not None:
        yield ShownGrade(
            grader="thinking and answer",
            value=None if record.consistent is None else float(record.consistent),
            word=_AGREEMENT[record.consistent],
            asked=_asked_consistency(record),
            reply=record.consistency.reply,
            error=record.consistency.error,
        )


def _asked_consistency(record: RomeRecord) -> str:
    from lmms_rpts.tasks.rome.filter import THINKING_SHOWN

    _, thinking, _ = split_thinking(record.text or "")
    if not thinking:
        return ""
    return _prompt(record, "consistency", thinking=thinking.strip()[-THINKING_SHOWN:])


def _prompt(record: RomeRecord, name: str, **fields: str) -> str:
    # Imported here: lmms-rpts summarize needs no prompts.
    from lmms_rpts.judging.prompts import rebuilt_prompt

    fields |= {"question": record.instance.question, "answer": record.answer}
    version = record.settings.prompt_version
    return rebuilt_prompt(name, record.instance.language, version, **fields)


_INSTANCE = ("subtask", "image_type", "image_subtype", "reasoning_type", "question_type")

GRADING = Grading(
    title="ROME",
    metrics=METRICS,
    breakdowns={
        name: by_field(f"instance.{name}") for name in (*_INSTANCE, "evaluator", "language")
    },
    first="subtask",
    places=SUBTASKS,
    settings=("grader", "model", "prompt_version"),
    counts={
        "judged": lambda record: record.llm is not None,
        "rule_strict": _strict_differs,
        "rule_llm": _judge_differs,
    },
    asked={"whether they are consistent": lambda each: each.consistency and each.consistency.error},
    columns=(
        metric_column("accuracy"),
        metric_column("accuracy_strict", "strict"),
        metric_column("thinking_answer_consistency", "consistency"),
    ),
    explained="n: questions. accuracy: by the grader that counts. strict: by strict rules. "
    "consistency: share of answers that agree with the thinking. tokens: per response. [ ]: 95% "
    "interval over questions, of one round (exact where all grades are 0 or 1, Student's t with "
    "partial credit). ±: sample standard deviation over rounds.",
    sentence=_sentence,
    lists={
        "disagreements": Listing(
            what="answers on which graders disagree",
            wanted=lambda record: _strict_differs(record) or _judge_differs(record),
            values=(
                Listed("subtask", "instance.subtask"),
                Listed("id", "instance.id", "question"),
                Listed("repeat", "repeat"),
                Listed("evaluator", "instance.evaluator", "evaluator"),
                Listed("reference", "instance.reference", "reference"),
                Listed("answer", "answer", "answer", end_of),
                Listed("rule", "grades.rule", "rule"),
                Listed("strict", "grades.strict", "strict"),
                Listed("llm", "llm", "LLM"),
            ),
            texts=5,
        )
    },
    display=Display(question=_question, answer=_answer),
)

summarize_rome = partial(summarize_grades, GRADING)
"""Compares runs, with the tables of further breakdowns: see ``summarize_grades``."""

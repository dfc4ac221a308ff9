"""Samples and answers of ReForm-Eval for reports: all duplicates of a sample on one page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from lmms_rpts.tasks.display import Display, ShownAnswer, ShownGrade, ShownQuestion
from lmms_rpts.tasks.reform_eval.record import ReformGrade, ReformInstance, ReformRecord
from lmms_rpts.tasks.reform_eval.results import answers_of, instability_over
from lmms_rpts.tasks.reform_eval.sets import data_sets


def _question(record: ReformRecord) -> ShownQuestion:
    instance = record.instance
    known = data_sets().get(instance.set)
    details = {
        "set": known.title if known else instance.set,
        "method": instance.method,
        "round": "" if instance.round is None else str(instance.round),
    }
    return ShownQuestion(
        text="\n".join(filter(None, (instance.instruct, instance.question))),
        options=instance.options,
        marks=instance.marks,
        right=instance.right,
        gold=instance.answers,
        details={name: text for name, text in details.items() if text},
    )


def _answer(record: ReformRecord) -> ShownAnswer:
    instance, caption = record.instance, record.instance.kind == "caption"
    strict = _grade("strict rules", record.strict, instance)
    score = record.score if caption else _value(record.published)
    published = _grade("published rules", record.published, instance, score, record.reason)
    by_option = {"negative log-likelihood": record.losses, "per token": record.means}
    return ShownAnswer(
        final=_final(record),
        grades=(published,) if caption else (published, strict),
        variant=f"wording {instance.duplicate + 1}",
        chosen=record.published.chosen,
        by_option={name: values for name, values in by_option.items() if values},
    )


def _final(record: ReformRecord) -> str:
    if record.instance.kind == "choice":
        return _option(record.strict, record.instance) or ""
    return record.prediction


def _grade(
    grader: str,
    grade: ReformGrade,
    instance: ReformInstance,
    score: float | None = None,
    error: str | None = None,
) -> ShownGrade:
    return ShownGrade(
        grader=grader,
        value=_value(grade) if score is None else score,
        counts=grader == "published rules",
        found=_option(grade, instance) if instance.kind == "choice" else None,
        reason=grade.rule,
        error=error,
    )


def _value(grade: ReformGrade) -> float | None:
    return None if grade.correct is None else float(grade.correct)


def _option(grade: ReformGrade, instance: ReformInstance) -> str:
    """The chosen option with its mark."""
    if grade.chosen is None:
        return ""
    text = instance.option(grade.chosen)
    if text is None:
        return f"option {grade.chosen + 1}, which was not offered"
    marked = grade.chosen < len(instance.marks)
    return f"({instance.marks[grade.chosen]}) {text}" if marked else text


def _together(records: Sequence[ReformRecord]) -> Mapping[str, str]:
    """Figures that show how much the answers to one sample depend on its wording."""
    scored = [each for each in records if each.score is not None]
    duplicates = {each.instance.duplicate for each in scored}
    if len(duplicates) < 2 or any(each.instance.kind == "caption" for each in scored):
        return {}
    answers = answers_of("", scored)
    instability, texts = instability_over([answers]), answers[1]
    if math.isnan(instability):
        return {}
    most = Counter(texts).most_common(1)[0][1]
    return {
        "instability": f"{instability:.3f} of at most {math.log(len(texts)):.3f}",
        "most frequent answer": f"{most} of {len(texts)}",
    }


def _scale(record: ReformRecord) -> str:
    return "ROUGE-L" if record.instance.kind == "caption" else ""


DISPLAY = Display(
    question=_question,
    answer=_answer,
    together=_together,
    scale=_scale,
    by=(),  # the sheets have a table by dimension
    filters=("dimension",),
)
"""How a report shows samples and answers."""

"""What a report shows for each graded answer: the question, the answer and its grades.

A benchmark describes its records with a `Display` in its `Grading`. Without one, the fields that
records usually have are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_rpts.runs.record import JudgeGrade

_QUESTIONS = ("question", "statement", "problem", "text")
_GOLD = ("reference", "gold", "target", "answer", "answers")
_FINAL = ("final_answer", "answer", "prediction")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuestion:
    """A question as a report shows it.

    Attributes:
        text: the question; empty: the record does not contain it, so it is read from the samples.
        options: the options, if the text does not list them.
        marks: the marks of the options, one for each; empty: none were shown.
        right: the position of the right option; None if there is none.
        gold: the gold answers, if no option is one; empty: they are read from the samples.
        language: code of the language, for the page.
        images: file names of the images.
        details: further facts, by name, such as the rubric.
    """

    text: str = ""
    options: Sequence[str] = ()
    marks: Sequence[str] = ()
    right: int | None = None
    gold: Sequence[str] = ()
    language: str = ""
    images: Sequence[str] = ()
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGrade:
    """One grade of an answer as a report shows it.

    Attributes:
        grader: what gave the grade, such as ``published rules``.
        value: from 0 to 1; None if there is none.
        word: the text to show if the grade is not right, wrong or a number, such as ``undecided``.
        counts: whether the score is taken from this grade.
        found: the final answer that this grader found; None if it does not report one.
        reason: the rule that decided, or the kind of mistake.
        asked: the complete prompt of the judge; empty if unknown.
        reply: the complete reply of the judge; None without a judge.
        error: why there is no grade.
    """

    grader: str
    value: float | None
    word: str = ""
    counts: bool = False
    found: str | None = None
    reason: str = ""
    asked: str = ""
    reply: str | None = None
    error: str | None = None


def judged_grade(
    grader: str | None, judged: JudgeGrade, counts: bool, asked: Callable[[], str]
) -> ShownGrade:
    """A grade by a judge; ``asked`` returns its prompt, unless the answer was empty."""
    empty = judged.reply is None and judged.error is None
    return ShownGrade(
        grader=grader or "judge",
        value=judged.score,
        counts=counts,
        reason="not asked: the answer is empty" if empty else "",
        asked="" if empty else asked(),
        reply=judged.reply,
        error=judged.error,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """An answer as a report shows it.

    Attributes:
        final: the final answer; empty if none was found, None if it is not recorded.
        grades: all of its grades.
        variant: which variant of the question it answers, such as ``wording 2``; empty: there is
            only one.
        chosen: the position of the chosen option; None if none was chosen.
        by_option: numbers for each option, such as its likelihood, by name.
    """

    final: str | None = None
    grades: Sequence[ShownGrade] = ()
    variant: str = ""
    chosen: int | None = None
    by_option: Mapping[str, Sequence[float]] = field(default_factory=dict)


def usual_question(record: Any) -> ShownQuestion:
    """The question of a record from the fields that instances usually have."""
    instance = record.instance
    return ShownQuestion(
        text=_first_text(instance, _QUESTIONS),
        options=_texts(instance, "options"),
        gold=next(filter(None, (_texts(instance, name) for name in _GOLD)), ()),
        language=_first_text(instance, ("language",)),
        images=_texts(instance, "images"),
    )


def usual_answer(record: Any) -> ShownAnswer:
    """The answer of a record from the fields that records usually have."""
    score = getattr(record, record.SCORE, None)
    grade = ShownGrade(grader=record.settings.judge, value=score, counts=True, error=record.reason)
    return ShownAnswer(final=_first_text(record, _FINAL) or None, grades=(grade,))


def right_or_wrong(record: Any) -> str:
    """No scale: the score says whether the answer is right."""
    return ""


def no_more(records: Sequence[Any]) -> Mapping[str, str]:
    """No facts about several answers together."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How a report shows the graded answers of a benchmark.

    Answers whose instances have the same ``key`` and ``id`` are shown on one page.

    Attributes:
        question: the question of a record.
        answer: the answer of a record, with its grades.
        together: facts about one run's answers to one question, by name; called if there are
            several.
        scale: what the score of a record measures, such as ``ROUGE-L``; empty if it says whether
            the answer is right.
        by: the breakdowns that a report shows as tables and as filters; None: all.
        filters: further breakdowns, shown only as filters.
    """

    question: Callable[[Any], ShownQuestion] = usual_question
    answer: Callable[[Any], ShownAnswer] = usual_answer
    together: Callable[[Sequence[Any]], Mapping[str, str]] = no_more
    scale: Callable[[Any], str] = right_or_wrong
    by: Sequence[str] | None = None
    filters: Sequence[str] = ()


def _first_text(value: object, names: Sequence[str]) -> str:
    found = (getattr(value, name, None) for name in names)
    return next((each for each in found if isinstance(each, str) and each), "")


def _texts(value: object, name: str) -> tuple[str, ...]:
    found = getattr(value, name, None)
    listed = (found,) if isinstance(found, str) else found
    if not isinstance(listed, list | tuple):
        return ()
    return tuple(each for each in listed if isinstance(each, str) and each)

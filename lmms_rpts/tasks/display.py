"""What a report shows of graded answers, one by one: the question, the answer and its grades.

A benchmark describes its records with a `Display` in its `Grading`. Without one, the fields that
records usually have are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_QUESTIONS = ("question", "statement", "problem", "text")
_GOLD = ("reference", "gold", "target", "answer", "answers")
_FINAL = ("final_answer", "answer", "prediction")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuestion:
    """A question as a report shows it.

    Attributes:
        text: the question; empty: the record does not hold it, and the samples are searched.
        options: to choose from, where the text does not list them.
        marks: the marks of the options, one for each; empty: none were shown.
        right: the place of the right option; None where there is none.
        gold: the gold answers, where no option is right; empty: the samples are searched.
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
        grader: who gave it, such as ``published rules``.
        value: from 0 to 1; None where there is none.
        word: what is shown of it where that is not right, wrong or a number, such as
            ``undecided``.
        counts: whether it is the one that the score is taken from.
        found: the final answer as this grader found it; None where it does not say.
        reason: the rule that decided, or what kind of mistake it is.
        asked: what a judge was asked, whole; empty where that is not known.
        reply: what the judge replied, whole; None without a judge.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """An answer as a report shows it.

    Attributes:
        final: the final answer; empty where none was found, None where the record does not say.
        grades: all of its grades.
        variant: which variant of the question it answers, such as ``wording 2``; empty: there is
            only one.
        chosen: the place of the chosen option; None where none was.
        by_option: numbers of each option, such as its likelihood, by what they are.
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
    """Nothing to say of several answers together."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How a report shows the graded answers of a benchmark.

    Answers whose instances have the same ``key`` and ``id`` are shown on one page.

    Attributes:
        question: the question of a record.
        answer: the answer of a record, with its grades.
        together: facts about one run's answers to one question, by name; called where there are
            several.
        scale: what the score of a record measures, such as ``ROUGE-L``; empty where it says whether
            the answer is right.
        by: the breakdowns that a report has a table of, and filters by; None: all.
        filters: further breakdowns that it filters by.
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

"""How a benchmark's grades are summarized, and how a report shows its questions and answers.

A benchmark describes its records with a `Display` in its `Grading`. Without one, question and gold
answer are read from the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lmms_rpts.judging.types import NOT_JUDGED, Request, Verdict
from lmms_rpts.runs.answers import Grade as JudgeGrade
from lmms_rpts.runs.metrics import Metrics
from lmms_rpts.runs.rounds import Figure
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.tasks.rebuilding import Rebuilt

if TYPE_CHECKING:
    from lmms_rpts.grading.grader import Grade
    from lmms_rpts.judging.prompts import Prompts

Rounds = Sequence[Sequence[Any]]
"""The responses of each round."""

Counts = Mapping[str, int | Mapping[str, int]]


class Best(str):
    """The text of a cell with the best value of its column."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, which are untrusted.

    Attributes:
        title: empty: none is shown.
        heads: headings of the columns.
        texts: number of text columns; the others, to their right, have numbers.
        sections: rows that belong together.
    """

    title: str
    heads: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]

    @staticmethod
    def is_best(cell: str) -> bool:
        """Whether a cell is emphasized."""
        return isinstance(cell, Best)


class Subject(NamedTuple):
    """A model, on a task if each task is summarized separately."""

    task: str
    model: str


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one model on some questions.

    Attributes:
        task: the task, if each is summarized separately; else empty.
        rounds: number of its runs that cover any of them.
        questions: number of questions.
        responses: its responses to them, over all rounds.
        unscored: number of responses without a value of the first metric.
        counts: further counts, by name.
        metrics: figures of the metrics, by name.
        tokens: tokens per response, if reported; without an interval.
    """

    task: str
    model: str
    rounds: int
    questions: int
    responses: int
    unscored: int
    counts: Counts
    metrics: Mapping[str, Figure]
    tokens: Figure


@dataclass(frozen=True, slots=True)
class Group:
    """The models on the questions with one value of a breakdown; None: no value in the data."""

    value: str | None
    models: tuple[Figures, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The models on the questions grouped by the values of one breakdown."""

    by: str
    groups: tuple[Group, ...]


class Column(NamedTuple):
    """A column of numbers: its heading, a model's text, and whether it is informative.

    It is shown if it is informative for any model. ``best``: the models whose values are
    emphasized; ``words``: what it shows.
    """

    head: str
    text: Callable[[Figures], str]
    informative: Callable[[Figures], bool] = lambda figures: True
    best: Callable[[Sequence[Figures]], Collection[str]] = lambda models: ()
    words: str = ""


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
        asked: the request to the judge; None if unknown.
        verdict: the verdict of the judge; None without a judge.
        error: why there is no grade.
    """

    grader: str
    value: float | None
    word: str = ""
    counts: bool = False
    found: str | None = None
    reason: str = ""
    asked: Rebuilt | None = None
    verdict: Verdict | None = None
    error: str | None = None

    @property
    def reply(self) -> str | None:
        """The judge's complete reply; None without a judge."""
        return self.verdict.reply if self.verdict else None


NO_REFERENCE = "the question has no reference answer that a judge could compare with"

SCORES: Mapping[str, float | None] = {"correct": 1.0, "incorrect": 0.0, "undecided": None}
"""The score of an outcome of the rules."""


def known_grade(reference: str, answer: str) -> JudgeGrade | None:
    """The grade for a missing reference or a missing answer, which needs no judge."""
    if not reference.strip():
        return JudgeGrade(score=None, reason=NO_REFERENCE)
    return None if answer.strip() else JudgeGrade(score=0.0)


def grade_of(verdict: Verdict, right: str, unjudged: str = NOT_JUDGED) -> JudgeGrade:
    """The grade of a verdict: 1 if it is the word ``right``, else 0; None if the judge failed."""
    if verdict.error == NOT_JUDGED:
        return JudgeGrade(score=None, reason=unjudged)
    score = None if verdict.error else float(verdict.value == right)
    return JudgeGrade(score=score, verdict=verdict)


def asked_in(verdict: Verdict | None) -> Rebuilt | None:
    """The request of a verdict; None if the record does not have its messages."""
    return Rebuilt(*verdict.asked) if verdict is not None and verdict.asked else None


def judged_grade(
    grader: str | None, judged: JudgeGrade, counts: bool, asked: Callable[[], Rebuilt | None]
) -> ShownGrade:
    """A grade by a judge; ``asked`` returns its prompt, unless the answer was empty."""
    empty = judged.reply is None and judged.error is None
    return ShownGrade(
        grader=grader or "judge",
        value=judged.score,
        counts=counts,
        reason="not asked: the answer is empty" if empty else "",
        asked=None if empty else asked(),
        verdict=judged.verdict,
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


@dataclass(frozen=True, slots=True)
class AnswerGrader:
    """How a benchmark grades free-form answers.

    ``rules``: from question, reference and response; ``request``: asks a judge, given the prompts,
    a document with question and reference, and the answer.
    """

    rules: Callable[[str, str, str], Grade]
    request: Callable[[Prompts, Mapping[str, Any], str], Request]


def score_only(record: Any) -> ShownAnswer:
    """The score of a record, and who graded."""
    score = getattr(record, record.SCORE, None)
    grade = ShownGrade(grader=record.settings.judge, value=score, counts=True, error=record.reason)
    return ShownAnswer(grades=(grade,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How a report shows the graded answers of a benchmark.

    Answers whose instances have the same ``key`` and ``id`` are shown on one page.

    Attributes:
        question: the question of a record; if it is empty, the samples are read.
        answer: the answer of a record, with its grades.
        scale: what the score of a record measures, such as ``ROUGE-L``; empty if it says whether
            the answer is right.
        by: the breakdowns that a report shows as tables and as filters; None: all.
        filters: further breakdowns, shown only as filters.
    """

    question: Callable[[Any], ShownQuestion] = lambda record: ShownQuestion()
    answer: Callable[[Any], ShownAnswer] = score_only
    scale: Callable[[Any], str] = lambda record: ""
    by: Sequence[str] | None = None
    filters: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Grading:
    """How the graded answers of a benchmark are summarized and shown.

    Attributes:
        title: title of the benchmark.
        metrics: the metrics, by name; the first says which responses are scored. Those that are
            defined only for a set of records are computed by ``more``.
        breakdowns: functions that return the values of a record, by name; None: no value in the
            data.
        first: the breakdown that is always shown; empty: none.
        by_task: each task is summarized separately.
        same_questions: tasks that ask the same questions in other ways.
        questions: a word for them.
        order: of values; other values come after them.
        settings: names of settings that must be the same in all runs.
        counts: predicates by name; the records for which one is true are counted.
        more: further metrics and counts of some responses, for a name and value of a breakdown.
        asked: further questions to a judge, each with a function that returns why it failed.
        notes: further warnings about a run.
        remedy: what to do about a run's responses without a score, after their number.
        columns: columns of a model between the number of questions and its tokens: names of
            metrics, and others.
        best: the models with the best value of a metric, which is emphasized.
        explained: what other headings and marks mean, in addition to the words of the metrics.
        sentence: a sentence about each model below the tables.
        sheets: further tables of the models, after the first.
        numbers: the values of these tables, by name, for JSON.
        beside: the figures of models that stand beside published ones, by column, for a protocol
            and a model; None: the metrics.
        flags: what a report can filter the answers by, by name.
        display: how a report shows its answers one by one.
    """

    title: str
    metrics: Metrics
    breakdowns: Mapping[str, Callable[[Any], Iterable[str | None]]] = field(default_factory=dict)
    first: str = ""
    by_task: bool = False
    same_questions: bool = True
    questions: str = "questions"
    order: Sequence[str] = ()
    settings: Sequence[str] = ()
    counts: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    more: Callable[[Rounds, str, str | None], tuple[Mapping[str, Figure], Counts]] | None = None
    asked: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    notes: Callable[[AnyRun], Iterable[str]] | None = None
    remedy: Callable[[AnyRun], str] = lambda run: ""
    columns: Sequence[str | Column] = ()
    best: Callable[[str, Sequence[Figures]], Collection[str]] | None = None
    explained: Mapping[str, str] = field(default_factory=dict)
    sentence: Callable[[Figures], str] | None = None
    sheets: Callable[[Sequence[Figures]], Iterable[Sheet]] | None = None
    numbers: Callable[[Sequence[Figures]], Mapping[str, Any]] | None = None
    beside: Callable[[Sequence[Figures]], Mapping[tuple[str, str], Mapping[str, Figure]]] | None = (
        None
    )
    flags: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    display: Display = field(default_factory=Display)

    @property
    def response_metrics(self) -> Metrics:
        """The metrics that single responses have."""
        return {name: each for name, each in self.metrics.items() if each.value}

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """The names of the metrics by the title of their group."""
        return self._grouped(self.metrics)

    def groups_in(self, figures: Iterable[Any]) -> Mapping[str, Sequence[str]]:
        """The same without optional metrics that have no value in any of these figures."""
        return self._grouped(self.known_in(figures))

    def known_in(self, figures: Iterable[Any]) -> list[str]:
        """The names of the metrics, without optional ones of which none of these has a value."""
        figures = list(figures)
        return [
            name
            for name, each in self.metrics.items()
            if not each.optional or any(one.metrics[name].value is not None for one in figures)
        ]

    def _grouped(self, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for name in names:
            if self.metrics[name].group:
                found.setdefault(self.metrics[name].group, []).append(name)
        return found

    def score(self, record: Any) -> float | None:
        """The value of the first metric; None: the response is unscored."""
        return next(iter(self.metrics.values())).of(record)

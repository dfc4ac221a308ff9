"""Base class for filters that grade answers with rules or a judge and write JSON records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from loguru import logger

from lmms_rpts.base.settings import Settings
from lmms_rpts.filters.base import JudgingFilter
from lmms_rpts.filters.documents import instance_of
from lmms_rpts.filters.isolation import Isolation
from lmms_rpts.filters.responses import REQUEST_FAILED, Doc, missing_response
from lmms_rpts.judging import (
    NO_JUDGE,
    Dialogue,
    JudgeConfigurationError,
    Verdict,
    backend_of,
    choices,
    find_judge,
)
from lmms_rpts.judging.progress import open_bar
from lmms_rpts.judging.types import NOT_JUDGED
from lmms_rpts.reasoning.thinking import ReasoningSource, select_reasoning, split_thinking
from lmms_rpts.runs.record import JudgeCall, JudgeGrade, Record

if TYPE_CHECKING:
    from lmms_rpts.grading import Grade
    from lmms_rpts.judging import JudgeRequest
    from lmms_rpts.judging.prompts import Prompts

T = TypeVar("T")

NO_REFERENCE = "the question has no reference answer that a judge could compare with"

MANY = 300
"""Minimum number of responses for a progress bar of grading by rules."""


Answers = tuple[JudgeGrade | None, Any]
"""The judge's grade, and the entry of further questions; None: not asked."""


@dataclass(frozen=True, slots=True)
class AnswerGrader:
    """How a benchmark grades free-form answers.

    ``rules``: from question, reference and response; ``request``: asks a judge, given the prompts,
    a document with question and reference, and the answer.
    """

    rules: Callable[[str, str, str], Grade]
    request: Callable[[Prompts, Doc, str], JudgeRequest]


SCORES: Mapping[str, float | None] = {"correct": 1.0, "incorrect": 0.0, "undecided": None}
"""The score of an outcome of the rules."""


@dataclass(frozen=True, slots=True)
class Given:
    """The parts of a response.

    Attributes:
        answer: the text outside the thinking, which is graded.
        source: as returned by `select_reasoning`.
        thinking: the hidden part; None if there is none.
        score, reason: by rules: the score, or why there is none.
        found: what else the rules found; None after an internal error.
        missing: whether there is nothing to grade.
    """

    answer: str = ""
    source: ReasoningSource = "response"
    thinking: str | None = None
    score: float | None = None
    reason: str | None = None
    found: Any = None
    missing: bool = False


class GradingFilter(JudgingFilter):
    """A filter that turns each response into one JSON string, its record.

    Subclasses define the rules, what the judge is asked and what is recorded besides.

    Attributes:
        RECORD: type of the records.
        NAMES: fields of a question that have another name in the documents.
        unjudged: the reason given for an answer that was not sent to a judge.
    """

    RECORD: type[Any] = Record
    NAMES: Mapping[str, str] = {"images": "img_path"}
    unjudged = NOT_JUDGED

    def apply(
        self, resps: Sequence[Sequence[str | None]], docs: Sequence[Doc]
    ) -> list[str | list[str]]:
        """One string per instance; a list of strings for an instance with several responses."""
        records = self.map_responses(resps, docs, self._write_all)
        return [record[0] if len(record) == 1 else record for record in records]

    def rules(self, answer: str, doc: Doc) -> tuple[float | None, str | None, Any]:
        """The score of an answer by rules, or why there is none; and what else they found."""
        raise NotImplementedError

    def read(self, response: str | None, doc: Doc) -> Any:
        """The parts of a response, graded by rules."""
        missing = missing_response(response)
        part = select_reasoning(response or "")
        score, reason, found = self.rules(part.spoken, doc)
        if missing:
            return Given(reason=missing, found=found, missing=True)
        thinking = (split_thinking(response or "")[1] or "").strip() or None
        return Given(part.spoken, part.source, thinking, score, reason, found)

    def unread(self, reason: str) -> Any:
        """The parts of a response that could not be parsed."""
        return Given(reason=reason, missing=True)

    def asks(self, doc: Doc) -> bool:
        """Whether a judge may be asked about a response to this document."""
        return False

    def ask(self, given: Any, doc: Doc) -> Dialogue[Answers]:
        """The conversation with the judge about the parts of a response."""
        yield from ()
        return None, None

    def record(self, given: Any, grade: JudgeGrade | None, more: Any, doc: Doc) -> Any:
        """The record of a response: its parts, the judge's grade, and further answers."""
        score, reason = (given.score, given.reason) if grade is None else (grade.score, grade.error)
        return self.RECORD(
            outcome="unscored" if score is None else "scored",
            reason=reason if score is None else None,
            score=score,
            answer=given.answer,
            source=given.source,
            instance=self.instance(doc),
            **self.fields(given, grade, more, doc),
        )

    def fields(self, given: Any, grade: JudgeGrade | None, more: Any, doc: Doc) -> dict[str, Any]:
        """The settings and the benchmark's own fields of a record."""
        raise NotImplementedError

    def instance(self, doc: Doc, **known: Any) -> Any:
        """The question of a document; ``known``: values that are not read from it."""
        instance = self.RECORD.model_fields["instance"].annotation
        return instance_of(instance, doc, self.NAMES, **known)

    def report(self, records: Sequence[Any]) -> None:
        """Log warnings that the table of results does not show: why responses have no score."""
        report_ungraded((each.reason or "" for each in records if each.score is None), len(records))

    def records(self, pairs: Sequence[tuple[str | None, Doc]]) -> list[Record]:
        """The record of each response; an internal error affects one response only."""
        with Isolation("grading a response") as isolation:
            parts, dialogues = [], []
            for response, doc in with_progress(pairs, "Grading by rules", self.settings.rank == 0):
                given = isolation.run(partial(self.read, response, doc), self.unread)
                parts.append(given)
                dialogues.append(isolation.begin(partial(self.ask, given, doc), _failed_grade))
            asks = [
                isolation.run(partial(self.asks, doc), lambda reason: False) for _, doc in pairs
            ]
            answers = self.ask_judge(dialogues, any(asks))
            return [
                isolation.run(
                    partial(self.record, given, *answer, doc), partial(self._unrecorded, doc)
                )
                for given, answer, (_, doc) in zip(parts, answers, pairs, strict=True)
            ]

    def _unrecorded(self, doc: Doc, reason: str) -> Any:
        return self.record(self.unread(reason), None, None, doc)

    def ask_judge(self, dialogues: Sequence[Dialogue[T]], asks: bool) -> list[T]:
        """The results of conversations with the judge; without a judge unless ``asks``."""
        if not asks or self.judge == NO_JUDGE:
            return [unanswered(dialogue, self.unjudged) for dialogue in dialogues]
        answers, fatal = self.converse(dialogues, "Grading answers")
        if fatal:
            logger.error(
                "Grading stopped: {}. Verdicts are cached (LMMS_RPTS_CACHE); responses are saved "
                "with --log_samples or --use_cache. Run the same command again to request only the "
                "missing verdicts.",
                fatal,
            )
        return answers

    def _write_all(self, pairs: list[tuple[Any, Doc]]) -> list[str]:
        records = self.records(pairs)
        self.report(records)
        return [record.to_json() for record in records]


def _failed_grade(reason: str) -> Answers:
    return JudgeGrade(score=None, error=reason), None


def known_grade(reference: str, answer: str) -> JudgeGrade | None:
    """The grade for a missing reference or a missing answer, which needs no judge."""
    if not reference.strip():
        return JudgeGrade(score=None, error=NO_REFERENCE)
    return None if answer.strip() else JudgeGrade(score=0.0)


def grade_of(verdict: Verdict, right: str) -> JudgeGrade:
    """The grade of a verdict: 1 if it is the word ``right``, else 0; None if the judge failed."""
    score = None if verdict.error else float(verdict.value == right)
    call = JudgeCall.of(verdict)
    return JudgeGrade(score=score, reply=verdict.text, error=verdict.error, call=call)


def unanswered(dialogue: Dialogue[T], reason: str) -> T:
    """The result of a conversation without a judge."""
    try:
        next(dialogue)
        while True:
            dialogue.send(Verdict(None, attempts=0, error=reason))
    except StopIteration as end:
        result: T = end.value
        return result


def with_progress(items: Sequence[T], label: str, shown: bool) -> Iterator[T]:
    """The items, with a progress bar if there are at least ``MANY``."""
    return iter(open_bar(shown and len(items) >= MANY, items, desc=label))


def report_ungraded(reasons: Iterable[str], total: int) -> None:
    """Log why responses have no score.

    Args:
        reasons: one for each response without a score.
        total: number of all responses.
    """
    counts = Counter(each for each in reasons if not each.startswith(REQUEST_FAILED))
    del counts[NOT_JUDGED]  # as requested; failed requests have a warning of their own
    if counts:
        logger.warning(
            "{} of {} responses could not be graded and are left out of the means "
            "(grader_coverage); most often: {}",
            sum(counts.values()),
            total,
            counts.most_common(1)[0][0],
        )


def report_failed(entries: Iterable[Any], what: str) -> None:
    """Log how many of the further questions failed; ``what`` describes the failure."""
    asked = [each for each in entries if each]
    failed = [each.error for each in asked if each.error not in (None, NOT_JUDGED)]
    if failed:
        logger.warning("{} of {} {}; first: {}", len(failed), len(asked), what, failed[0])


def needed_judge(
    settings: Settings, table: Any, extra: Sequence[str], default: str | None = None
) -> str:
    """The configured judge, after a check that it can write text.

    ``none`` is allowed: responses are then ungraded and can be graded later.

    Args:
        settings: settings of the run.
        table: settings of the benchmark that require a judge: ``grader`` other than ``rule``, or
            flags.
        extra: the names of the flags that are set.
        default: the judge if LMMS_RPTS_JUDGE is not set.

    Raises:
        JudgeConfigurationError: the message says what to set.
    """
    grader = f"{table.TABLE.upper()}_GRADER="
    flags = [f"[{table.TABLE}] {name} = " for name in extra]
    need = f"{flags[0]}true" if flags else f"{grader}{table.grader}"
    judge = settings.judge or default
    if judge is None:
        raise JudgeConfigurationError(f"{need} needs a judge, and none is set. {choices()}")
    find_judge(judge, settings)
    if judge != NO_JUDGE and not backend_of(judge).writes:
        off = ", ".join([f"{grader}rule", *(f"{flag}false" for flag in flags)])
        raise JudgeConfigurationError(
            f"{need} needs a judge that writes text; {judge!r} does not: choose another judge with "
            f"LMMS_RPTS_JUDGE, or grade answers by rules ({off})"
        )
    return judge

"""Base class for filters that grade answers with rules or a judge, as JSON records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from loguru import logger
from tqdm import tqdm

from lmms_rpts.filters.base import JudgingFilter
from lmms_rpts.filters.responses import Doc
from lmms_rpts.judging import NO_JUDGE, Dialogue, Verdict
from lmms_rpts.judging.backends.none import NOT_JUDGED
from lmms_rpts.judging.isolation import Isolation
from lmms_rpts.judging.progress import standard_error
from lmms_rpts.runs.record import JudgeGrade, Record

T = TypeVar("T")
Given = TypeVar("Given")

NO_REFERENCE = "the question has no reference answer that a judge could compare with"

MANY = 300
"""Responses from which on it is shown how grading by rules gets on."""


Answers = tuple[JudgeGrade | None, Any]
"""The judge's grade, and the entry of what else it was asked; None: not asked."""


class GradingFilter(JudgingFilter):
    """A filter that turns each response into one JSON string, its record.

    Subclasses have ``records`` and ``report``. ``unjudged``: what an answer that nobody was asked
    about says.
    """

    unjudged = NOT_JUDGED

    def apply(
        self, resps: Sequence[Sequence[str | None]], docs: Sequence[Doc]
    ) -> list[str | list[str]]:
        """One string an instance, or a list of them where it has several responses."""
        records = self.map_responses(resps, docs, self._write_all)
        return [record[0] if len(record) == 1 else record for record in records]

    def records(self, pairs: Sequence[tuple[str | None, Doc]]) -> Sequence[Record]:
        """The record of each response."""
        raise NotImplementedError

    def report(self, records: Sequence[Any]) -> None:
        """Say what the table of results does not."""
        raise NotImplementedError

    def grade_each(
        self,
        pairs: Iterable[tuple[str | None, Doc]],
        read: Callable[[str | None, Doc], Given],
        unread: Callable[[str], Given],
        ask: Callable[[Given, Doc], Dialogue[Answers]],
        asks: bool,
    ) -> list[tuple[Given, Answers]]:
        """What was given, and what the judge told of it; a fault of ours is one response's.

        Args:
            pairs: responses with their documents.
            read: the parts of a response.
            unread: the parts of one that could not be read, by the reason.
            ask: the conversation with the judge about one.
            asks: whether there is anything to ask.
        """
        with Isolation("grading a response") as isolation:
            all_given, dialogues = [], []
            for response, doc in pairs:
                given = isolation.run(partial(read, response, doc), unread)
                all_given.append(given)
                dialogues.append(isolation.begin(partial(ask, given, doc), _not_told))
            return list(zip(all_given, self.hear(dialogues, asks), strict=True))

    def hear(self, dialogues: Sequence[Dialogue[T]], asks: bool) -> list[T]:
        """The results of conversations with the judge, or with nobody where it ``asks`` none."""
        if not asks or self.judge == NO_JUDGE:
            return [unanswered(dialogue, self.unjudged) for dialogue in dialogues]
        heard, fatal = self.converse(dialogues, "Grading answers")
        if fatal:
            logger.error(
                "Grading stopped: {}. Verdicts are kept (LMMS_RPTS_CACHE), and responses with "
                "--log_samples or --use_cache: the same command asks only the rest.",
                fatal,
            )
        return heard

    def _write_all(self, pairs: list[tuple[Any, Doc]]) -> list[str]:
        records = self.records(pairs)
        self.report(records)
        return [record.to_json() for record in records]


def _not_told(reason: str) -> Answers:
    return judge_grade(None, error=reason), None


def judge_grade(
    score: float | None, reply: str | None = None, error: str | None = None
) -> JudgeGrade:
    """A grade that a judge gave, or that needed none."""
    return JudgeGrade(score=score, reply=reply, error=error)


def known_grade(reference: str, answer: str) -> JudgeGrade | None:
    """What needs no judge: nobody can compare what isn't there, and no answer is no right one."""
    if not reference.strip():
        return judge_grade(None, error=NO_REFERENCE)
    return None if answer.strip() else judge_grade(0.0)


def grade_of(verdict: Verdict, right: str) -> JudgeGrade:
    """The grade of a verdict: 1 where it is the word ``right``, else 0; None: the judge failed."""
    score = None if verdict.error else float(verdict.value == right)
    return judge_grade(score, verdict.text, verdict.error)


def unanswered(dialogue: Dialogue[T], reason: str) -> T:
    """The result of a conversation with a judge that isn't there."""
    try:
        next(dialogue)
        while True:
            dialogue.send(Verdict(None, attempts=0, error=reason))
    except StopIteration as end:
        result: T = end.value
        return result


def in_sight(items: Sequence[T], label: str, shown: bool) -> Iterator[T]:
    """The items, while a bar shows rate and time left, if there are ``MANY``."""
    place = standard_error() if shown and len(items) >= MANY else None
    if place is None:
        yield from items
        return
    stream, interval = place
    yield from tqdm(items, desc=label, dynamic_ncols=True, mininterval=interval, file=stream)


def report_ungraded(reasons: Iterable[str], total: int) -> None:
    """Say why responses have no score.

    Args:
        reasons: of those that have none.
        total: how many responses there are.
    """
    counts = Counter(reasons)
    del counts[NOT_JUDGED]  # as it was asked for
    if counts:
        logger.warning(
            "{} of {} responses could not be graded and are left out of the means "
            "(grader_coverage); most often: {}",
            sum(counts.values()),
            total,
            counts.most_common(1)[0][0],
        )


def report_failed(entries: Iterable[Any], what: str) -> None:
    """Say how many of the questions beside the grade failed: ``what`` could not be done."""
    asked = [each for each in entries if each]
    failed = [each.error for each in asked if each.error not in (None, NOT_JUDGED)]
    if failed:
        logger.warning("{} of {} {}; first: {}", len(failed), len(asked), what, failed[0])

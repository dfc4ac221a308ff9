"""Scoring of answers that rules grade, else a judge: the base of the scorers of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from loguru import logger
from pydantic import ValidationError

from lmms_rpts.base.schema import all_faults
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import NO_JUDGE, NOT_JUDGED, Request
from lmms_rpts.reasoning.thinking import ReasoningSource, select_reasoning
from lmms_rpts.scoring.question import Asked
from lmms_rpts.scoring.reading import internal_error
from lmms_rpts.scoring.scorer import Scorer, missing_response
from lmms_rpts.tasks.answers import AnswerRecord, Finding, Grade, GradedHow

if TYPE_CHECKING:
    from lmms_rpts.grading.grader import Grade as RuleGrade

Doc = Mapping[str, Any]
Grades = Mapping[str, Grade]


@dataclass(frozen=True, slots=True)
class Given:
    """The parts of a response: the text that is graded, where it was, and the thinking."""

    answer: str = ""
    source: ReasoningSource | Literal["likelihood"] = "response"
    thinking: str = ""


class GradingScorer(Scorer):
    """Scores answers by rules or a judge; subclasses define both.

    Args:
        settings: settings of the run.
        judge: the judge if the settings name none.

    Attributes:
        DATA: name of the data, for messages.
        QUESTION: the type of its questions, which documents are read as.
        RECORD: the type of its records.
    """

    UNSCORED = "graded and are left out of the means (grader_coverage)"
    DATA: ClassVar[str]
    QUESTION: ClassVar[type[Asked]]
    RECORD: ClassVar[type[AnswerRecord]]

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        self.settings, self.prompts = settings, Prompts(settings.prompts)
        super().__init__(self.choose(judge))
        self._failures: dict[str, list[str | None]] = {}

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        return NO_JUDGE

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why a document cannot be scored, as sentences without their full stops."""
        try:
            self.QUESTION.model_validate({**doc, "task": "", "doc_id": 0})
        except ValidationError as error:
            yield from all_faults(error)

    def pairs(
        self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]
    ) -> list[list[tuple[Any, Doc]]]:
        """What is scored of each instance's responses to its document.

        What is no text counts as no response; so does an instance without any response.
        """
        listed = [[it] if isinstance(it, str) else list(it or [None]) for it in resps]
        return [
            [(each if isinstance(each, str) else None, doc) for each in given]
            for given, doc in zip(listed, docs, strict=True)
        ]

    # --- what a benchmark defines

    def rules(self, answer: str, question: Any) -> dict[str, Grade]:
        """The grades by rules, by the grader's name."""
        raise NotImplementedError

    def asks(self, question: Any) -> bool:
        """Whether a judge may be asked about a response to this question."""
        return False

    async def ask(
        self, given: Given, question: Any, grades: Grades, judge: Client
    ) -> tuple[dict[str, Grade], dict[str, Finding]]:
        """The judge's grade by its name, and what else it says."""
        return {}, {}

    def counting(self, question: Any, grades: Grades) -> str:
        """The grader whose grade counts."""
        return "rule"

    def graded_how(self, question: Any) -> Any:
        """The ``settings`` of a record; here: by rules."""
        return GradedHow(grader="rule", judge=None, prompt_version="")

    # --- what is common

    async def score(self, response: Any, question: Any, judge: Client) -> Any:
        """The record of a response; an internal error affects this response only."""
        missing = missing_response(response)
        given, grades, findings = Given(), dict[str, Grade](), dict[str, Finding]()
        try:
            if not missing:
                given = self.read(response)
                grades = self.rules(given.answer, question)
                judged, findings = await self.ask(given, question, grades, judge)
                grades |= judged
        except Exception as error:
            missing = internal_error(error, "grading a response")
            grades, findings = {}, {}
        return self.record(given, grades, findings, question, missing, response)

    def read(self, response: Any) -> Given:
        """The parts of a response."""
        part = select_reasoning(response)
        return Given(part.spoken, part.source, part.thinking)

    def record(
        self,
        given: Given,
        grades: Grades,
        findings: Mapping[str, Finding],
        question: Any,
        missing: str | None,
        response: Any,
        **more: Any,
    ) -> Any:
        """The record of a response; ``missing``: why there is nothing to grade."""
        grader = self.counting(question, grades)
        counted = grades.get(grader, Grade(score=None, reason=missing))
        return self.RECORD(
            outcome="unscored" if counted.score is None else "scored",
            reason=counted.error if counted.score is None else None,
            score=counted.score,
            grader=None if counted.score is None else grader,
            grades=dict(grades),
            findings=dict(findings),
            answer=given.answer,
            source=given.source,
            instance=question,
            settings=self.graded_how(question),
            text=response,
            **more,
        )

    def request(
        self, kind: str, question: Asked, given: Given, parse: Any, **fields: Any
    ) -> Request:
        """A request to the judge about a response; ``fields`` replace the question's own."""
        language, known = question.asked(kind, given.answer, given.thinking)
        return self.prompts.request(kind, language, parse=parse, **{**known, **fields})

    def note(self, record: Any) -> None:
        """Count a record for the warnings of ``report``."""
        super().note(record)
        for name, finding in record.findings.items():
            self._failures.setdefault(name, []).append(finding.error)

    def report(self) -> None:
        """Log what the table of results does not show."""
        super().report()
        for name, asked in self._failures.items():
            errors = [each for each in asked if each not in (None, NOT_JUDGED)]
            if errors:
                logger.warning(
                    "The judge did not say {!r} of {} of {} responses; first: {}",
                    *(name, len(errors), len(asked), errors[0]),
                )


def graded_by_rules(found: RuleGrade) -> Grade:
    """The grade of ``lmms_rpts.grading``, which has no score if it is undecided."""
    return Grade(score=SCORES[found.outcome], answer=found.answer, rule=found.rule)


def graded_by(verdict: Any, right: str, unjudged: str = NOT_JUDGED) -> Grade:
    """The grade of a judge's verdict: 1 if it is the word ``right``, else 0; None if it failed."""
    if verdict.error == NOT_JUDGED:
        return Grade(score=None, reason=unjudged)
    return Grade(score=None if verdict.error else float(verdict.value == right), verdict=verdict)


def found_by(verdict: Any, **more: Any) -> Finding:
    """The finding of a judge's verdict."""
    return Finding(value=None if verdict.error else verdict.value, verdict=verdict, **more)


NO_REFERENCE = "the question has no reference answer that a judge could compare with"


def known_grade(reference: str, answer: str) -> Grade | None:
    """The grade for a missing reference or a missing answer, which needs no judge."""
    if not reference.strip():
        return Grade(score=None, reason=NO_REFERENCE)
    return None if answer.strip() else Grade(score=0.0)


SCORES: Mapping[str, float | None] = {"correct": 1.0, "incorrect": 0.0, "undecided": None}
"""The score of an outcome of the rules."""

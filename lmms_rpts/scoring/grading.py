"""Scoring of answers that rules grade, else a judge: the base of the scorers of benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from loguru import logger

from lmms_rpts.base.schema import Model
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import NO_JUDGE, NOT_JUDGED
from lmms_rpts.reasoning.thinking import ReasoningSource, select_reasoning, split_thinking
from lmms_rpts.runs.record import FromJudge, JudgeGrade
from lmms_rpts.scoring.question import field_faults
from lmms_rpts.scoring.reading import internal_error
from lmms_rpts.scoring.scorer import Scorer, missing_response

Doc = Mapping[str, Any]


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


class GradingScorer(Scorer):
    """Scores answers by rules or a judge; subclasses define both, and what is recorded besides.

    Args:
        settings: settings of the run.
        judge: the judge if the settings name none.

    Attributes:
        DATA, DOCUMENT: name of the data, for messages, and the fields of its documents.
        NAMES: fields of a question that have another name in the documents.
        unasked: metrics without a value because the settings leave out their questions.
        unjudged: the reason given for an answer that was not sent to a judge.
    """

    UNSCORED = "graded and are left out of the means (grader_coverage)"
    DATA: ClassVar[str]
    DOCUMENT: ClassVar[type[Model]]
    NAMES: ClassVar[Mapping[str, str]] = {"images": "img_path"}
    unasked: frozenset[str] = frozenset()
    unjudged = NOT_JUDGED

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        self.settings, self.prompts = settings, Prompts(settings.prompts)
        super().__init__(self.choose(judge))
        self._asked = Counter[str]()
        self._failures: dict[str, list[str]] = {}

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        return NO_JUDGE

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why a document cannot be scored, as sentences without their full stops."""
        yield from field_faults(doc, self.DOCUMENT)

    async def score(self, response: str | None, question: Doc, judge: Client) -> Any:
        """The record of a response; an internal error affects this response only."""
        try:
            given = self.read(response, question)
            grade, more = await self.ask(given, question, judge)
            record = self.record(given, grade, more, question)
        except Exception as error:
            reason = internal_error(error, "grading a response")
            record = self.record(Given(reason=reason, missing=True), None, None, question)
        return record.model_copy(update={"text": response})

    def rules(self, answer: str, doc: Doc) -> tuple[float | None, str | None, Any]:
        """The score of an answer by rules, or why there is none; and what else they found."""
        raise NotImplementedError

    def read(self, response: str | None, doc: Doc) -> Given:
        """The parts of a response, graded by rules."""
        missing = missing_response(response)
        text = "" if missing else response or ""
        part = select_reasoning(text)
        score, reason, found = self.rules(part.spoken, doc)
        if missing:
            return Given(reason=missing, found=found, missing=True)
        thinking = (split_thinking(text)[1] or "").strip() or None
        return Given(part.spoken, part.source, thinking, score, reason, found)

    def asks(self, doc: Doc) -> bool:
        """Whether a judge may be asked about a response to this document."""
        return False

    async def ask(self, given: Given, doc: Doc, judge: Client) -> tuple[JudgeGrade | None, Any]:
        """The judge's grade, and the entry of further questions; None: not asked."""
        return None, None

    def record(self, given: Given, grade: JudgeGrade | None, more: Any, doc: Doc) -> Any:
        """The record of a response: its parts, the judge's grade, and further answers."""
        score, reason = (given.score, given.reason) if grade is None else (grade.score, grade.error)
        record: Any = self.RECORD
        return record(
            outcome="unscored" if score is None else "scored",
            reason=reason if score is None else None,
            score=score,
            answer=given.answer,
            source=given.source,
            instance=self.instance(doc),
            **self.fields(given, grade, more, doc),
        )

    def fields(self, given: Given, grade: JudgeGrade | None, more: Any, doc: Doc) -> dict[str, Any]:
        """The settings and the benchmark's own fields of a record."""
        raise NotImplementedError

    def instance(self, doc: Doc, **known: Any) -> Any:
        """The question of a document; ``known``: values that are not read from it."""
        kind: Any = self.RECORD.model_fields["instance"].annotation
        return kind.of(doc, self.NAMES, **known)

    def further(self, record: Any) -> Iterable[tuple[str, FromJudge | None]]:
        """The answers to further questions, each with what it means that there is none."""
        return ()

    def note(self, record: Any) -> None:
        """Count a record for the warnings of ``report``."""
        super().note(record)
        for what, entry in self.further(record):
            self._asked[what] += entry is not None
            if entry is not None and entry.error not in (None, NOT_JUDGED):
                self._failures.setdefault(what, []).append(str(entry.error))

    def report(self) -> None:
        """Log what the table of results does not show."""
        super().report()
        for what, errors in self._failures.items():
            asked = self._asked[what]
            logger.warning("{} of {} {}; first: {}", len(errors), asked, what, errors[0])

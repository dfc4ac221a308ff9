"""``rome_answer``: grade answers to ROME's questions, by rules or by a judge, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lmms_rpts.filters.documents import (
    ANYTHING,
    LANGUAGE,
    NAMES,
    OPTIONAL_TEXT,
    TEXT,
    FieldCheck,
    as_optional_text,
    as_text,
    as_texts,
)
from lmms_rpts.filters.grading import (
    Answers,
    GradingFilter,
    grade_of,
    judge_grade,
    known_grade,
    report_failed,
    report_ungraded,
)
from lmms_rpts.filters.responses import Doc, missing_response
from lmms_rpts.judging import NO_JUDGE, Dialogue, JudgeConfigurationError, JudgeRequest
from lmms_rpts.judging.parsers.verdicts import parse_consistency, parse_grade
from lmms_rpts.judging.request_kinds import add_request_kinds
from lmms_rpts.reasoning.thinking import ReasoningSource, select_reasoning, split_thinking
from lmms_rpts.runs.record import JudgeGrade
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.kwargs import check_kwargs
from lmms_rpts.tasks.rome.matchers import match
from lmms_rpts.tasks.rome.record import (
    Consistency,
    RomeGrades,
    RomeGrading,
    RomeInstance,
    RomeRecord,
)
from lmms_rpts.tasks.rome.request_kinds import REQUEST_KINDS
from lmms_rpts.tasks.rome.settings import (
    asks_judge,
    grader_of,
    judge_of,
    load_rome_settings,
)
from lmms_rpts.tasks.rome.strict import grade_strictly

add_request_kinds(REQUEST_KINDS)

THINKING_SHOWN = 4000
"""Number of characters at the end of the thinking that a judge sees."""


@dataclass(frozen=True, slots=True)
class RuleGrades:
    """The grades by the published and strict rules; None, with the reason, if there are none."""

    rule: float | None = None
    strict: float | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """The parts of a response.

    Attributes:
        answer: the text outside the thinking, which is graded.
        source: as returned by `select_reasoning`.
        thinking: the hidden part; None if there is none.
        rules: the grades of the answer by rules.
        error: why there is nothing to grade; None if there is something.
    """

    answer: str
    source: ReasoningSource
    thinking: str | None
    rules: RuleGrades
    error: str | None = None


class RomeAnswerFilter(GradingFilter):
    """Turns each response into one JSON string; docs/record.md describes its fields.

    ROME_GRADER sets the grader, ``consistency`` whether a judge compares thinking and answer. If
    only rules grade, no judge is needed.

    Args:
        judge: the judge if LMMS_RPTS_JUDGE is not set.

    Raises:
        JudgeConfigurationError: if a judge is needed and none can be used.
    """

    DATA = "ROME"
    FIELDS: Mapping[str, FieldCheck] = {
        "id": ANYTHING,
        "task": TEXT,
        "language": LANGUAGE,
        "question": TEXT,
        "img_path": NAMES,
        "evaluator": TEXT,
        "evaluator_kwargs": TEXT,
        "reference": TEXT,
    }
    OPTIONAL: Mapping[str, FieldCheck] = dict.fromkeys(
        ("question_type", "image_type", "image_subtype", "reasoning_type"), OPTIONAL_TEXT
    )
    ORDER = "use rome_answer alone"

    def __init__(self, judge: str | None = None) -> None:
        self.rome = load_rome_settings()
        if not self.rome.consistency:
            self.unasked = frozenset({"thinking_answer_consistency"})
        super().__init__(judge)

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why the filter can't process a document, in sentences without their full stops."""
        faults = list(super().document_faults(doc))
        yield from faults
        if faults:
            return
        try:
            kwargs = json.loads(doc["evaluator_kwargs"])
        except (ValueError, RecursionError):
            yield "'evaluator_kwargs' should be a JSON object"
            return
        fault = check_kwargs(doc["evaluator"], kwargs)
        if fault:
            yield fault

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        try:
            return judge_of(self.rome, self.settings, SUBTASKS, default) or NO_JUDGE
        except JudgeConfigurationError as error:
            # Only the documents show whether a judge is asked; the task's check has read them.
            if self.rome.grader != "recommended" or self.rome.consistency:
                raise
            self.unjudged = f"not judged: {str(error).splitlines()[0]}"
            return NO_JUDGE

    def read(self, response: str | None, doc: Doc) -> Given:
        """The parts of a response, its answer graded by rules."""
        missing = missing_response(response)
        if missing:
            return self.unread(missing)
        part = select_reasoning(response or "")
        _, thinking, _ = split_thinking(response or "")
        rules = _grade_by_rules(doc, part.spoken)
        return Given(part.spoken, part.source, (thinking or "").strip() or None, rules)

    def unread(self, reason: str) -> Given:
        """A response with nothing to grade."""
        return Given("", "response", None, RuleGrades(fault=reason), error=reason)

    def asks(self, doc: Doc) -> bool:
        """Whether a judge grades this subtask, or compares thinking and answer."""
        return asks_judge(self.rome, as_text(doc.get("task")))

    def report(self, records: Sequence[RomeRecord]) -> None:
        """Log how many answers could not be graded, or compared with their thinking, and why."""
        reasons = (record.reason or "" for record in records if record.score is None)
        report_ungraded(reasons, len(records))
        compared = [record.consistency for record in records]
        report_failed(compared, "answers could not be compared with their thinking")

    def ask(self, given: Given, doc: Doc) -> Dialogue[Answers]:
        """The judge's replies on the answer and on its consistency with the thinking, if asked."""
        grade = consistency = None
        if grader_of(self.rome, doc["task"]) == "llm":
            error = given.error and judge_grade(None, error=given.error)
            grade = error or known_grade(doc["reference"], given.answer)
            if grade is None:
                verdict = yield self._grade_request(given, doc)
                grade = grade_of(verdict, "correct")
        if self.rome.consistency and given.thinking and given.answer.strip():
            verdict = yield self._consistency_request(given, doc)
            consistency = Consistency(
                consistent=None if verdict.error else verdict.value == "consistent",
                reply=verdict.text,
                error=verdict.error,
            )
        return grade, consistency

    def _grade_request(self, given: Given, doc: Doc) -> JudgeRequest:
        return self.prompts.request(
            "grade",
            doc["language"],
            parse=parse_grade,
            question=doc["question"],
            reference=doc["reference"],
            answer=given.answer,
        )

    def _consistency_request(self, given: Given, doc: Doc) -> JudgeRequest:
        return self.prompts.request(
            "consistency",
            doc["language"],
            parse=parse_consistency,
            question=doc["question"],
            thinking=(given.thinking or "").rstrip()[-THINKING_SHOWN:],
            answer=given.answer,
        )

    def record(
        self, given: Given, grade: JudgeGrade | None, more: Consistency | None, doc: Doc
    ) -> RomeRecord:
        """The record of a response; ``more``: whether answer and thinking are consistent."""
        score = given.rules.rule if grade is None else grade.score
        fault = given.rules.fault if grade is None else grade.error
        return RomeRecord(
            outcome="unscored" if score is None else "scored",
            reason=fault if score is None else None,
            score=score,
            grader=grader_of(self.rome, as_text(doc.get("task"))),
            grades=RomeGrades(rule=given.rules.rule, strict=given.rules.strict, llm=grade),
            answer=given.answer,
            source=given.source,
            consistency=more,
            instance=_instance(doc),
            settings=RomeGrading(
                grader=self.rome.grader,
                judge=self.judge if self.asks(doc) else None,
                prompt_version=self.prompts.version,
            ),
        )


def _grade_by_rules(doc: Doc, answer: str) -> RuleGrades:
    """The grades of an answer by the published and the strict rules."""
    try:
        kwargs = json.loads(doc["evaluator_kwargs"])
        return RuleGrades(
            rule=match(doc["evaluator"], kwargs, answer),
            strict=grade_strictly(doc["evaluator"], kwargs, answer),
        )
    except (ValueError, TypeError) as error:
        return RuleGrades(fault=f"the question can't be graded by rules: {error}")


def _instance(doc: Doc) -> RomeInstance:
    """The question as far as a record can hold it: odd documents must not lose paid-for replies."""
    kwargs: Any = {}
    with suppress(KeyError, ValueError, TypeError, RecursionError):
        kwargs = json.loads(doc["evaluator_kwargs"])
    arguments: Any = kwargs if isinstance(kwargs, dict) else {}
    return RomeInstance(
        id=as_text(doc.get("id", "")),
        subtask=as_text(doc.get("task", "")),
        language=as_text(doc.get("language", "")),
        question=as_text(doc.get("question", "")),
        reference=as_text(doc.get("reference", "")),
        evaluator=as_text(doc.get("evaluator", "")),
        evaluator_kwargs=arguments,
        question_type=as_optional_text(doc.get("question_type")),
        image_type=as_optional_text(doc.get("image_type")),
        image_subtype=as_optional_text(doc.get("image_subtype")),
        reasoning_type=as_optional_text(doc.get("reasoning_type")),
        images=as_texts(doc.get("img_path")),
    )

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
from lmms_rpts.judging import NO_JUDGE, Dialogue, JudgeConfigurationError
from lmms_rpts.judging.parsers.verdicts import parse_consistency, parse_grade
from lmms_rpts.judging.request_kinds import add_request_kinds
from lmms_rpts.reasoning.thinking import ReasoningSource, select_reasoning, split_thinking
from lmms_rpts.runs.record import JudgeGrade
from lmms_rpts.tasks.rome.arguments import check_arguments
from lmms_rpts.tasks.rome.benchmark import REQUEST_KINDS, SUBTASKS, RomeSettings
from lmms_rpts.tasks.rome.matchers import match
from lmms_rpts.tasks.rome.record import (
    OF_THE_IMAGE,
    Consistency,
    RomeGrades,
    RomeGrading,
    RomeInstance,
    RomeRecord,
)
from lmms_rpts.tasks.rome.strict import grade_strictly

add_request_kinds(REQUEST_KINDS)

THINKING_SHOWN = 4000
"""Number of characters at the end of the thinking that a judge sees."""

_TEXTS = ("task", "language", "question", "reference", "evaluator")


@dataclass(frozen=True, slots=True)
class Given:
    """The parts of a response.

    Attributes:
        answer: the text outside the thinking, which is graded.
        source: as returned by `select_reasoning`.
        thinking: the hidden part; None if there is none.
        rule, strict: grades by the published and the strict rules; None if there are none.
        fault: why there are no grades by rules.
        missing: whether there is nothing to grade.
    """

    answer: str = ""
    source: ReasoningSource = "response"
    thinking: str | None = None
    rule: float | None = None
    strict: float | None = None
    fault: str | None = None
    missing: bool = False


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
        **dict.fromkeys((*_TEXTS, "evaluator_kwargs"), TEXT),
        "language": LANGUAGE,
        "img_path": NAMES,
    }
    OPTIONAL: Mapping[str, FieldCheck] = dict.fromkeys(OF_THE_IMAGE, OPTIONAL_TEXT)
    ORDER = "use rome_answer alone"

    def __init__(self, judge: str | None = None) -> None:
        self.rome = RomeSettings.load()
        if not self.rome.consistency:
            self.unasked = frozenset({"thinking_answer_consistency"})
        super().__init__(judge)

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why the filter can't process a document, in sentences without their full stops."""
        faults = list(super().document_faults(doc))
        if not faults:
            try:
                check_arguments(doc["evaluator"], json.loads(doc["evaluator_kwargs"]))
            except (json.JSONDecodeError, RecursionError):
                faults.append("'evaluator_kwargs' should be a JSON object")
            except ValueError as error:
                faults.append(f"'evaluator_kwargs' or 'evaluator' is wrong: {error}")
        yield from faults

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        try:
            return self.rome.judge_of(self.settings, SUBTASKS, default) or NO_JUDGE
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
        rule = strict = fault = None
        try:
            kwargs = json.loads(doc["evaluator_kwargs"])
            rule = match(doc["evaluator"], kwargs, part.spoken)
            strict = grade_strictly(doc["evaluator"], kwargs, part.spoken)
        except (ValueError, TypeError) as error:
            fault = f"the question can't be graded by rules: {error}"
        thinking = (thinking or "").strip() or None
        return Given(part.spoken, part.source, thinking, rule, strict, fault)

    def unread(self, reason: str) -> Given:
        """A response with nothing to grade."""
        return Given(fault=reason, missing=True)

    def asks(self, doc: Doc) -> bool:
        """Whether a judge grades this subtask, or compares thinking and answer."""
        return self.rome.asks_judge(as_text(doc.get("task")))

    def report(self, records: Sequence[RomeRecord]) -> None:
        """Log how many answers could not be graded, or compared with their thinking, and why."""
        reasons = (record.reason or "" for record in records if record.score is None)
        report_ungraded(reasons, len(records))
        compared = [record.consistency for record in records]
        report_failed(compared, "answers could not be compared with their thinking")

    def ask(self, given: Given, doc: Doc) -> Dialogue[Answers]:
        """The judge's replies on the answer and on its consistency with the thinking, if asked."""
        grade = consistency = None
        asked = {"question": doc["question"], "answer": given.answer}
        if self.rome.grader_of(doc["task"]) == "llm":
            reference = doc["reference"]
            grade = known_grade(reference, given.answer)
            if given.missing:
                grade = judge_grade(None, error=given.fault)
            if grade is None:
                verdict = yield self.prompts.request(
                    "grade", doc["language"], parse=parse_grade, reference=reference, **asked
                )
                grade = grade_of(verdict, "correct")
        if self.rome.consistency and given.thinking and given.answer.strip():
            verdict = yield self.prompts.request(
                "consistency",
                doc["language"],
                parse=parse_consistency,
                thinking=given.thinking[-THINKING_SHOWN:],
                **asked,
            )
            consistency = Consistency(
                consistent=None if verdict.error else verdict.value == "consistent",
                reply=verdict.text,
                error=verdict.error,
            )
        return grade, consistency

    def record(
        self, given: Given, grade: JudgeGrade | None, more: Consistency | None, doc: Doc
    ) -> RomeRecord:
        """The record of a response; ``more``: whether answer and thinking are consistent."""
        score = given.rule if grade is None else grade.score
        fault = given.fault if grade is None else grade.error
        return RomeRecord(
            outcome="unscored" if score is None else "scored",
            reason=fault if score is None else None,
            score=score,
            grader=self.rome.grader_of(as_text(doc.get("task"))),
            grades=RomeGrades(rule=given.rule, strict=given.strict, llm=grade),
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


def _instance(doc: Doc) -> RomeInstance:
    """The question as far as a record can hold it: odd documents must not lose paid-for replies."""
    fields: dict[str, Any] = {name: as_text(doc.get(name, "")) for name in ("id", *_TEXTS)}
    fields |= {name: as_optional_text(doc.get(name)) for name in OF_THE_IMAGE}
    kwargs: Any = {}
    with suppress(KeyError, ValueError, TypeError, RecursionError):
        kwargs = json.loads(doc["evaluator_kwargs"])
    arguments: Any = kwargs if isinstance(kwargs, dict) else {}
    return RomeInstance(
        subtask=fields.pop("task"),
        evaluator_kwargs=arguments,
        images=as_texts(doc.get("img_path")),
        **fields,
    )

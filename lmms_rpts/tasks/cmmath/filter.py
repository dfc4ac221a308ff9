"""``cmmath_grade``: grade answers to CMMaTH's problems, by rules and by a judge, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from loguru import logger

from lmms_rpts.filters.documents import (
    ANYTHING,
    LANGUAGE,
    NAMES,
    OPTIONAL_TEXT,
    OPTIONAL_WHOLE,
    SOME_TEXT,
    TEXT,
    FieldCheck,
    as_optional_text,
    as_text,
    as_texts,
    as_whole,
)
from lmms_rpts.filters.grading import (
    Answers,
    GradingFilter,
    grade_of,
    known_grade,
    report_failed,
    report_ungraded,
)
from lmms_rpts.filters.responses import Doc, missing_response
from lmms_rpts.judging import NO_JUDGE, Dialogue, JudgeRequest
from lmms_rpts.judging.parsers.verdicts import parse_mistake, parse_yes_no
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.request_kinds import add_request_kinds
from lmms_rpts.reasoning.thinking import ReasoningSource, select_reasoning
from lmms_rpts.runs.record import JudgeGrade
from lmms_rpts.tasks.cmmath import RULES_VERSION
from lmms_rpts.tasks.cmmath.benchmark import REQUEST_KINDS, CmmathSettings
from lmms_rpts.tasks.cmmath.notation import readable
from lmms_rpts.tasks.cmmath.record import (
    CmmathGrades,
    CmmathGrading,
    CmmathInstance,
    CmmathRecord,
    MistakeEntry,
    RuleGrade,
)
from lmms_rpts.tasks.judges import needed_judge

if TYPE_CHECKING:
    from lmms_rpts.tasks.cmmath.grading import Grade, Outcome

add_request_kinds(REQUEST_KINDS)

UNDECIDED = "the rules leave it undecided"
"""The beginning of the reason why a response that only rules graded has no score."""

SCORES: dict[Outcome, float | None] = {"correct": 1.0, "incorrect": 0.0, "undecided": None}


@dataclass(frozen=True, slots=True)
class Given:
    """The parts of a response.

    Attributes:
        answer: the text outside the thinking, which is graded.
        source: as returned by `select_reasoning`.
        rules: the grade of the answer by rules; None if there is nothing to grade.
        answer_type: type of the reference; ``unknown`` if it was not read.
        error: why there is nothing to grade; None if there is something.
    """

    answer: str
    source: ReasoningSource
    rules: Grade | None
    answer_type: str
    error: str | None = None


class CmmathGradeFilter(GradingFilter):
    """Turns each response into one JSON string; docs/record.md describes its fields.

    CMMATH_GRADER sets whose grade counts, ``errors`` whether a judge classifies mistakes. If
    only rules grade, no judge is needed.

    Args:
        judge: the judge if LMMS_RPTS_JUDGE is not set.

    Raises:
        JudgeConfigurationError: if a judge is needed and none can be used.
    """

    DATA = "CMMaTH"
    FIELDS: Mapping[str, FieldCheck] = {
        "id": ANYTHING,
        "language": LANGUAGE,
        "question": TEXT,
        "reference": SOME_TEXT,
        "form": TEXT,
        "analysis": OPTIONAL_TEXT,
        "knowledge_point": OPTIONAL_TEXT,
        "img_path": NAMES,
    }
    OPTIONAL: Mapping[str, FieldCheck] = {
        "category": OPTIONAL_TEXT,
        "grade_id": OPTIONAL_WHOLE,
        "grade_group": OPTIONAL_WHOLE,
    }
    ORDER = "use cmmath_grade alone"

    def __init__(self, judge: str | None = None) -> None:
        self.cmmath = CmmathSettings.load()
        super().__init__(judge)

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        if not self.cmmath.asks_judge:
            return NO_JUDGE
        errors, grader = "[cmmath] errors = ", "CMMATH_GRADER="
        need = f"{errors}true" if self.cmmath.errors else f"{grader}{self.cmmath.grader}"
        return needed_judge(self.settings, need, f"{grader}rule, {errors}false", default)

    def read(self, response: str | None, doc: Doc) -> Given:
        """The parts of a response, its answer graded by rules."""
        from lmms_rpts.tasks.cmmath.grading import grade  # imported here: every run imports filters

        part = select_reasoning(response or "")
        rules = grade(doc["question"], doc["reference"], part.spoken)
        missing = missing_response(response)
        if missing:
            return self.unread(missing, rules.answer_type)
        return Given(part.spoken, part.source, rules, rules.answer_type)

    def unread(self, reason: str, answer_type: str = "unknown") -> Given:
        """A response with nothing to grade."""
        return Given("", "response", None, answer_type, reason)

    def asks(self, doc: Doc) -> bool:
        """Whether a judge grades, or classifies mistakes."""
        return self.cmmath.asks_judge

    def report(self, records: Sequence[CmmathRecord]) -> None:
        """Log how many answers have no score, or no kind of mistake, and why."""
        reasons = [record.reason or "" for record in records if record.score is None]
        others = [reason for reason in reasons if not reason.startswith(UNDECIDED)]
        if len(others) < len(reasons):
            logger.warning(
                "{} of {} responses are left undecided by the rules, and are left out of the means "
                "(grader_coverage); set CMMATH_GRADER=both to have a judge decide them",
                len(reasons) - len(others),
                len(records),
            )
        report_ungraded(others, len(records))
        mistakes = [record.mistake for record in records]
        report_failed(mistakes, "mistakes could not be classified")

    def ask(self, given: Given, doc: Doc) -> Dialogue[Answers]:
        """The judge's replies on the answer, and then on its mistake; None: not asked."""
        judged = mistake = None
        if self._is_judged(given):
            judged = known_grade(doc["reference"], given.answer)
            if judged is None:
                verdict = yield compare_request(self.prompts, doc, given.answer)
                judged = grade_of(verdict, "yes")
        if self.cmmath.errors and _score(given, judged) == 0.0:
            mistake = MistakeEntry(kind="reject", reply=None, error=None)
            if given.answer.strip():
                verdict = yield self._mistake_request(given, doc)
                kind: Any = None if verdict.error else verdict.value
                mistake = MistakeEntry(kind=kind, reply=verdict.text, error=verdict.error)
        return judged, mistake

    def _is_judged(self, given: Given) -> bool:
        grader = self.cmmath.grader
        if given.rules is None:
            return False
        return grader == "judge" or (grader == "both" and given.rules.outcome == "undecided")

    def _mistake_request(self, given: Given, doc: Doc) -> JudgeRequest:
        parts = [doc["reference"], doc["analysis"] or ""]
        return self.prompts.request(
            "mistake",
            doc["language"],
            parse=parse_mistake,
            question=readable(doc["question"]),
            solution="\n\n".join(readable(part) for part in parts if part.strip()),
            answer=given.answer,
        )

    def record(
        self, given: Given, grade: JudgeGrade | None, more: MistakeEntry | None, doc: Doc
    ) -> CmmathRecord:
        """The record of a response; ``more``: the kind of its mistake."""
        score = _score(given, grade)
        grader: Literal["rule", "judge"] = "rule" if grade is None else "judge"
        return CmmathRecord(
            outcome="unscored" if score is None else "scored",
            reason=_reason(given, grade) if score is None else None,
            score=score,
            grader=None if score is None else grader,
            grades=CmmathGrades(rule=_rules(given), judge=grade),
            answer_type=given.answer_type,
            answer=given.answer,
            source=given.source,
            mistake=more,
            instance=_instance(doc),
            settings=CmmathGrading(
                grader=self.cmmath.grader,
                mistakes=self.cmmath.errors,
                judge=self.judge if self.asks(doc) else None,
                prompt_version=self.prompts.version,
                rules_version=RULES_VERSION,
            ),
        )


def compare_request(prompts: Prompts, doc: Doc, answer: str) -> JudgeRequest:
    """The request that asks a judge whether an answer says the same as the reference."""
    # In English whatever the problem's language: the publishers found that a grader that restates
    # the Chinese answer in English compares better (GradeGPT, arXiv 2407.12023).
    return prompts.request(
        "compare",
        "en",
        parse=parse_yes_no,
        question=readable(doc["question"]),
        reference=readable(doc["reference"]),
        answer=answer,
    )


def _score(given: Given, judged: JudgeGrade | None) -> float | None:
    if judged is not None:
        return judged.score
    return None if given.rules is None else SCORES[given.rules.outcome]


def _reason(given: Given, judged: JudgeGrade | None) -> str | None:
    if judged is not None:
        return judged.error
    return given.error if given.rules is None else f"{UNDECIDED}: {given.rules.rule}"


def _rules(given: Given) -> RuleGrade | None:
    rules = given.rules
    if rules is None:
        return None
    return RuleGrade(outcome=rules.outcome, answer=rules.answer, rule=rules.rule)


def _instance(doc: Doc) -> CmmathInstance:
    """The problem as far as a record can hold it: odd documents must not lose paid-for replies."""
    return CmmathInstance(
        id=as_text(doc.get("id", "")),
        question=as_text(doc.get("question", "")),
        reference=as_text(doc.get("reference", "")),
        form=as_text(doc.get("form", "")),
        category=as_optional_text(doc.get("category")),
        grade_id=as_whole(doc.get("grade_id")),
        grade_group=as_whole(doc.get("grade_group")),
        knowledge_point=as_optional_text(doc.get("knowledge_point")),
        images=as_texts(doc.get("img_path")),
    )

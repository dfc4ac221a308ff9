"""``cmmath_grade``: grade answers to CMMaTH's problems, by rules and by a judge, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_rpts.base.schema import Line, Model, Several, Text, Whole
from lmms_rpts.filters.grading import (
    SCORES,
    AnswerGrader,
    Answers,
    Given,
    GradingFilter,
    grade_of,
    known_grade,
    needed_judge,
    report_failed,
    report_ungraded,
)
from lmms_rpts.filters.responses import Doc
from lmms_rpts.judging import NO_JUDGE, Dialogue, JudgeRequest
from lmms_rpts.judging.parsers import parse_mistake, parse_yes_no
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.request_kinds import add_request_kinds
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import JudgeCall, JudgeGrade
from lmms_rpts.tasks.cmmath import RULES_VERSION
from lmms_rpts.tasks.cmmath.benchmark import REQUEST_KINDS, CmmathSettings
from lmms_rpts.tasks.cmmath.notation import readable
from lmms_rpts.tasks.cmmath.record import (
    CmmathGrades,
    CmmathGrading,
    CmmathRecord,
    MistakeEntry,
    RuleGrade,
)

if TYPE_CHECKING:
    from lmms_rpts.grading import Grade

add_request_kinds(REQUEST_KINDS)

UNDECIDED = "the rules leave it undecided"
"""The beginning of the reason why a response that only rules graded has no score."""


class CmmathDocument(Model):
    """The fields of a problem."""

    id: Any
    language: Language
    question: Text
    reference: Line
    form: Text
    analysis: Text | None
    knowledge_point: Text | None
    img_path: Several[Text]
    category: Text | None = None
    grade_id: Whole | None = None
    grade_group: Whole | None = None
    caption: Text | None = None


class CmmathGradeFilter(GradingFilter):
    """Turns each response into one JSON string; ``lmms-rpts export --schema`` describes it.

    CMMATH_GRADER sets whose grade counts, ``errors`` whether a judge classifies mistakes. If
    only rules grade, no judge is needed.

    Args:
        judge: the judge if LMMS_RPTS_JUDGE is not set.
    """

    DATA = "CMMaTH"
    DOCUMENT = CmmathDocument
    ORDER = "use cmmath_grade alone"
    RECORD = CmmathRecord

    def __init__(self, judge: str | None = None) -> None:
        self.cmmath = CmmathSettings.load()
        super().__init__(judge)

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        if not self.cmmath.asks_judge:
            return NO_JUDGE
        return needed_judge(self.settings, self.cmmath, ["errors"] * self.cmmath.errors, default)

    def rules(self, answer: str, doc: Doc) -> tuple[float | None, str | None, Any]:
        """The grade by rules, which may leave an answer undecided."""
        found = grade_by_rules(doc["question"], doc["reference"], answer)
        return SCORES[found.outcome], f"{UNDECIDED}: {found.rule}", found

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
        asked = {"judge": True, "both": given.score is None}.get(self.cmmath.grader)
        if asked and not given.missing:
            judged = known_grade(doc["reference"], given.answer)
            if judged is None:
                verdict = yield compare_request(self.prompts, doc, given.answer)
                judged = grade_of(verdict, "yes")
        if self.cmmath.errors and (given if judged is None else judged).score == 0.0:
            mistake = MistakeEntry(kind="reject", reply=None, error=None)
            if given.answer.strip():
                parts = [doc["reference"], doc["analysis"] or ""]
                verdict = yield self.prompts.request(
                    "mistake",
                    doc["language"],
                    parse=parse_mistake,
                    question=readable(doc["question"]),
                    solution="\n\n".join(readable(part) for part in parts if part.strip()),
                    answer=given.answer,
                )
                kind: Any = None if verdict.error else verdict.value
                mistake = MistakeEntry(
                    kind=kind,
                    reply=verdict.text,
                    error=verdict.error,
                    call=JudgeCall.of(verdict, asked=True),
                )
        return judged, mistake

    def fields(
        self, given: Given, grade: JudgeGrade | None, more: MistakeEntry | None, doc: Doc
    ) -> dict[str, Any]:
        """Settings, all grades, and the kind of mistake (``more``)."""
        found, rule = given.found, None
        if found is not None and not given.missing:
            rule = RuleGrade(outcome=found.outcome, answer=found.answer or "", rule=found.rule)
        scored = (given if grade is None else grade).score is not None
        return {
            "grader": ("rule" if grade is None else "judge") if scored else None,
            "grades": CmmathGrades(rule=rule, judge=grade),
            "answer_type": found.answer_type if found is not None else "unknown",
            "mistake": more,
            "settings": CmmathGrading(
                grader=self.cmmath.grader,
                mistakes=self.cmmath.errors,
                judge=self.judge if self.asks(doc) else None,
                prompt_version=self.prompts.version("compare"),
                rules_version=RULES_VERSION,
            ),
        }


def grade_by_rules(question: str, reference: str, response: str) -> Grade:
    """The grade of a response by rules, which may leave it undecided."""
    from lmms_rpts.tasks.cmmath.grading import grade  # imported here: every run imports filters

    return grade(question, reference, response)


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


ANSWERS = AnswerGrader(grade_by_rules, compare_request)

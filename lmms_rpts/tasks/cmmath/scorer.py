"""Scoring of answers to CMMaTH's problems, by rules and by a judge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_rpts.base.schema import Line, Model, Several, Text, Whole
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.judging.types import NO_JUDGE, Request
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import FromJudge, JudgeGrade
from lmms_rpts.scoring.grading import Doc, Given, GradingScorer
from lmms_rpts.scoring.reading import told
from lmms_rpts.scoring.verdicts import parse_yes_no, verdict_parser
from lmms_rpts.tasks.cmmath import RULES_VERSION
from lmms_rpts.tasks.cmmath.benchmark import REQUEST_KINDS, CmmathSettings
from lmms_rpts.tasks.cmmath.notation import readable
from lmms_rpts.tasks.cmmath.prompts import read_wording
from lmms_rpts.tasks.cmmath.record import (
    METRICS,
    CmmathGrades,
    CmmathGrading,
    CmmathRecord,
    MistakeEntry,
    RuleGrade,
    judging,
)
from lmms_rpts.tasks.data import needed_judge
from lmms_rpts.tasks.grade_types import SCORES, AnswerGrader, grade_of, known_grade

if TYPE_CHECKING:
    from lmms_rpts.grading.grader import Grade

KINDS.update((each.name, each) for each in REQUEST_KINDS)

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


parse_mistake = verdict_parser(
    {"perception": "感知", "reasoning": "推理", "calculation": "计算", "reject": "拒答"}
)


class CmmathScorer(GradingScorer):
    """Grades answers to CMMaTH's problems; ``lmms-rpts export --schema`` describes the records.

    CMMATH_GRADER sets whose grade counts, ``errors`` whether a judge classifies mistakes. If
    only rules grade, no judge is needed.
    """

    DATA = "CMMaTH"
    DOCUMENT = CmmathDocument
    RECORD = CmmathRecord
    METRICS = METRICS

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        self.cmmath = CmmathSettings.load()
        self.wording = read_wording()[1]
        super().__init__(settings, judge)

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

    def further(self, record: CmmathRecord) -> Iterable[tuple[str, FromJudge | None]]:
        """The kind of a mistake."""
        yield "mistakes could not be classified", record.mistake

    def report(self) -> None:
        """Log how many answers have no score, or no kind of mistake, and why."""
        reasons = self.unscored
        undecided = {each: reasons.pop(each) for each in [*reasons] if each.startswith(UNDECIDED)}
        if undecided:
            logger.warning(
                "{} of {} responses are left undecided by the rules, and out of the means "
                "(grader_coverage). A judge decides them: {}",
                sum(undecided.values()),
                self.total,
                judging("RESULTS"),
            )
        super().report()

    async def ask(
        self, given: Given, doc: Doc, judge: Client
    ) -> tuple[JudgeGrade | None, MistakeEntry | None]:
        """The judge's replies on the answer, and then on its mistake; None: not asked."""
        judged = mistake = None
        asked = {"judge": True, "both": given.score is None}.get(self.cmmath.grader)
        if asked and not given.missing:
            judged = known_grade(doc["reference"], given.answer)
            if judged is None:
                request = compare_request(self.prompts, doc, given.answer)
                judged = grade_of(await judge.ask(request), "yes")
        if self.cmmath.errors and (given if judged is None else judged).score == 0.0:
            mistake = MistakeEntry(kind="reject")
            if given.answer.strip():
                parts = [doc["reference"], doc["analysis"] or ""]
                request = self.prompts.request(
                    "mistake",
                    doc["language"],
                    parse=parse_mistake,
                    question=readable(doc["question"]),
                    solution="\n\n".join(readable(part) for part in parts if part.strip()),
                    answer=given.answer,
                )
                verdict = await judge.ask(request)
                kind: Any = None if verdict.error else verdict.value
                mistake = MistakeEntry(kind=kind, verdict=told(verdict, request))
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
            "mistake": more,
            "settings": CmmathGrading(
                grader=self.cmmath.grader,
                mistakes=self.cmmath.errors,
                judge=self.judge if self.asks(doc) else None,
                prompts=self.wording,
                prompt_version=self.prompts.version("compare"),
                rules_version=RULES_VERSION,
            ),
        }


def grade_by_rules(question: str, reference: str, response: str) -> Grade:
    """The grade of a response by rules, which may leave it undecided."""
    from lmms_rpts.grading.grader import grade  # imported here: every run imports filters

    return grade(response, reference, kind="maths", question=question)


def compare_request(prompts: Prompts, doc: Doc, answer: str) -> Request:
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


def cmmath_scorer(task: str, settings: Settings, judge: str | None = None) -> CmmathScorer:
    """The scorer of the responses to a task of CMMaTH."""
    return CmmathScorer(settings, judge)


ANSWERS = AnswerGrader(grade_by_rules, compare_request)

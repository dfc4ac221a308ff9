"""Scoring of answers to CMMaTH's problems, by rules that abstain and by a judge; their record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from loguru import logger
from pydantic import Field

from lmms_rpts.base.schema import Text
from lmms_rpts.base.settings import Settings
from lmms_rpts.grading.grader import Grade as RuleGrade
from lmms_rpts.grading.grader import grade
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.request_kinds import QUOTING, RequestKind
from lmms_rpts.judging.types import NO_JUDGE, Request
from lmms_rpts.scoring.verdicts import parse_yes_no, verdict_parser
from lmms_rpts.stats.metrics import Metric, by_name
from lmms_rpts.tasks.aggregation import mean
from lmms_rpts.tasks.answers import ACCURACY, COVERAGE, AnswerRecord, Finding, Grade, GradedHow
from lmms_rpts.tasks.benchmark import AnswerGrader
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, mastery, ssr
from lmms_rpts.tasks.cmmath.prompts import read_wording
from lmms_rpts.tasks.cmmath.questions import CmmathSettings, Problem
from lmms_rpts.tasks.data import needed_judge
from lmms_rpts.tasks.grading import (
    SCORES,
    Given,
    Grades,
    GradingScorer,
    found_by,
    graded_by,
    known_grade,
)

RULES_VERSION = "6"
"""Saved in every record; changes with every change of the rules that may change a grade."""

UNDECIDED = "the rules leave it undecided"
"""The beginning of the reason why a response that only rules graded has no score."""

REMEDY = "CMMATH_GRADER=both lmms-rpts score {} --judge openai:MODEL -o judged"
"""The command that has a judge decide what the rules left undecided in a saved run."""

MISTAKES = {"perception": "感知", "reasoning": "推理", "calculation": "计算", "reject": "拒答"}
"""The kinds of mistakes that a judge distinguishes, in English and Chinese."""

_TEMPLATES = Path(__file__).parent / "templates"
_COMPARED = {"question": "⟦1⟧", "reference": "⟦2⟧", "answer": "⟦3⟧"}
_EXPLAINED = {"question": "⟦1⟧", "solution": "⟦2⟧", "answer": "⟦3⟧"}
_YES_NO = ("<Yes>", "<No>")
REQUEST_KINDS = (
    RequestKind("compare", 512, _COMPARED, "one of <Yes> and <No>", _TEMPLATES, _YES_NO, QUOTING),
    RequestKind(
        *("mistake", 512, _EXPLAINED, "one of perception, reasoning, calculation and reject"),
        *(_TEMPLATES, (*MISTAKES, *MISTAKES.values()), QUOTING),
    ),
)
parse_mistake = verdict_parser(MISTAKES)


# --- the record ----------------------------------------------------------------------------------


class CmmathGrading(GradedHow):
    """How the answer was graded."""

    prompts: Text = Field(description="digest of the file of prompts that the model is asked with")
    rules_version: Text = Field(description="version of the grading rules")

    @property
    def judge(self) -> str:
        """Who graded: ``rule``, the judge, or ``rule`` and the judge."""
        return f"rule+{self.model}" if self.grader == "both" else super().judge


class CmmathRecord(AnswerRecord):
    """The record of an answer to a problem of CMMaTH.

    ``grades``: ``rule``, whatever CMMATH_GRADER is, and ``judge`` if it was asked. ``findings``:
    ``mistake``, the kind of mistake of a wrong answer.
    """

    SCHEMA: ClassVar[str] = "lmms_rpts.cmmath"
    BENCHMARK: ClassVar[str] = "CMMaTH"

    instance: Problem = Field(description="the problem, without its images")
    settings: CmmathGrading = Field(description="how the answer was graded")

    @property
    def scoring(self) -> CmmathGrading:
        """Its settings without a judge that was asked only about mistakes."""
        judge = None if self.settings.grader == "rule" else self.settings.model
        return self.settings.model_copy(update={"model": judge})


def _ssr_above(threshold: float) -> Callable[[Sequence[CmmathRecord]], float | None]:
    """SSR of responses; several responses to a problem count as their mean."""

    def over(records: Sequence[CmmathRecord]) -> float | None:
        points = {each.instance.id: each.instance.points for each in records}
        scores: dict[str, list[float | None]] = {own_id: [] for own_id in points}
        for record in records:
            scores[record.instance.id].append(record.score)
        items = ((points[own_id], mean(own)) for own_id, own in scores.items())
        return ssr(mastery(items), threshold)

    return over


_unlisted = partial(Metric, listed=False, tested=False)
METRICS = by_name(
    ACCURACY,
    # By the rules, whatever a judge decided afterwards.
    Metric(
        "undecided_rate",
        lambda record: record.value("rule") is None if "rule" in record.grades else None,
        higher_is_better=False,
        head="undecided",
        words="share that the rules left undecided",
        interval=False,
        tested=False,
    ),
    COVERAGE,
    _unlisted(
        "accuracy_if_wrong",
        lambda record: record.score or 0.0,
        words="accuracy if all responses without a score were wrong",
    ),
    _unlisted(
        "accuracy_if_right",
        lambda record: 1.0 if record.score is None else record.score,
        words="accuracy if all responses without a score were right",
    ),
    *(
        Metric(
            f"ssr_{threshold}",
            over=_ssr_above(threshold),
            group="Knowledge points mastered (SSR)",
            words=f"share of knowledge points with an accuracy above {threshold}",
        )
        for threshold in THRESHOLDS
    ),
    *(
        _unlisted(
            f"mistake_{kind}",
            partial(CmmathRecord.said, name="mistake", word=kind),
            higher_is_better=None,
            group="Kinds of mistakes",
            head=kind,
            words="share of the wrong answers with a known kind of mistake",
            optional=True,
        )
        for kind in MISTAKES
    ),
)


# --- scoring -------------------------------------------------------------------------------------


class CmmathScorer(GradingScorer):
    """Grades answers to CMMaTH's problems.

    CMMATH_GRADER sets whose grade counts, ``errors`` whether a judge classifies mistakes. If
    only rules grade, no judge is needed.
    """

    DATA = "CMMaTH"
    QUESTION = Problem
    RECORD = CmmathRecord
    METRICS = METRICS

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        self.cmmath, self.wording = CmmathSettings.load(), read_wording()[1]
        self.asks_judge = self.cmmath.errors or self.cmmath.grader != "rule"
        super().__init__(settings, judge)

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        if not self.asks_judge:
            return NO_JUDGE
        return needed_judge(self.settings, self.cmmath, ["errors"] * self.cmmath.errors, default)

    def rules(self, answer: str, question: Problem) -> dict[str, Grade]:
        """The grade by rules, which may leave an answer undecided."""
        found = grade_by_rules(question.question, question.reference, answer)
        score, rule = SCORES[found.outcome], found.rule
        reason = f"{UNDECIDED}: {rule}" if score is None else None
        return {"rule": Grade(score=score, reason=reason, answer=found.answer or "", rule=rule)}

    def asks(self, question: Problem) -> bool:
        """Whether a judge grades, or classifies mistakes."""
        return self.asks_judge

    def counting(self, question: Problem, grades: Grades) -> str:
        """The grader whose grade counts."""
        return "judge" if "judge" in grades or self.cmmath.grader == "judge" else "rule"

    async def ask(
        self, given: Given, question: Problem, grades: Grades, judge: Client
    ) -> tuple[dict[str, Grade], dict[str, Finding]]:
        """The judge's grade, if it is asked, and the kind of a mistake."""
        counted, judged, findings = grades["rule"], dict[str, Grade](), dict[str, Finding]()
        undecided = self.cmmath.grader == "both" and counted.score is None
        if self.cmmath.grader == "judge" or undecided:
            known = known_grade(question.reference, given.answer)
            if known is None:
                request = self.request("compare", question, given, parse_yes_no)
                known = graded_by(await judge.ask(request), "yes")
            counted = judged["judge"] = known
        if self.cmmath.errors and counted.score == 0.0:
            findings["mistake"] = Finding(value="reject")
            if given.answer.strip():
                request = self.request("mistake", question, given, parse_mistake)
                findings["mistake"] = found_by(await judge.ask(request))
        return judged, findings

    def graded_how(self, question: Problem) -> CmmathGrading:
        """The grader, the judge, and the versions of all prompts and rules."""
        return CmmathGrading(
            grader=self.cmmath.grader,
            judge=self.judge if self.asks_judge else None,
            prompts=self.wording,
            prompt_version=self.prompts.version("compare"),
            rules_version=RULES_VERSION,
        )

    def report(self) -> None:
        """Log how many answers have no score, or no kind of mistake, and why."""
        reasons = self.counts["unscored"]
        undecided = {each: reasons.pop(each) for each in [*reasons] if each.startswith(UNDECIDED)}
        if undecided:
            logger.warning(
                "{} of {} responses are left undecided by the rules, and out of the means "
                "(grader_coverage). A judge decides them: {}",
                *(sum(undecided.values()), self.total, REMEDY.format("RESULTS")),
            )
        super().report()


def grade_by_rules(question: str, reference: str, response: str) -> RuleGrade:
    """The grade of a response by rules, which may leave it undecided."""
    return grade(response, reference, kind="maths", question=question)


def _compare_request(prompts: Prompts, question: str, reference: str, answer: str) -> Request:
    problem = Problem(id="0", question=question, reference=reference, form="open", img_path=())
    language, fields = problem.asked("compare", answer, "")
    return prompts.request("compare", language, parse=parse_yes_no, **fields)


ANSWERS = AnswerGrader(grade_by_rules, _compare_request)
"""The grader of answers that ``lmms-rpts validate --answers`` measures."""

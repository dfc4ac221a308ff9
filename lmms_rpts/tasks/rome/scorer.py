"""Scoring of answers to ROME's questions, by rules or by a judge; and their record."""

from __future__ import annotations

import string
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from lmms_rpts.base.settings import Settings
from lmms_rpts.grading.grader import grade
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.request_kinds import QUOTING, RequestKind
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.scoring.verdicts import verdict_parser
from lmms_rpts.stats.metrics import Metric, by_name
from lmms_rpts.tasks.answers import (
    ACCURACY,
    COVERAGE,
    STRICT,
    AnswerRecord,
    Finding,
    Grade,
    GradedHow,
)
from lmms_rpts.tasks.data import needed_judge
from lmms_rpts.tasks.grading import (
    Given,
    Grades,
    GradingScorer,
    found_by,
    graded_by,
    graded_by_rules,
    known_grade,
)
from lmms_rpts.tasks.rome.matchers import Choices, Number, Rule, extract_answer, normalise
from lmms_rpts.tasks.rome.questions import SUBTASKS, RomeQuestion, RomeSettings, tool_passages

# Two folders: a digest of the templates in a folder is recorded with each score.
_GRADING, _THINKING = (Path(__file__).parent / f"{name}_prompts" for name in ("answer", "thinking"))
_question_kind = partial(RequestKind, most_tokens=512)
REQUEST_KINDS = (
    _question_kind(
        "grade",
        fields={"question": "⟦1⟧", "reference": "⟦2⟧", "answer": "⟦3⟧"},
        wanted="correct or incorrect",
        templates=_GRADING,
        words=("correct", "incorrect", "正确", "错误"),
    ),
    _question_kind(
        "consistency",
        fields={"question": "⟦1⟧", "thinking": "⟦2⟧", "answer": "⟦3⟧"},
        wanted="consistent or inconsistent",
        templates=_GRADING,
        words=("consistent", "inconsistent", "一致", "不一致"),
    ),
    _question_kind(
        "pretended_tools",
        fields={"thinking": "⟦1⟧"},
        wanted="pretended or none",
        templates=_THINKING,
        words=("pretended", "none", "假装", "没有"),
        longest_reason=QUOTING,
    ),
)
PARSERS = {
    "grade": verdict_parser({"correct": "正确", "incorrect": "不正确|错误"}),
    "consistency": verdict_parser({"consistent": "一致", "inconsistent": "不一致"}),
    "pretended_tools": verdict_parser({"pretended": "假装", "none": "没有"}),
}


class RomeRecord(AnswerRecord):
    """The record of an answer to a question of ROME.

    ``grades``: ``rule`` by the published rules, ``strict`` by those of this package, which abstain,
    and ``llm`` by a judge. ``findings``: ``consistency``, ``pretended_tools``.
    """

    SCHEMA: ClassVar[str] = "lmms_rpts.rome"
    BENCHMARK: ClassVar[str] = "ROME"

    instance: RomeQuestion = Field(description="the question, without its images")


METRICS = by_name(
    ACCURACY,
    *STRICT,
    COVERAGE,
    Metric(
        "thinking_answer_consistency",
        lambda record: record.said("consistency", "consistent"),
        head="consistency",
        words="share of answers that agree with the thinking",
        optional=True,
    ),
    Metric(
        "pretended_tools",
        lambda record: record.said("pretended_tools", "pretended"),
        higher_is_better=False,
        head="pretended tools",
        words="share of thinkings that pretend to use tools or to search",
        optional=True,
    ),
)


class RomeScorer(GradingScorer):
    """Grades answers to ROME's questions.

    ROME_GRADER sets the grader, ``consistency`` and ``pretended_tools`` the questions about the
    thinking, which the paper reports as findings. If only rules grade, no judge is needed.
    """

    DATA = "ROME"
    QUESTION = RomeQuestion
    RECORD = RomeRecord
    METRICS = METRICS

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        self.rome = RomeSettings.load()
        asked = {
            "thinking_answer_consistency": self.rome.consistency,
            "pretended_tools": self.rome.pretended_tools,
        }
        self.unasked = frozenset(metric for metric, is_asked in asked.items() if not is_asked)
        super().__init__(settings, judge)
        self._how: dict[str, GradedHow] = {}

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        rome, named = self.rome, self.settings.judge or default
        # If only diagrams need one, the check of their task says that none is set.
        only_diagrams = rome.grader == "recommended" and not rome.questions
        if not any(map(rome.asks_judge, SUBTASKS)) or (only_diagrams and named is None):
            return NO_JUDGE
        return needed_judge(self.settings, rome, rome.questions, default)

    def rules(self, answer: str, question: RomeQuestion) -> dict[str, Grade]:
        """The grade by the published rules, and the strict one."""
        found, rule = extract_answer(answer), question.rule
        published = Grade(score=rule(normalise(found)), answer=found, rule=question.evaluator)
        return {"rule": published, "strict": grade_strictly(rule, answer)}

    def asks(self, question: RomeQuestion) -> bool:
        """Whether a judge grades this subtask, or is asked about the thinking."""
        return self.rome.asks_judge(question.subtask)

    def counting(self, question: RomeQuestion, grades: Grades) -> str:
        """The grader whose grade counts."""
        return self.rome.grader_of(question.subtask)

    async def ask(
        self, given: Given, question: RomeQuestion, grades: Grades, judge: Client
    ) -> tuple[dict[str, Grade], dict[str, Finding]]:
        """The judge's replies on the answer and on the thinking, if asked."""
        judged: dict[str, Grade] = {}
        findings: dict[str, Finding] = {}
        if self.counting(question, grades) == "llm":
            found = known_grade(question.reference, given.answer)
            if found is None:
                request = self.request("grade", question, given, PARSERS["grade"])
                found = graded_by(await judge.ask(request), "correct")
            judged["llm"] = found
        for name in self.rome.questions if given.thinking else ():
            if name == "consistency" and not given.answer.strip():
                continue
            verdict = await judge.ask(self.request(name, question, given, PARSERS[name]))
            unseen = tool_passages(given.thinking).left_out if name == "pretended_tools" else 0
            findings[name] = found_by(verdict, left_out=unseen)
        return judged, findings

    def graded_how(self, question: RomeQuestion) -> GradedHow:
        """The grader, the judge and its prompts."""
        if question.subtask not in self._how:
            self._how[question.subtask] = GradedHow(
                grader=self.rome.grader,
                judge=self.judge if self.asks(question) else None,
                prompt_version=self.prompts.version("grade"),
            )
        return self._how[question.subtask]


def grade_strictly(rule: Rule, answer: str) -> Grade:
    """The grade of a response by ``lmms_rpts.grading``: a choice or a number, else none."""
    if isinstance(rule, Choices):
        gold, marks = rule.label.upper(), string.ascii_uppercase
        found = grade(answer, gold, kind="choice", marks=marks)
    elif isinstance(rule, Number):
        # Half of the last decimal place, and never more than the published tenth of the value.
        value = Decimal(str(rule.value_to_match))
        place = Decimal(1).scaleb(int(value.as_tuple().exponent)) / 2
        allowed = 0.0 if value == int(value) else min(0.1, float(place / abs(value)) + 1e-9)
        found = grade(answer, str(value), kind="number", tolerance=allowed)
    else:  # free texts and intervals: a rule that only confirms would flatter
        return Grade(score=None, reason="the strict rules grade choices and numbers")
    return graded_by_rules(found)

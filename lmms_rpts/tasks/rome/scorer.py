"""Scoring of answers to ROME's questions, by rules or by a judge; and their record.

A judge may also be asked two questions about the thinking, which the paper reports as findings: is
it consistent with the answer, does it pretend to use tools?
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from lmms_rpts.base.schema import Model, Text
from lmms_rpts.base.settings import Settings
from lmms_rpts.grading.grader import Kind, find_final_answer, grade
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.request_kinds import QUOTING, RequestKind
from lmms_rpts.judging.types import NO_JUDGE, NOT_JUDGED, JudgeConfigurationError
from lmms_rpts.reasoning.thinking import THINKING_SHOWN, Excerpt, excerpt
from lmms_rpts.runs.answers import AnswerRecord, Finding, Grade
from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.scoring.grading import (
    SCORES,
    Given,
    Grades,
    GradingScorer,
    found_by,
    graded_by,
    known_grade,
)
from lmms_rpts.scoring.verdicts import verdict_parser
from lmms_rpts.tasks.data import needed_judge
from lmms_rpts.tasks.rome.matchers import extract_answer, match
from lmms_rpts.tasks.rome.questions import SUBTASKS, RomeQuestion, RomeSettings

CONCLUSION_SHOWN = 4000
"""Number of characters at the end of the thinking that are compared with the answer."""

# "Let me zoom in on the sign", "I ran a reverse image search", 我用谷歌搜索了一下
_TOOL = re.compile(
    r"search|googl|\bbing\b|brows|look(?:ed|ing|s)?\s(?:\w+\s){0,3}up\b|\bweb|internet|online"
    r"|wikipedia|database|zoom|crop|magnif|enhanc|\btools?\b|python|\bcode|script|execut"
    r"|\b(?:ran|run|running)\b|calculator|\bocr\b|\bapi\b"
    r"|搜索|搜寻|检索|查询|查阅|查了|谷歌|百度|网络|网页|网上|在线|数据库|放大|裁剪|截取|工具|代码|程序|脚本"
    r"|运行|执行|计算器",
    re.IGNORECASE,
)

# Two folders: a digest of the templates in a folder is recorded with each score.
_GRADING, _THINKING = (Path(__file__).parent / f"{name}_prompts" for name in ("answer", "thinking"))
_GRADED = {"question": "⟦1⟧", "reference": "⟦2⟧", "answer": "⟦3⟧"}
_COMPARED = {"question": "⟦1⟧", "thinking": "⟦2⟧", "answer": "⟦3⟧"}
_WORDS = {
    "grade": ("correct", "incorrect", "正确", "错误"),
    "consistency": ("consistent", "inconsistent", "一致", "不一致"),
    "pretended_tools": ("pretended", "none", "假装", "没有"),
}
REQUEST_KINDS = (
    RequestKind("grade", 512, _GRADED, "correct or incorrect", _GRADING, _WORDS["grade"]),
    RequestKind(
        *("consistency", 512, _COMPARED, "consistent or inconsistent", _GRADING),
        words=_WORDS["consistency"],
    ),
    RequestKind(
        *("pretended_tools", 512, {"thinking": "⟦1⟧"}, "pretended or none", _THINKING),
        words=_WORDS["pretended_tools"],
        longest_reason=QUOTING,
    ),
)
_parse_grade = verdict_parser({"correct": "正确", "incorrect": "不正确|错误"})
_PARSERS = {
    "consistency": verdict_parser({"consistent": "一致", "inconsistent": "不一致"}),
    "pretended_tools": verdict_parser({"pretended": "假装", "none": "没有"}),
}


class RomeGrading(Model):
    """How the answer was graded."""

    grader: Text = Field(description="ROME_GRADER")
    model: Text | None = Field(
        alias="judge", description="the judge; null if none is asked about this question"
    )
    prompt_version: Text = Field(description="version of the judge's prompts")

    @property
    def judge(self) -> str:
        """Who graded: ``rule`` or the judge."""
        return "rule" if self.grader == "rule" or self.model is None else self.model


class RomeRecord(AnswerRecord):
    """The record of an answer to a question of ROME.

    ``grades``: ``rule`` by the published rules, ``strict`` by those of this package, which abstain,
    and ``llm`` by a judge. ``findings``: ``consistency``, ``pretended_tools``.
    """

    SCHEMA: ClassVar[str] = "lmms_rpts.rome"
    BENCHMARK: ClassVar[str] = "ROME"
    FILTER: ClassVar[str] = "rome_answer"

    instance: RomeQuestion = Field(description="the question, without its images")
    settings: RomeGrading = Field(description="how the answer was graded")


def _said(name: str, word: str) -> Any:
    """Whether a judge said this word; None if it was not asked, or failed."""

    def value(record: RomeRecord) -> float | None:
        found = record.finding(name)
        return None if found is None else float(found == word)

    return value


METRICS = by_name(
    Metric("accuracy", lambda record: record.score, words="of the responses with a score"),
    Metric(
        "accuracy_strict",
        lambda record: None if record.score is None else record.value("strict"),
        head="strict",
        words="by strict rules, of the answers that they decide",
    ),
    Metric(
        "strict_coverage",
        lambda record: None if record.score is None else record.value("strict") is not None,
        higher_is_better=None,
        head="decided",
        words="share of answers that the strict rules decide",
        interval=False,
        tested=False,
    ),
    Metric(
        "grader_coverage",
        lambda record: record.score is not None,
        higher_is_better=None,
        words="share with a score",
        tested=False,
    ),
    Metric(
        "thinking_answer_consistency",
        _said("consistency", "consistent"),
        head="consistency",
        words="share of answers that agree with the thinking",
        optional=True,
    ),
    Metric(
        "pretended_tools",
        _said("pretended_tools", "pretended"),
        higher_is_better=False,
        head="pretended tools",
        words="share of thinkings that pretend to use tools or to search",
        optional=True,
    ),
)


class RomeScorer(GradingScorer):
    """Grades answers to ROME's questions; ``lmms-rpts export --schema`` describes the records.

    ROME_GRADER sets the grader, ``consistency`` and ``pretended_tools`` the questions about the
    thinking. If only rules grade, no judge is needed.
    """

    DATA = "ROME"
    QUESTION = RomeQuestion
    RECORD = RomeRecord
    METRICS = METRICS
    FAILED: ClassVar[Mapping[str, str]] = {
        "consistency": "answers could not be compared with their thinking",
        "pretended_tools": "thinkings could not be searched for pretended tools",
    }
    unjudged = NOT_JUDGED

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        self.rome = RomeSettings.load()
        metrics = {"consistency": "thinking_answer_consistency"}
        unasked = {*self.FAILED} - {*self.rome.questions}
        self.unasked = frozenset(metrics.get(name, name) for name in unasked)
        super().__init__(settings, judge)

    def choose(self, default: str | None) -> str:
        """The judge that may be asked; ``none`` if there is nothing to ask."""
        if not any(map(self.rome.asks_judge, SUBTASKS)):
            return NO_JUDGE
        try:
            return needed_judge(self.settings, self.rome, self.rome.questions, default)
        except JudgeConfigurationError as error:
            # Only the documents show whether a judge is asked; the task's check has read them.
            if self.rome.grader != "recommended" or self.rome.questions:
                raise
            self.unjudged = f"not judged: {str(error).splitlines()[0]}"
            return NO_JUDGE

    def rules(self, answer: str, question: RomeQuestion) -> dict[str, Grade]:
        """The grade by the published rules, and the strict one."""
        evaluator, arguments = question.evaluator, question.arguments
        strict = grade_strictly(evaluator, arguments, answer)
        return {
            "rule": Grade(
                score=match(evaluator, arguments, answer),
                answer=extract_answer(answer),
                rule=evaluator,
            ),
            "strict": Grade(score=strict, answer=find_final_answer(answer), rule=evaluator),
        }

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
                request = self.request("grade", question, given, _parse_grade)
                found = graded_by(await judge.ask(request), "correct", self.unjudged)
            judged["llm"] = found
        for name in self.rome.questions if given.thinking else ():
            if name == "consistency" and not given.answer.strip():
                continue
            verdict = await judge.ask(self.request(name, question, given, _PARSERS[name]))
            unseen = tool_passages(given.thinking).left_out if name == "pretended_tools" else 0
            findings[name] = found_by(verdict, left_out=unseen)
        return judged, findings

    def graded_how(self, question: RomeQuestion) -> RomeGrading:
        """The grader, the judge and its prompts."""
        return RomeGrading(
            grader=self.rome.grader,
            judge=self.judge if self.asks(question) else None,
            prompt_version=self.prompts.version("grade"),
        )


def tool_passages(thinking: str) -> Excerpt:
    """The part of a thinking that may pretend to use tools."""
    return excerpt(thinking, THINKING_SHOWN, _TOOL.search)


def grade_strictly(evaluator: str, kwargs: Mapping[str, Any], answer: str) -> float | None:
    """The score of an answer by ``lmms_rpts.grading``, in [0, 1]; None if it cannot decide.

    Args:
        evaluator: the name of the published rule.
        kwargs: its arguments, which have been checked.
        answer: the response; any text.
    """

    def score(kind: Kind, golds: Sequence[str], tolerance: float = 0.0) -> float | None:
        marks = string.ascii_uppercase if kind == "choice" else ()
        return SCORES[grade(answer, golds, kind=kind, marks=marks, tolerance=tolerance).outcome]

    def within(interval: Sequence[Any], units: Sequence[str]) -> float | None:
        low, high = interval
        # Times are not read, and a number needs its unit.
        if isinstance(low, str) or low + high == 0 or not any(u in answer for u in units or [""]):
            return None
        middle = (low + high) / 2
        golds = [f"{middle} {unit}".strip() for unit in units or [""]]
        return score("number", golds, abs((high - low) / 2 / middle) * (1 + 1e-9))

    if evaluator == "choices_matching":
        return score("choice", [kwargs["label"].upper()])
    if evaluator == "number_matching":
        # Half of the last decimal place, and never more than the published tenth of the value.
        value = Decimal(str(kwargs["value_to_match"]))
        place = Decimal(1).scaleb(int(value.as_tuple().exponent)) / 2
        allowed = 0.0 if value == int(value) else min(0.1, float(place / abs(value)) * (1 + 1e-9))
        return score("number", [str(value)], allowed)
    if evaluator == "interval_matching":
        return within(kwargs["interval"], kwargs["units"])
    if evaluator == "multi_interval_matching":
        pairs = zip(kwargs["intervals"], kwargs["units"], strict=False)
        found = [within(each, [us] if isinstance(us, str) else us) for each, us in pairs]
        return 1.0 if 1.0 in found else None if None in found or not found else 0.0
    return None  # free texts: the rules confirm some right ones, and never say that one is wrong

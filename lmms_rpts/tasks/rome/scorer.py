"""Scoring of answers to ROME's questions, by rules or by a judge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from lmms_rpts.base.schema import Model, Several, Text
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import FromJudge, JudgeGrade, as_text
from lmms_rpts.scoring.grading import Doc, Given, GradingScorer
from lmms_rpts.scoring.verdicts import verdict_parser
from lmms_rpts.tasks.data import needed_judge
from lmms_rpts.tasks.grade_types import grade_of, known_grade
from lmms_rpts.tasks.rome import thinking
from lmms_rpts.tasks.rome.arguments import check_arguments
from lmms_rpts.tasks.rome.benchmark import SUBTASKS, RomeSettings
from lmms_rpts.tasks.rome.matchers import match
from lmms_rpts.tasks.rome.record import METRICS, RomeGrades, RomeGrading, RomeInstance, RomeRecord
from lmms_rpts.tasks.rome.strict import grade_strictly


class RomeDocument(Model):
    """The fields of a question; those of its image may be left out."""

    id: Any
    task: Text
    language: Language
    question: Text
    reference: Text
    evaluator: Text
    evaluator_kwargs: Text
    img_path: Several[Text]
    question_type: Text | None = None
    image_type: Text | None = None
    image_subtype: Text | None = None
    reasoning_type: Text | None = None


parse_grade = verdict_parser({"correct": "正确", "incorrect": "不正确|错误"})


class RomeScorer(GradingScorer):
    """Grades answers to ROME's questions; ``lmms-rpts export --schema`` describes the records.

    ROME_GRADER sets the grader, ``consistency`` and ``pretended_tools`` the questions about the
    thinking. If only rules grade, no judge is needed.
    """

    DATA = "ROME"
    DOCUMENT = RomeDocument
    RECORD = RomeRecord
    METRICS = METRICS
    NAMES: ClassVar[Mapping[str, str]] = {"images": "img_path", "subtask": "task"}

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        self.rome = RomeSettings.load()
        asked = {
            "thinking_answer_consistency": self.rome.consistency,
            "pretended_tools": self.rome.pretended_tools,
        }
        self.unasked = frozenset(metric for metric, is_asked in asked.items() if not is_asked)
        super().__init__(settings, judge)

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why a document can't be graded, in sentences without their full stops."""
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

    def rules(self, answer: str, doc: Doc) -> tuple[float | None, str | None, Any]:
        """The grade by the published rules, and the strict one."""
        rule = strict = fault = None
        try:
            kwargs = json.loads(doc["evaluator_kwargs"])
            rule = match(doc["evaluator"], kwargs, answer)
            strict = grade_strictly(doc["evaluator"], kwargs, answer)
        except (ValueError, TypeError) as error:
            fault = f"the question can't be graded by rules: {error}"
        return rule, fault, strict

    def asks(self, doc: Doc) -> bool:
        """Whether a judge grades this subtask, or is asked about the thinking."""
        return self.rome.asks_judge(as_text(doc.get("task")))

    def further(self, record: RomeRecord) -> Iterable[tuple[str, FromJudge | None]]:
        """The judge's two answers about the thinking."""
        yield "answers could not be compared with their thinking", record.consistency
        yield "thinkings could not be searched for pretended tools", record.pretended_tools

    async def ask(
        self, given: Given, doc: Doc, judge: Client
    ) -> tuple[JudgeGrade | None, dict[str, Any]]:
        """The judge's replies on the answer and on the thinking, if asked."""
        grade, language = None, doc["language"]
        asked = {"question": doc["question"], "answer": given.answer}
        if self.rome.grader_of(doc["task"]) == "llm":
            reference = doc["reference"]
            grade = known_grade(reference, given.answer)
            if given.missing:
                grade = JudgeGrade(score=None, reason=given.reason)
            if grade is None:
                request = self.prompts.request(
                    "grade", language, parse=parse_grade, reference=reference, **asked
                )
                grade = grade_of(await judge.ask(request), "correct", self.unjudged)
        asking = {**asked, "thinking": given.thinking or ""}
        more = await thinking.ask(self.rome.questions, self.prompts, language, asking, judge)
        return grade, more

    def fields(
        self, given: Given, grade: JudgeGrade | None, more: Mapping[str, Any] | None, doc: Doc
    ) -> dict[str, Any]:
        """Settings, all grades, and what the judge said of the thinking (``more``)."""
        strict = None if given.missing else given.found
        return {
            "grader": self.rome.grader_of(as_text(doc.get("task"))),
            "grades": RomeGrades(rule=given.score, strict=strict, llm=grade),
            **(more or {"consistency": None}),
            "settings": RomeGrading(
                grader=self.rome.grader,
                judge=self.judge if self.asks(doc) else None,
                prompt_version=self.prompts.version("grade"),
            ),
        }

    def instance(self, doc: Doc, **known: Any) -> RomeInstance:
        """The question, with its rule's arguments as an object."""
        kwargs: Any = {}
        with suppress(KeyError, ValueError, TypeError, RecursionError):
            kwargs = json.loads(doc["evaluator_kwargs"])
        arguments = kwargs if isinstance(kwargs, dict) else {}
        found: RomeInstance = super().instance(doc, evaluator_kwargs=arguments)
        return found


def rome_scorer(task: str, settings: Settings, judge: str | None = None) -> RomeScorer:
    """The scorer of the responses to a task of ROME."""
    scorer = RomeScorer(settings, judge)
    if not scorer.rome.asks_judge(task.removeprefix("rome_")):
        scorer.judge = NO_JUDGE
    return scorer

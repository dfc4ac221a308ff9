"""Parsing of responses to questions of any kind: steps, and a graded final answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lmms_rpts.filters.documents import as_texts
from lmms_rpts.filters.response_reading import UNDETERMINED, FinalAnswer, Reading, parse_steps
from lmms_rpts.filters.responses import Doc
from lmms_rpts.grading.answer_lines import is_answer_line, without_answer
from lmms_rpts.judging import Dialogue, JudgeRequest
from lmms_rpts.judging.parsers import parse_yes_no
from lmms_rpts.reasoning import Extraction, JudgedText, extract_chain
from lmms_rpts.schema import shown

AnswerForm = Literal["agree", "choice", "number", "text", "mixed", "none"]
ANSWER_FORMS: tuple[AnswerForm, ...] = get_args(AnswerForm)

Grader = Callable[[str, Mapping[str, Any]], bool | None]
"""A custom function: whether a response is right for its document; None: undecided."""

UNDECIDED = "the rules cannot decide whether the answer is right"


@dataclass(frozen=True, slots=True)
class QuestionReading(Reading):
    """Conversations that parse responses to questions.

    Answers that the rules leave undecided are compared with the gold answer by a judge that can
    write text; without such a judge, ``correct`` is None.

    Attributes:
        form: type of the answers; ``mixed``: that of each gold answer; ``none``: not graded here.
        grade: a custom function that grades instead of the rules.
    """

    form: AnswerForm = "none"
    grade: Grader | None = None

    def is_answer(self, line: str) -> bool:
        """Whether a line states the final answer, whatever the answer is."""
        return is_answer_line(line)

    def extract(self, text: str, doc: Doc) -> Extraction:
        """The steps of a response, by rules."""
        return extract_chain(without_answer(text), doc["language"], self.is_answer)

    def steps_request(self, text: str, doc: Doc) -> JudgeRequest:
        """The request for the steps of a response."""
        return self.prompts.request(
            "question_steps",
            doc["language"],
            parse=parse_steps,
            n_images=len(doc["visual_clue"]),
            clues=list(doc["textual_clue"]),
            context=doc["context"],
            response=text,
        )

    def read_answer(self, part: JudgedText, doc: Doc) -> Dialogue[FinalAnswer]:
        """The final answer of a response; hidden thinking does not count as an answer."""
        from lmms_rpts.grading.grader import find_final_answer

        if self.grade is not None:
            value = find_final_answer(part.spoken) or UNDETERMINED
            return _settled(_by_function(self.grade, part.spoken, doc, value))
        if self.form == "none":
            value = find_final_answer(part.spoken) or UNDETERMINED
            return _settled(FinalAnswer(value, None))
        return self._graded(part.spoken, doc)

    def _graded(self, said: str, doc: Doc) -> Dialogue[FinalAnswer]:
        from lmms_rpts.grading.grader import grade, infer_kind

        if (
            self.form == "none" or self.form == "agree"
        ):  # `read_answer` handles "none"; another class handles "agree"
            raise ValueError(f"Answers of the form {self.form!r} are not graded here")
        gold, options = str(doc["answer"]), as_texts(doc.get("options"))
        found = grade(
            said,
            gold,
            kind=infer_kind(gold, options) if self.form == "mixed" else self.form,
            options=options,
            tolerance=_tolerance(doc.get("tolerance")),
        )
        value = found.answer or UNDETERMINED
        if found.outcome != "undecided":
            return _settled(FinalAnswer(value, found.outcome == "correct"))
        if not said.strip():
            return _settled(FinalAnswer(value, False))
        if not self.can_ask:
            return _settled(FinalAnswer(value, None, error=f"{UNDECIDED} ({found.rule})"))
        return self._compared(value, said, doc)

    def _compared(self, value: str, said: str, doc: Doc) -> Dialogue[FinalAnswer]:
        verdict = yield self.prompts.request(
            "match",
            doc["language"],
            parse=parse_yes_no,
            question=doc["statement"],
            options=_lettered(as_texts(doc.get("options"))),
            reference=str(doc["answer"]),
            response=said,
        )
        correct = None if verdict.error else verdict.value == "yes"
        return FinalAnswer(value, correct, "judge", verdict.error)


def _settled(answer: FinalAnswer) -> Dialogue[FinalAnswer]:
    yield from ()
    return answer


def _by_function(grade: Grader, said: str, doc: Doc, value: str) -> FinalAnswer:
    try:
        correct = grade(said, doc)
    except (Exception, SystemExit) as error:  # a custom function: this response's outcome
        reason = f"the grading function failed ({type(error).__name__}: {error})"
        return FinalAnswer(value, None, "function", reason[:500])
    if correct is None:
        return FinalAnswer(value, None, "function", "the grading function returned no grade")
    if type(correct).__name__ not in ("bool", "bool_") and correct not in (0, 1):
        reason = f"the grading function returned {shown(correct)}, neither True, False nor None"
        return FinalAnswer(value, None, "function", reason)
    return FinalAnswer(value, bool(correct), "function")


def _tolerance(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value >= 0 else 0.0


def _lettered(options: Sequence[str]) -> list[str]:
    return [f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(options)]

"""Parsing of responses to questions of any kind: steps, and a graded final answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from lmms_rpts.filters.documents import as_texts
from lmms_rpts.filters.record import Answer
from lmms_rpts.filters.response_reading import UNDETERMINED, Reading, parse_steps, settled
from lmms_rpts.filters.responses import Doc
from lmms_rpts.judging import Dialogue, JudgeRequest
from lmms_rpts.judging.parsers import parse_yes_no
from lmms_rpts.reasoning import Extraction, JudgedText, extract_chain
from lmms_rpts.reasoning.answer_lines import is_any_answer_line, without_answer
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
        return is_any_answer_line(line)

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

    def read_answer(self, part: JudgedText, doc: Doc) -> Dialogue[Answer]:
        """The final answer of a response; hidden thinking does not count as an answer."""
        from lmms_rpts.grading.grader import find_final_answer

        if self.grade is None and self.form != "none":
            return self._graded(part.spoken, doc)
        found = Answer(value=find_final_answer(part.spoken) or UNDETERMINED, correct=None)
        if self.grade is not None:
            found = found.model_copy(update=_by_function(self.grade, part.spoken, doc))
        return settled(found)

    def _graded(self, said: str, doc: Doc) -> Dialogue[Answer]:
        from lmms_rpts.grading.grader import grade, infer_kind

        if (
            self.form == "none" or self.form == "agree"
        ):  # `read_answer` handles "none"; another class handles "agree"
            raise ValueError(f"Answers of the form {self.form!r} are not graded here")
        gold, options = str(doc["answer"]), as_texts(doc.get("options"))
        tolerance = doc.get("tolerance")
        found = grade(
            said,
            gold,
            kind=infer_kind(gold, options) if self.form == "mixed" else self.form,
            options=options,
            tolerance=tolerance if isinstance(tolerance, int | float) and tolerance >= 0 else 0.0,
        )
        request = partial(
            self.prompts.request,
            "match",
            doc["language"],
            parse=parse_yes_no,
            question=doc["statement"],
            options=[f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(options)],
            reference=gold,
            response=said,
        )
        value = found.answer or UNDETERMINED
        return self.settle(value, found.outcome, f"{UNDECIDED} ({found.rule})", said, request)

    def settle(
        self,
        value: str,
        outcome: str,
        undecided: str,
        said: str,
        request: Callable[[], JudgeRequest],
    ) -> Dialogue[Answer]:
        """The answer as the rules graded it; if they could not, as a judge does.

        Args:
            value: the answer that was found.
            outcome: ``correct``, ``incorrect`` or ``undecided``.
            undecided: the error of an undecided answer without a judge that writes text.
            said: the text outside the thinking; if it is blank, the answer is wrong.
            request: the request that has the judge compare the answer with the reference.
        """
        if outcome != "undecided" or not said.strip():
            return Answer(value=value, correct=outcome == "correct")
        if not self.can_ask:
            return Answer(value=value, correct=None, error=undecided)
        verdict = yield request()
        correct = None if verdict.error else verdict.value == "yes"
        return Answer(value=value, correct=correct, by="judge", error=verdict.error)


def _by_function(grade: Grader, said: str, doc: Doc) -> dict[str, Any]:
    """What a custom function says of a response: its grade, or why there is none."""
    error = None
    try:
        correct = grade(said, doc)
    except (Exception, SystemExit) as failure:  # a custom function: this response's outcome
        error = f"the grading function failed ({type(failure).__name__}: {failure})"[:500]
    else:
        if correct is None:
            error = "the grading function returned no grade"
        elif type(correct).__name__ not in ("bool", "bool_") and correct not in (0, 1):
            error = f"the grading function returned {shown(correct)}, neither True, False nor None"
    return {"by": "function", "error": error, "correct": None if error else bool(correct)}

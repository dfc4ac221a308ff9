"""``cmmath_transform``: parse a solution into a chain of steps and a final answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from loguru import logger

from lmms_rpts.filters.documents import REASONING_FIELDS, SOME_TEXT, TEXT
from lmms_rpts.filters.question_reading import QuestionReading
from lmms_rpts.filters.record import Answer
from lmms_rpts.filters.response_reading import UNDETERMINED, Reading, parse_steps
from lmms_rpts.filters.responses import Doc, TransformedResponse
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.judging import Dialogue, JudgeRequest
from lmms_rpts.reasoning import JudgedText
from lmms_rpts.tasks.cmmath.filter import UNDECIDED, compare_request

_LONGEST_ANSWER = 200


class CmmathTransformFilter(TransformFilter):
    """Turns each solution into a ``TransformedResponse``, as ``rpts_transform`` does.

    The final answer is graded by the rules of CMMaTH. A judge that writes text compares undecided
    answers with the reference. If neither decides, ``correct`` is None.

    Args:
        mode, judge, max_steps: as those of ``rpts_transform``.
    """

    DATA = "CMMaTH"
    FIELDS = REASONING_FIELDS | {"question": TEXT, "reference": SOME_TEXT}
    ORDER = "use cmmath_transform, rpts_score and rpts_aggregate in this order"
    NAME = "cmmath_transform"

    def reading(self) -> Reading:
        """How solutions are read."""
        plain = super().reading()
        return SolutionReading(plain.mode, plain.can_ask, plain.prompts)

    def gold_faults(self, doc: Doc) -> Iterator[str]:
        """No faults: the rules of CMMaTH accept any reference."""
        return iter(())

    def _read_all(self, pairs: list[tuple[Any, Doc]]) -> list[TransformedResponse]:
        results = super()._read_all(pairs)
        undecided = [each for each in results if (each.answer.error or "").startswith(UNDECIDED)]
        if undecided:
            logger.warning(
                "{} of {} answers are left undecided by the rules, and are left out of accuracy; "
                "set a judge that writes text to have it decide them",
                len(undecided),
                len(results),
            )
        return results


@dataclass(frozen=True, slots=True)
class SolutionReading(QuestionReading):
    """The conversations with a judge that reads solutions."""

    def steps_request(self, text: str, doc: Doc) -> JudgeRequest:
        """The request that asks a judge for the steps of a solution."""
        return self.prompts.request(
            "solution",
            doc["language"],
            parse=parse_steps,
            n_images=len(doc["visual_clue"]),
            clues=list(doc["textual_clue"]),
            context=doc["context"],
            question=doc["statement"],
            response=text,
        )

    def read_answer(self, part: JudgedText, doc: Doc) -> Dialogue[Answer]:
        """The final answer of a solution; thinking alone is not an answer.

        The rules grade it immediately, so that no request to a judge is delayed.
        """
        from lmms_rpts.tasks.cmmath.grading import grade  # imported here: every run imports filters

        found = grade(doc["question"], doc["reference"], part.spoken)
        value, undecided = _one_line(found.answer) or UNDETERMINED, f"{UNDECIDED} ({found.rule})"
        request = partial(compare_request, self.prompts, doc, part.spoken)
        return self.settle(value, found.outcome, undecided, part.spoken, request)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_ANSWER else f"{line[: _LONGEST_ANSWER - 1]}…"

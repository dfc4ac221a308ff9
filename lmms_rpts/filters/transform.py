"""``rpts_transform``: parse a model's free text into a chain of steps and a final answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TypeVar, get_args

from loguru import logger

from lmms_rpts.base.escaping import visible
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import TransformMode, parse_choice
from lmms_rpts.filters.base import JudgingFilter
from lmms_rpts.filters.documents import STANCES, as_texts
from lmms_rpts.filters.grading import with_progress
from lmms_rpts.filters.isolation import Isolation
from lmms_rpts.filters.response_reading import (
    ANSWER_FORMS,
    MAX_STEPS,
    Grader,
    QuestionReading,
    Reading,
    nothing_read,
    tidied,
)
from lmms_rpts.filters.responses import Doc, TransformedResponse, undecided_note
from lmms_rpts.judging import Dialogue, JudgeConfigurationError
from lmms_rpts.reasoning.answer_lines import UNDETERMINED

R = TypeVar("R", bound=Reading)
OTHER_FORMS = (
    "; for other answers set answer of rpts_transform to choice, number, text or none, or grade to "
    "a function"
)


class TransformFilter(JudgingFilter):
    """Turns each response into a ``TransformedResponse``.

    Args:
        mode: ``llm``: a judge rewrites every response into steps; ``rule``: rules parse them;
            ``auto``: rules if the model used the step format, else a judge. If the judge cannot
            write text, rules parse everything. The setting ``transform`` overrides it.
        judge: the judge, if LMMS_RPTS_JUDGE is not set.
        max_steps: maximum number of steps; longer arguments are cut, which is recorded.
        answer: type of the answers: ``agree`` (or disagree), a ``choice`` of options, a
            ``number``, a ``text``, ``mixed`` (that of each gold answer), or ``none`` if answers are
            not graded.
        grade: a function of a response and its document that returns whether the answer is right
            (None: undecided); replaces the rules.
    """

    gives = TransformedResponse
    NAME = "rpts_transform"

    def __init__(
        self,
        mode: str | None = None,
        judge: str | None = None,
        max_steps: int = MAX_STEPS,
        answer: str | None = None,
        grade: Grader | None = None,
    ) -> None:
        super().__init__(judge)
        set_mode = self.settings.transform
        chosen = set_mode or parse_choice(f"{self.NAME}: mode", mode, get_args(TransformMode))
        if set_mode == "llm" and not self.can_write:
            raise JudgeConfigurationError(
                f"transform = llm needs a judge that writes text; {self.judge!r} does not: "
                "choose another judge, or use rule or auto"
            )
        if max_steps < 1:
            raise ValueError(f"{self.NAME}: max_steps must be at least 1, got {max_steps}")
        if grade is not None and not callable(grade):
            raise JudgeConfigurationError(
                f"{self.NAME}: grade should be a function, such as grade: !function grading.grade"
            )
        self.form = parse_choice(f"{self.NAME}: answer", answer, ANSWER_FORMS) or "agree"
        self.grade = grade
        self.mode: TransformMode = chosen or "auto"
        self.max_steps = max_steps

    def apply(
        self, resps: Sequence[Sequence[str | None]], docs: Sequence[Doc]
    ) -> list[list[TransformedResponse]]:
        """Parse all responses; ``resps`` has one list of texts per instance."""
        return self.map_responses(resps, docs, self._read_all)

    def reading(self) -> Reading:
        """The parser of responses."""
        if self.form == "agree" and self.grade is None:
            return self.read_as(Reading)
        return self.read_as(QuestionReading, form=self.form, grade=self.grade)

    def read_as(self, kind: type[R], **more: Any) -> R:
        """A parser of this kind, with the settings of the run; ``more``: its own fields."""
        asks = self.can_write
        return kind(
            self.mode if asks else "rule", asks, self.prompts, source=self.settings.source, **more
        )

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """As in other filters; also answers of another type than those graded here."""
        faults = list(super().document_faults(doc))
        yield from faults
        if not faults and self.grade is None:
            yield from self.gold_faults(doc)

    def gold_faults(self, doc: Doc) -> Iterator[str]:
        """Why the rules cannot grade answers to a document."""
        if self.form == "agree":
            if doc["answer"] not in STANCES:
                wanted = " or ".join(STANCES)
                yield f"answer should be {wanted}, not {shown(doc['answer'])}{OTHER_FORMS}"
        elif self.form in ("choice", "number", "text"):
            from lmms_rpts.grading.grader import gold_fault

            options = as_texts(doc.get("options"))
            if fault := gold_fault(self.form, str(doc["answer"]), options):
                yield f"'answer' cannot be graded as a {self.form}: {fault}"

    def _read_all(self, pairs: list[tuple[Any, Doc]]) -> list[TransformedResponse]:
        reading, shown = self.reading(), self.settings.rank == 0
        all_pairs = with_progress(pairs, "Reading responses by rules", shown)

        def start(response: str | None, doc: Doc) -> Dialogue[TransformedResponse]:
            # Rules run here, before any request to a judge.
            return self._tidied(reading.read(response, doc))

        with Isolation("reading a response") as isolation:
            dialogues = [
                isolation.begin(partial(start, response, doc), partial(nothing_read, doc))
                for response, doc in all_pairs
            ]
            results, fatal = self.converse(dialogues, "Reading the reasoning")
        if fatal:
            logger.error("Parsing the reasoning stopped: {}", fatal)
        _report_answers(results)
        return results

    def _tidied(self, dialogue: Dialogue[TransformedResponse]) -> Dialogue[TransformedResponse]:
        result = yield from dialogue
        return tidied(result, self.max_steps)


def _report_answers(results: Sequence[TransformedResponse]) -> None:
    """Log how many answers are undecided, and why, and how many responses state none."""
    reasons = Counter(each.answer.error for each in results if each.answer.error)
    undecided, right = reasons.total(), sum(each.answer.correct is True for each in results)
    if undecided:
        total = undecided + sum(each.answer.correct is not None for each in results)
        logger.warning(
            "{}; most often: {}",
            undecided_note(undecided, len(results), right / total, (right + undecided) / total),
            visible(reasons.most_common(1)[0][0]),
        )
    unstated = sum(
        each.answer.value == UNDETERMINED and each.answer.correct is False for each in results
    )
    if unstated:
        logger.warning(
            "{} of {} responses state no answer, and count as wrong", unstated, len(results)
        )

"""Data classes passed from one RPTS filter to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.masking import LONGEST, mask
from lmms_rpts.filters.record import Answer, Question, Transform
from lmms_rpts.judging import NO_JUDGE
from lmms_rpts.reasoning import ReasoningChain, format_chain
from lmms_rpts.reasoning.clues import Evidence

Doc = Mapping[str, Any]

NO_RESPONSE = "the model gave no response"
REQUEST_FAILED = "the model request failed: "
"""The beginning of the reason why there is no response, if lmms-eval stored a failure instead."""
_LONGEST_MESSAGE = 300
# What the wrappers of lmms-eval 0.7.3 store instead of a response: its OpenAI and Gemini wrappers,
# those of its world models, batch_gpt4, oryx and llava_vid. Refusals of a provider are responses:
# "[SAFETY_BLOCKED:PROHIBITED_CONTENT]".
_FAILED = re.compile(
    r"\s{0,9}\[(?:LMMS_EVAL_REQUEST_FAILED[^\]\n]{0,60}|GENERATION_FAILED"
    r"|(?P<budget>LMMS_EVAL_BUDGET_EXCEEDED))\](?P<said>.{0,2000})"
    r"|(?P<fixed>Batch failed"
    r"|Video .{1,500} (?:can not load|generate failed), check the source)\Z",
    re.DOTALL,
)
READ_BY_RULES = "read by rules"
NO_THINKING = "the response has no thinking"
CUT = "long thinking: judged are "
"""The beginning of the note on what is left out of a thinking."""


def missing_response(response: str | None) -> str | None:
    """Why there is no response; None if there is one, be it empty."""
    if response is None:
        return NO_RESPONSE
    failed = _FAILED.match(response)
    if failed is None:
        return None
    if failed["budget"]:
        return f"{REQUEST_FAILED}the token budget of the run is spent (--max_tokens)"
    said = shorten(mask((failed["said"] or failed["fixed"] or "")[:LONGEST]), _LONGEST_MESSAGE)
    return REQUEST_FAILED + (said or "lmms-eval gives no reason")


def undecided_note(undecided: int, total: int, low: float, high: float) -> str:
    """What undecided answers mean for accuracy: its range, as a sentence without its full stop."""
    return (
        f"{undecided} of {total} answers are neither right nor wrong, and are left out of "
        f"accuracy, which is from {low:.3f} (all of them wrong) to {high:.3f} (all right)"
    )


@dataclass(frozen=True, slots=True)
class TransformedResponse:
    """A response after ``rpts_transform`` or a similar filter.

    Attributes:
        chain: the parsed steps, before repair.
        answer: the final answer, as in the record.
        transform: how the response was parsed, as in the record; the chain is added at the end.
    """

    chain: ReasoningChain
    answer: Answer
    transform: Transform

    def __str__(self) -> str:
        return "\n".join(format_chain(self.chain))

    def strip(self) -> str:
        """The steps as text, for lmms-eval if no ``rpts_aggregate`` follows."""
        return str(self)

    def unscored(self, reason: str | None) -> TransformedResponse:
        """This response with a reason why it has no score, unless it has one already."""
        if reason is None or self.transform.error is not None:
            return self
        return replace(self, transform=self.transform.model_copy(update={"error": reason}))


@dataclass(frozen=True, slots=True)
class Judged:
    """The score of a step: its fields are those of the record."""

    score: float | None
    note: str | None = None
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoredResponse:
    """A response after ``rpts_score``: the repaired chain and one score for each step.

    ``evidence``: the evidence that claims about images were judged against.
    """

    transformed: TransformedResponse
    chain: ReasoningChain
    steps: tuple[Judged, ...]
    judge: str
    evidence: Evidence = "facts"

    def __str__(self) -> str:
        scores = ("-" if step.score is None else f"{step.score:.2f}" for step in self.steps)
        lines = zip(format_chain(self.chain), scores, strict=True)
        return "\n".join(f"{line} [{score}]" for line, score in lines)

    def strip(self) -> str:
        """The scored steps as text, for lmms-eval if no ``rpts_aggregate`` follows."""
        return str(self)

    @property
    def error(self) -> str | None:
        """Why the response is not scored; None if it is."""
        if self.judge == NO_JUDGE:
            return "not judged: the judge is 'none'"
        if self.transformed.transform.error:
            return self.transformed.transform.error
        for at, step in enumerate(self.steps):
            if step.score is None:
                return f"step {at}: {step.questions[-1].error}"
        return None

    @property
    def questions(self) -> Iterator[Question]:
        """All questions to the judge."""
        return (question for step in self.steps for question in step.questions)

"""Data classes passed from one RPTS filter to the next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from lmms_rpts.escaping import shorten
from lmms_rpts.judging import NO_JUDGE, Opinion
from lmms_rpts.masking import LONGEST, mask
from lmms_rpts.reasoning import ReasoningChain, format_chain
from lmms_rpts.reasoning.evidence import Evidence
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.schema import Number, Several, Share, Text, Whole

Doc = Mapping[str, Any]
ReadBy = Literal["rule", "llm", "nothing"]
AnswerBy = Literal["rule", "judge", "function", "task"]

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
        read_by: whether rules or a judge parsed them; ``nothing`` if there was nothing to parse.
        style: format of the steps, as detected by the rules.
        source: the part of the response that was parsed.
        answer: the final answer; None if it is unknown because the judge failed.
        answer_by: what determined the final answer.
        correct: whether it is right; None if undecided.
        problems: messages about text that could not be parsed.
        judge_reply: the judge's reply, if it was asked for the steps.
        error: why there is no chain, if the judge failed.
        answer_error: why there is no answer, or why it is undecided whether it is right.
    """

    chain: ReasoningChain
    read_by: ReadBy
    style: str
    source: ReasoningSource
    answer: str | None
    answer_by: AnswerBy
    correct: bool | None = None
    problems: tuple[str, ...] = ()
    judge_reply: str | None = None
    error: str | None = None
    answer_error: str | None = None

    def __str__(self) -> str:
        return "\n".join(format_chain(self.chain))

    def strip(self) -> str:
        """The steps as text, for lmms-eval if no ``rpts_aggregate`` follows."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a step, and the judge's reply.

    Part of the record.
    """

    kind: Annotated[
        Literal["image", "inference", "second", "root"],
        Field(
            description="`image`: claim about an image; `inference`: whether the conclusion "
            "follows; `second`: the same with more premises, after a score below 0.5; `root`: "
            "whether the evidence leads to the answer"
        ),
    ]
    evidence: Annotated[
        Several[Text],
        Field(
            description="facts or premises given to the judge; for `root`, what is known of the "
            "evidence that the root depends on, besides the context (empty in old records)"
        ),
    ]
    score: Annotated[
        Share | None,
        Field(description="the score; the mean of several replies; null if there is none"),
    ]
    reply: Annotated[
        Text | None, Field(description="the judge's complete reply; null if there are several")
    ]
    error: Annotated[Text | None, Field(description="why there is no score")]
    # Records written before there were several samples lack the next two.
    spread: Annotated[
        Number | None,
        Field(description="population standard deviation of several replies"),
    ] = None
    opinions: Annotated[
        Several[Opinion], Field(description="the replies, if there are several")
    ] = ()
    images: Annotated[
        Several[Whole],
        Field(
            description="numbers of the images shown to the judge; omitted if none",
            exclude_if=lambda images: not images,
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class StepScore:
    """The score of one step in [0, 1]; None if the judge failed.

    ``note`` gives the reason if the step was scored without a judge.
    """

    score: float | None
    questions: tuple[Question, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredResponse:
    """A response after ``rpts_score``: the repaired chain and one score for each step.

    ``root``: the score for whether the evidence leads to the answer; None without a step or an
    answer. ``evidence``: the evidence that claims about images were judged against.
    """

    transformed: TransformedResponse
    chain: ReasoningChain
    steps: tuple[StepScore, ...]
    judge: str
    root: StepScore | None = None
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
        if self.transformed.error:
            return self.transformed.error
        for at, step in enumerate(self.steps):
            if step.score is None:
                return f"step {at}: {step.questions[-1].error}"
        return None

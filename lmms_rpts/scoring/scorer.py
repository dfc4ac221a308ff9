"""Scorers of responses, and responses that are missing: failed requests of the model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from loguru import logger

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.masking import LONGEST, mask
from lmms_rpts.judging.types import NO_JUDGE, NOT_JUDGED

if TYPE_CHECKING:
    from lmms_rpts.judging.client import Client
    from lmms_rpts.runs.record import Record
    from lmms_rpts.stats.metrics import Metrics

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
    r"|Video .{1,500} (?:can not load|generate failed), check the source)\Z"
    # async_openai and bagel: 'Error: can only concatenate str (not "NoneType") to str'
    r"|Error: (?:(?P<coded>Error code: \d{3}.{0,2000})|(?P<error>[^\n]{0,300}))\s{0,9}\Z",
    re.DOTALL,
)
# "Error: the clock is misread. Final answer: disagree" is a response.
_ANSWERED = re.compile(
    r"\b(?:answer|(?:dis)?agree|conclusion|therefore|(?:image|text)\s?\d)|答案|结论|同意|因此|图片|文本",
    re.IGNORECASE,
)


def missing_response(response: object) -> str | None:
    """Why there is no response; None if there is one, be it empty."""
    if not isinstance(response, str) or response == "None":  # lmms-eval's text for None
        return NO_RESPONSE
    failed = _FAILED.match(response)
    if failed is None or _ANSWERED.search(failed["error"] or ""):
        return None
    if failed["budget"]:
        return f"{REQUEST_FAILED}the token budget of the run is spent (--max_tokens)"
    words = failed["said"] or failed["fixed"] or failed["coded"] or failed["error"] or ""
    message = shorten(mask(words[:LONGEST]), _LONGEST_MESSAGE)
    return REQUEST_FAILED + (message or "lmms-eval gives no reason")


@dataclass(eq=False)
class Scorer:
    """How the responses to a task are scored; counts them for warnings at the end.

    Attributes:
        RECORD, METRICS: the type of its records, and their metrics.
        UNSCORED: what responses without a score are, and the metric that counts them.
        COUNTED: what else is counted of records, by name: a function that returns True or the
            reason; anything else that is false is not counted.
        unasked: metrics without a value because the settings leave out their questions.
        judge: name of the judge to ask; ``none`` if nobody is asked.
        question: returns a question as this scorer needs it, such as with its images.
        total, empty: how many records were noted, and how many of empty responses.
        failed, unscored: why there is no response, or no score, and how often.
        counts: for each of ``COUNTED``, the reasons and how often.
    """

    RECORD: ClassVar[type[Record]]
    METRICS: ClassVar[Metrics]
    UNSCORED: ClassVar[str]
    COUNTED: ClassVar[Mapping[str, Callable[[Any], object]]] = {}
    unasked: frozenset[str] = field(default=frozenset(), init=False)
    judge: str = NO_JUDGE
    question: Callable[[Any], Any] = field(default=lambda question: question, kw_only=True)
    total: int = field(default=0, init=False)
    empty: int = field(default=0, init=False)
    failed: Counter[str] = field(default_factory=Counter, init=False)
    unscored: Counter[str] = field(default_factory=Counter, init=False)
    counts: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter), init=False
    )

    async def score(self, response: str | None, question: Any, judge: Client) -> Any:
        """The record of a response; raises nothing for bad output of a model or judge."""
        raise NotImplementedError

    def note(self, record: Record) -> None:
        """Count a record; records need not be kept."""
        self.total += 1
        if missing := missing_response(record.text):
            self.failed[missing] += 1
            return
        self.empty += not str(record.text).strip()
        if record.reason and record.reason != NOT_JUDGED:
            self.unscored[record.reason] += 1
        for name, counted in self.COUNTED.items():
            if found := counted(record):
                self.counts[name][str(found)] += 1

    def report(self) -> None:
        """Log what the table of results does not show."""
        if self.failed:
            logger.warning(
                "{} of {} model requests failed. Their responses are left out of all means; most "
                "often: {}",
                self.failed.total(),
                self.total,
                self.failed.most_common(1)[0][0].removeprefix(REQUEST_FAILED),
            )
        if self.empty:
            logger.warning(
                "{} of {} responses are empty and count as wrong. Some model wrappers of lmms-eval "
                "return an empty text for a failed request: see its log",
                self.empty,
                self.total,
            )
        if count := self.unscored.total():
            logger.warning(
                "{} of {} responses could not be {}; most often: {}",
                *(count, self.total, self.UNSCORED, self.unscored.most_common(1)[0][0]),
            )

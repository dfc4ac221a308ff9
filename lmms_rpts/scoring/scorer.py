"""Scorers of responses, and responses that are missing: failed requests of the model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from loguru import logger

from lmms_rpts.base.escaping import shorten, visible
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


class Notice(NamedTuple):
    """A warning about some of the records of a run.

    Attributes:
        about: whether it is about a record: True or the reason; anything false if not.
        text: the warning, with {0} of {1} responses, {2} the most frequent reason, and {3} the
            scorer; empty: they are only counted.
    """

    about: Callable[[Any], object]
    text: str = ""


@dataclass(eq=False)
class Scorer:
    """How the responses to a task are scored; counts them for warnings at the end.

    Attributes:
        RECORD, METRICS: the type of its records, and their metrics.
        UNSCORED: what responses without a score are, and the metric that counts them.
        NOTICES: the warnings by name.
        unasked: metrics without a value because the settings leave out their questions.
        judge: name of the judge to ask; ``none`` if nobody is asked.
        question: returns a question as this scorer needs it, such as with its images.
        total: how many records were noted.
        counts: for each of ``NOTICES``, the reasons and how often.
    """

    RECORD: ClassVar[type[Record]]
    METRICS: ClassVar[Metrics]
    UNSCORED: ClassVar[str]
    NOTICES: ClassVar[Mapping[str, Notice]] = {
        "failed": Notice(
            lambda it: (missing_response(it.text) or "").removeprefix(REQUEST_FAILED),
            "{0} of {1} model requests failed. Their responses are left out of all means; most "
            "often: {2}",
        ),
        "empty": Notice(
            lambda it: not str(it.text).strip(),
            "{0} of {1} responses are empty and count as wrong. Some model wrappers of lmms-eval "
            "return an empty text for a failed request: see its log",
        ),
        "unscored": Notice(
            lambda it: it.reason != NOT_JUDGED and not missing_response(it.text) and it.reason,
            "{0} of {1} responses could not be {3.UNSCORED}; most often: {2}",
        ),
    }
    unasked: frozenset[str] = field(default=frozenset(), init=False)
    judge: str = NO_JUDGE
    question: Callable[[Any], Any] = field(default=lambda question: question, kw_only=True)
    total: int = field(default=0, init=False)
    counts: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter), init=False
    )

    async def score(self, response: str | None, question: Any, judge: Client) -> Any:
        """The record of a response; raises nothing for bad output of a model or judge."""
        raise NotImplementedError

    def note(self, record: Record) -> None:
        """Count a record; records need not be kept."""
        self.total += 1
        for name, notice in self.NOTICES.items():
            if reason := notice.about(record):
                self.counts[name][str(reason)] += 1

    def report(self) -> None:
        """Log what the table of results does not show."""
        for name, notice in self.NOTICES.items():
            if notice.text and (count := self.counts[name].total()):
                most = visible(self.counts[name].most_common(1)[0][0])
                logger.warning(notice.text, count, self.total, most, self)

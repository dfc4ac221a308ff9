"""Estimate of the judge calls and tokens that a task needs, before a run.

The requests of a run are built and counted, but not sent; replies are made up. Token counts are
estimated from the length of the texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from statistics import stdev
from typing import Any, TypeVar

from lmms_rpts.base.settings import Source, TransformMode
from lmms_rpts.filters.documents import STANCES
from lmms_rpts.filters.questions import Plan, ask_about_step
from lmms_rpts.filters.response_reading import MAX_STEPS, QuestionReading, Reading, tidied
from lmms_rpts.judging import Dialogue, JudgeRequest, Usage, Verdict
from lmms_rpts.judging.budget import guess_input_tokens
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.reasoning.clues import Evidence

T = TypeVar("T")
Doc = Mapping[str, Any]

DOUBTED = 0.3
"""Typical share of inferences that score less than 0.5 and are judged a second time."""

SAID = {
    "image": 60,
    "image_seen": 60,
    "inference": 70,
    "inference_seen": 70,
    "transform": 250,
    "question_steps": 250,
    "answer": 4,
    "match": 80,
}
"""Typical number of tokens in a judge's reply."""

_ONE_SIDED = 1.645
"""Standard deviations above the mean that 95% of a normal distribution are below."""

_CLAIM = "what is said here is as long as one sentence of ninety letters of an argument often is."
_ANSWER = {"en": "Final answer: {}", "zh": "最终答案：{}"}
_ASIDE = "I have been through all of this again, and it still seems to be what I said above."
_WORDS = {"en": {}, "zh": {"agree": "同意", "disagree": "不同意"}}


@dataclass(frozen=True, slots=True)
class Need:
    """Calls and tokens."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: Need) -> Need:
        return Need(self.calls + other.calls, self.usage + other.usage)

    def times(self, factor: int) -> Need:
        """This need, ``factor`` times."""
        read, said = self.usage.input_tokens * factor, self.usage.output_tokens * factor
        return Need(self.calls * factor, Usage(read, said))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Needs of a task.

    Attributes:
        instances: number of judged responses.
        typical: if the model writes its steps in the requested format.
        rewritten: if it does not, and the judge rewrites each response into steps.
        likely: exceeded in one of 20 cases: by the spread between the responses, or without any,
            if each inference is judged twice and each reply is as long as its prompt allows.
        saved: for existing responses; None if there are none.
    """

    instances: int
    typical: Need
    rewritten: Need
    likely: Need
    saved: Need | None = None


def estimate_need(
    docs: Sequence[Doc],
    *,
    responses: Sequence[str] | None = None,
    prompts: Prompts | None = None,
    mode: TransformMode = "auto",
    evidence: Evidence | None = None,
    source: Source = "answer",
) -> Estimate:
    """Estimate what judging responses to ``docs`` takes.

    For a document without gold reasoning, a typical argument makes one claim about each image and
    draws two conclusions. A typical thinking says the same as the response, in free text.

    Args:
        docs: with the fields of RPTS-Eval, including ``language``.
        responses: one for each of ``docs``, if there are any yet.
        prompts: prompt templates; None: the built-in ones.
        mode: how saved responses are parsed, as in the setting ``transform``.
        evidence: evidence for claims about images; None: the facts if a document has gold
            reasoning, otherwise the images.
        source: which reasoning is scored, as in the setting.
    """
    gold, thinks = [], source == "thinking"
    for doc in docs:  # the gold reasoning and answer, written in the requested format
        answer = _WORDS[doc["language"]].get(doc["answer"], doc["answer"])
        ending = _ANSWER[doc["language"]].format(answer)
        chain = "\n".join(_typical_chain(doc))
        thinking = f"<think>{chain}\n{_ASIDE}</think>\n" if thinks else ""
        gold.append(f"{thinking}{chain}\n{ending}")

    def needs(texts: Sequence[str], mode: TransformMode, longest: bool = False) -> list[Need]:
        tally = _Tally(prompts or Prompts(), evidence, longest, source)
        return [tally.need(doc, text, mode) for doc, text in zip(docs, texts, strict=True)]

    # Thinking has no requested format: a judge rewrites it, unless rules read everything.
    requested: TransformMode = "rule" if source == "answer" else mode
    requested = "auto" if requested == "llm" else requested
    found = None if responses is None else needs(responses, mode)
    return Estimate(
        instances=len(docs),
        typical=sum(needs(gold, requested), Need()),
        rewritten=sum(needs(gold, "llm"), Need()),
        likely=(
            sum(needs(gold, "rule" if mode == "rule" else "llm", longest=True), Need())
            if found is None
            else _by_spread(found)
        ),
        saved=None if found is None else sum(found, Need()),
    )


def _by_spread(needs: Sequence[Need]) -> Need:
    """What the same number of such responses needs in 95% of the cases."""

    def upper(values: Sequence[int]) -> int:
        spread = stdev(values) if len(values) > 1 else 0.0
        return math.ceil(sum(values) + _ONE_SIDED * spread * math.sqrt(len(values)))

    read = upper([each.usage.input_tokens for each in needs])
    said = upper([each.usage.output_tokens for each in needs])
    return Need(upper([each.calls for each in needs]), Usage(read, said))


@dataclass
class _Tally:
    """Builds the requests of a run without sending them, and counts them.

    ``longest``: each inference is doubted, and each reply is as long as its prompt allows.
    """

    prompts: Prompts
    evidence: Evidence | None
    longest: bool
    source: Source
    _need: Need = field(default_factory=Need)
    _inferences: Iterator[int] = field(default_factory=lambda: count(1))

    def need(self, doc: Doc, response: str, mode: TransformMode) -> Need:
        """What one response takes."""
        self._need, prompts = Need(), self.prompts
        kind = Reading if doc["answer"] in STANCES else QuestionReading
        reading = kind(mode, True, prompts, source=self.source)
        read = tidied(self._finished(reading.read(response, doc), doc), MAX_STEPS)
        for query in Plan.of(read, doc, self.evidence).queries:
            self._finished(ask_about_step(query, doc, prompts), doc)
        return self._need

    def _finished(self, dialogue: Dialogue[T], doc: Doc) -> T:
        try:
            request, first = next(dialogue), True
            while True:
                request, first = dialogue.send(self._answer(request, doc, first)), False
        except StopIteration as end:
            result: T = end.value
            return result

    def _answer(self, request: JudgeRequest, doc: Doc, first: bool) -> Verdict:
        for image in request.images:
            with suppress(ImageError):
                _ = image.digest  # once the size is known, the image's tokens are counted
        said = request.most_tokens if self.longest else SAID[request.kind]
        self._need += Need(1, Usage(guess_input_tokens(request), said))
        if request.kind in ("transform", "question_steps"):
            return Verdict("", "\n".join(_typical_chain(doc)))
        if request.kind == "answer":
            return Verdict("", doc["answer"])
        doubted = False
        if request.kind == "inference" and first:
            at = next(self._inferences)
            doubted = self.longest or int(at * DOUBTED) > int((at - 1) * DOUBTED)
        return Verdict("", 0.4 if doubted else 1.0)


def _typical_chain(doc: Doc) -> list[str]:
    """The gold reasoning; without one, a claim about each image and two conclusions from them."""
    if doc["reasoning"]:
        return list(doc["reasoning"])
    images = len(doc["visual_clue"])
    claims = [f"Image{at} -> Conclusion{at}: {_CLAIM}" for at in range(images)]
    cited = " + ".join([f"Conclusion{at}" for at in range(images)] or ["Context"])
    first = f"{cited} -> Conclusion{images}: {_CLAIM}"
    return [*claims, first, f"Conclusion{images} + Context -> Conclusion{images + 1}: {_CLAIM}"]

"""Estimate of the judge calls and tokens that a task needs, before a run.

The requests of a run are built and counted, but not sent; replies are made up. Token counts are
estimated from the length of the texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import stdev
from typing import Any, cast

from lmms_rpts.base.settings import Source, TransformMode
from lmms_rpts.judging.budget import guess_input_tokens
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Request, Usage, Verdict
from lmms_rpts.reasoning.clues import Evidence
from lmms_rpts.runs.work import run_async
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import STANCES, Question
from lmms_rpts.scoring.reading import read
from lmms_rpts.scoring.steps import judge_steps

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
        answer = Question.of(doc).gold
        answer = _WORDS[doc["language"]].get(answer, answer)
        ending = _ANSWER[doc["language"]].format(answer)
        chain = "\n".join(_typical_chain(doc))
        thinking = f"<think>{chain}\n{_ASIDE}</think>\n" if thinks else ""
        gold.append(f"{thinking}{chain}\n{ending}")

    def needs(texts: Sequence[str], mode: TransformMode, longest: bool = False) -> list[Need]:
        judge = _Counter(prompts or Prompts(), evidence, longest, source)

        async def counted() -> list[Need]:
            return [await judge.need(*each, mode) for each in zip(docs, texts, strict=True)]

        return run_async(counted())

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


class _Counter:
    """A judge that counts the requests of a run instead of answering them.

    Args:
        prompts, evidence, source: as for `estimate_need`.
        longest: each inference is doubted, and each reply is as long as its prompt allows.
    """

    name, writes, sees, comparable, stopped = "counter", True, True, True, None

    def __init__(
        self, prompts: Prompts, evidence: Evidence | None, longest: bool, source: Source
    ) -> None:
        self.prompts, self.evidence, self.longest, self.source = prompts, evidence, longest, source
        self._need = Need()
        self._doc: Doc = {}
        self._inferences, self._doubted = 0, False

    async def need(self, doc: Doc, response: str, mode: TransformMode) -> Need:
        """What one response takes."""
        self._need, self._doc = Need(), doc
        options = Options(
            prompts=self.prompts,
            mode=mode,
            evidence=self.evidence,
            source=self.source,
            form="agree" if doc["answer"] in STANCES else "none",
        )
        question, judge = Question.of(doc), cast(Client, self)
        reading = await read(response, question, judge, options)
        await judge_steps(reading, question, judge, options)
        return self._need

    async def ask(self, request: Request) -> Verdict:
        """A made-up verdict."""
        for image in request.images:
            with suppress(ImageError):
                _ = image.digest  # once the size is known, the image's tokens are counted
        said = request.most_tokens if self.longest else SAID[request.kind]
        self._need += Need(1, Usage(guess_input_tokens(request), said))
        value: float | str = 1.0
        if request.kind in ("transform", "question_steps"):
            value = "\n".join(_typical_chain(self._doc))
        elif request.kind == "answer":
            value = self._doc["answer"]
        elif request.kind.startswith("inference"):
            value = 0.4 if self._doubts() else 1.0
        return Verdict(kind=request.kind, prompt_version="", value=value)

    def _doubts(self) -> bool:
        """Whether an inference scores less than 0.5; its second question does not."""
        if self._doubted:
            self._doubted = False
            return False
        self._inferences += 1
        at = self._inferences
        self._doubted = self.longest or int(at * DOUBTED) > int((at - 1) * DOUBTED)
        return self._doubted


def _typical_chain(doc: Doc) -> list[str]:
    """The gold reasoning; without one, a claim about each image and two conclusions from them."""
    if doc["reasoning"]:
        return list(doc["reasoning"])
    images = len(doc["visual_clue"])
    claims = [f"Image{at} -> Conclusion{at}: {_CLAIM}" for at in range(images)]
    cited = " + ".join([f"Conclusion{at}" for at in range(images)] or ["Context"])
    first = f"{cited} -> Conclusion{images}: {_CLAIM}"
    return [*claims, first, f"Conclusion{images} + Context -> Conclusion{images + 1}: {_CLAIM}"]

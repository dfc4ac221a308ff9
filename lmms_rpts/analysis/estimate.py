"""Estimate of the judge calls and tokens that a task needs, before a run.

The requests of a run are built and counted, but not sent; replies are made up. Token counts are
estimated from the length of the texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import stdev
from typing import Any, cast

from lmms_rpts.base.settings import TransformMode
from lmms_rpts.judging.budget import guess_input_tokens
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Request, Usage, Verdict
from lmms_rpts.runs.work import run_async
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import STANCES, Question
from lmms_rpts.scoring.reading import read
from lmms_rpts.scoring.steps import judge_steps

Doc = Mapping[str, Any]

DOUBTED = 0.3
"""Typical share of inferences that score less than 0.5 and are judged a second time."""

REPLY_TOKENS = {
    **dict.fromkeys(("image", "image_seen"), 60),
    **dict.fromkeys(("inference", "inference_seen"), 70),
    **dict.fromkeys(("transform", "question_steps"), 250),
    "answer": 4,
    "match": 80,
}
"""Typical number of tokens in a judge's reply, by kind of request."""

_ONE_SIDED = 1.645
"""Standard deviations above the mean that 95% of a normal distribution are below."""

_CLAIM = "what is said here is as long as one sentence of ninety letters of an argument often is."
_ANSWER = {"en": "Final answer: {}", "zh": "最终答案：{}"}
_ASIDE = "I have been through all of this again, and it still seems to be what I said above."
_STANCES_ZH = {"agree": "同意", "disagree": "不同意"}


@dataclass(frozen=True, slots=True)
class Need:
    """Calls and tokens."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: Need) -> Need:
        return Need(self.calls + other.calls, self.usage + other.usage)


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
    docs: Sequence[Doc], *, responses: Sequence[str] | None = None, options: Options | None = None
) -> Estimate:
    """Estimate what judging responses to ``docs`` takes.

    For a document without gold reasoning, a typical argument makes one claim about each image and
    draws two conclusions. A typical thinking says the same as the response, in free text.

    Args:
        docs: with the fields of RPTS-Eval, including ``language``.
        responses: one for each of ``docs``, if there are any yet.
        options: how they are scored; None: the defaults.
    """
    options = options or Options(prompts=Prompts())
    gold = [_gold_response(doc, thinks=options.source == "thinking") for doc in docs]

    def needs(texts: Sequence[str], mode: TransformMode, longest: bool = False) -> list[Need]:
        counter = _Counter(replace(options, mode=mode), longest)

        async def counted() -> list[Need]:
            return [await counter.need(*each) for each in zip(docs, texts, strict=True)]

        return run_async(counted())

    # Thinking has no requested format: a judge rewrites it, unless rules read everything.
    mode = options.mode
    in_format: TransformMode = "auto" if mode == "llm" else mode
    in_format = "rule" if options.source == "answer" else in_format
    saved = None if responses is None else needs(responses, mode)
    longest = (
        needs(gold, "rule" if mode == "rule" else "llm", longest=True) if saved is None else ()
    )
    return Estimate(
        instances=len(docs),
        typical=sum(needs(gold, in_format), Need()),
        rewritten=sum(needs(gold, "llm"), Need()),
        likely=sum(longest, Need()) if saved is None else _by_spread(saved),
        saved=None if saved is None else sum(saved, Need()),
    )


def _by_spread(needs: Sequence[Need]) -> Need:
    """What the same number of such responses needs in 95% of the cases."""

    def upper(values: Sequence[int]) -> int:
        spread = stdev(values) if len(values) > 1 else 0.0
        return math.ceil(sum(values) + _ONE_SIDED * spread * math.sqrt(len(values)))

    tokens = [(need.usage.input_tokens, need.usage.output_tokens) for need in needs]
    usage = Usage(*map(upper, zip(*tokens, strict=True))) if tokens else Usage()
    return Need(upper([need.calls for need in needs]), usage)


class _Counter:
    """A judge that counts requests instead of answering them.

    ``longest``: each inference is doubted, and each reply is as long as its prompt allows.
    """

    name, writes, sees, comparable, stopped = "counter", True, True, True, None

    def __init__(self, options: Options, longest: bool) -> None:
        self.options, self.longest = options, longest
        self._need = Need()
        self._doc: Doc = {}
        self._inferences, self._doubted = 0, False

    async def need(self, doc: Doc, response: str) -> Need:
        """What one response takes."""
        self._need, self._doc = Need(), doc
        question, judge = Question.of(doc), cast(Client, self)
        options = replace(self.options, form="agree" if doc["answer"] in STANCES else "none")
        reading = await read(response, question, judge, options)
        await judge_steps(reading, question, judge, options)
        return self._need

    async def ask(self, request: Request) -> Verdict:
        """A made-up verdict."""
        for image in request.images:
            with suppress(ImageError):
                _ = image.digest  # once the size is known, the image's tokens are counted
        replied = request.most_tokens if self.longest else REPLY_TOKENS[request.kind]
        self._need += Need(1, Usage(guess_input_tokens(request), replied))
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


def _gold_response(doc: Doc, thinks: bool) -> str:
    """The gold reasoning and answer in the requested format, perhaps after thinking the same."""
    chain, language = "\n".join(_typical_chain(doc)), doc["language"]
    answer = Question.of(doc).gold
    answer = _STANCES_ZH.get(answer, answer) if language == "zh" else answer
    thinking = f"<think>{chain}\n{_ASIDE}</think>\n" if thinks else ""
    return f"{thinking}{chain}\n{_ANSWER[language].format(answer)}"


def _typical_chain(doc: Doc) -> list[str]:
    """The gold reasoning; without one, a claim about each image and two conclusions from them."""
    if doc["reasoning"]:
        return list(doc["reasoning"])
    images = len(doc["visual_clue"])
    claims = [f"Image{at} -> Conclusion{at}: {_CLAIM}" for at in range(images)]
    cited = " + ".join([f"Conclusion{at}" for at in range(images)] or ["Context"])
    first = f"{cited} -> Conclusion{images}: {_CLAIM}"
    return [*claims, first, f"Conclusion{images} + Context -> Conclusion{images + 1}: {_CLAIM}"]

"""Estimate of the judge calls and tokens that a task needs, before a run.

The requests of a run are built and counted, but not sent; replies are made up. Token counts are
estimated from the length of the texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import stdev
from typing import NamedTuple, cast

from lmms_rpts.judging.budget import guess_input_tokens
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Request, Verdict
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.reading import read
from lmms_rpts.scoring.steps import judge_steps
from lmms_rpts.scoring.work import run_async

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
_STANCES_ZH = {"agree": "同意", "disagree": "不同意"}


class Need(NamedTuple):
    """Calls and tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def estimate_need(
    questions: Sequence[Question],
    *,
    responses: Sequence[str] | None = None,
    options: Options | None = None,
) -> dict[str, Need]:
    """Estimate what judging responses to questions takes, by the kind of the responses.

    ``these responses``: those that are passed. ``typical, requested format`` and ``typical, free
    text``: the gold reasoning; without any, a claim about each image and two conclusions. ``95%``:
    exceeded in one of 20 cases: by the spread between the responses that are passed, or without
    any, if each inference is judged twice and each reply is as long as its prompt allows.

    Args:
        responses: one for each question, if there are any yet.
        options: how they are scored; None: the defaults.
    """
    options = options or Options(prompts=Prompts())
    mode, thinks = options.mode, options.source == "thinking"
    gold = [_gold_response(question, thinks) for question in questions]
    by_rules, rewritten = replace(options, mode="rule"), replace(options, mode="llm")
    needs = {}
    if responses is not None:
        needs["these responses"] = _needs(questions, responses, options)
    if mode != "llm":
        # Thinking has no requested format: a judge rewrites it, unless rules read everything.
        kept = rewritten if thinks and mode != "rule" else by_rules
        needs["typical, requested format"] = _needs(questions, gold, kept)
    if mode != "rule":
        needs["typical, free text"] = _needs(questions, gold, rewritten)
    totals = {kind: Need(*map(sum, zip(*each, strict=True))) for kind, each in needs.items()}
    if responses is not None:
        upper = Need(*map(_upper, zip(*needs["these responses"], strict=True)))
    else:
        most = _needs(questions, gold, by_rules if mode == "rule" else rewritten, longest=True)
        upper = Need(*map(sum, zip(*most, strict=True)))
    return totals | {"95%": upper}


def _upper(values: Sequence[int]) -> int:
    """What the sum of so many such values does not exceed in 95% of the cases."""
    spread = stdev(values) if len(values) > 1 else 0.0
    return math.ceil(sum(values) + _ONE_SIDED * spread * math.sqrt(len(values)))


def _needs(
    questions: Sequence[Question], responses: Sequence[str], options: Options, longest: bool = False
) -> list[Need]:
    """What each response takes; ``longest``: see `_Counter`."""
    counter, needs = _Counter(longest), list[Need]()

    async def count() -> None:
        judge = cast(Client, counter)
        for question, response in zip(questions, responses, strict=True):
            counter.question, counter.calls = question, []
            chosen = replace(options, form="agree" if question.is_statement else "none")
            reading = await read(response, question, judge, chosen)
            await judge_steps(reading, judge, chosen)
            needs.append(Need(*map(sum, zip(*counter.calls, strict=True))))

    run_async(count())
    return needs


class _Counter:
    """A judge that counts requests instead of answering them.

    ``longest``: each inference is doubted, and each reply is as long as its prompt allows.
    """

    name, writes, sees, stopped = "counter", True, True, None
    question: Question  # that is being asked about
    calls: list[Need]  # for this question

    def __init__(self, longest: bool) -> None:
        self.longest, self.inferences, self.doubted = longest, 0, False

    async def ask(self, request: Request) -> Verdict:
        """A made-up verdict."""
        for image in request.images:
            with suppress(ImageError):
                _ = image.digest  # once the size is known, the image's tokens are counted
        replied = request.most_tokens if self.longest else REPLY_TOKENS[request.kind]
        self.calls.append(Need(1, guess_input_tokens(request), replied))
        value: float | str = 1.0
        if request.kind in ("transform", "question_steps"):
            value = "\n".join(_typical_chain(self.question))
        elif request.kind == "answer":
            value = self.question.gold
        elif request.kind.startswith("inference"):
            at = self.inferences = self.inferences + (not self.doubted)
            is_doubtful = self.longest or int(at * DOUBTED) > int((at - 1) * DOUBTED)
            self.doubted = is_doubtful and not self.doubted  # the second question settles it
            value = 0.4 if self.doubted else 1.0
        return Verdict(kind=request.kind, prompt_version="", value=value)


def _gold_response(question: Question, thinks: bool) -> str:
    """The gold reasoning and answer in the requested format, perhaps after thinking the same."""
    chain, answer = "\n".join(_typical_chain(question)), question.gold
    if question.language == "zh":
        answer = _STANCES_ZH.get(answer, answer)
    thinking = f"<think>{chain}</think>\n" if thinks else ""
    return f"{thinking}{chain}\n{_ANSWER[question.language].format(answer)}"


def _typical_chain(question: Question) -> list[str]:
    """The gold reasoning; without one, a claim about each image and two conclusions from them."""
    if question.reasoning:
        return list(question.reasoning)
    images = len(question.visual_clue)
    claims = [f"Image{at} -> Conclusion{at}: {_CLAIM}" for at in range(images)]
    cited = " + ".join([f"Conclusion{at}" for at in range(images)] or ["Context"])
    first = f"{cited} -> Conclusion{images}: {_CLAIM}"
    return [*claims, first, f"Conclusion{images} + Context -> Conclusion{images + 1}: {_CLAIM}"]

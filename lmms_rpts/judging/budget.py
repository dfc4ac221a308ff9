"""Budget of judge calls: usage and cost so far, the limits on them, and estimated tokens."""

from __future__ import annotations

import re
import threading
from dataclasses import astuple, dataclass, field
from math import ceil
from typing import Any

from lmms_rpts.base.settings import Price
from lmms_rpts.judging.types import Reply, Request, Usage

# Expected output tokens of a judge before its first reply.
EXPECTED_OUTPUT = 80

_MILLION = 1_000_000
# Chinese, Japanese and Korean characters and full-width forms: about one token each
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
# Approximate tokens that a chat template adds per message, and side of the image patch of one
# token in pixels, as in Qwen2-VL.
_MESSAGE, _PATCH = 4, 28


class BudgetError(Exception):
    """The next call might exceed the budget of the run."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call in progress; ``tokens`` and ``cost`` are the guess, corrected by earlier calls."""

    judge: str
    kind: str
    price: Price | None
    guess: Usage
    tokens: float
    cost: float


@dataclass(slots=True)
class Budget:
    """Calls, tokens and cost of one run; thread-safe.

    A call is made only if past usage, the expected usage of the calls in progress and that of this
    call are within the budget together. Expected usage is learned from earlier calls, so a budget
    is exceeded by little, if at all.

    Attributes:
        max_tokens, max_cost: limits of input and output tokens, and in the currency of the prices.
        task: the task for which calls are made.
        used: tokens of all calls.
        log: task, judge and tokens (input, output, thinking) of each call that used any.
        calls: number of calls made, failed ones included, which count 0 tokens.
        cost: cost of all calls with a known price.
        guessed: whether some tokens were estimated, because a server does not report them.
        exhausted: why no further call is made.
        share: owner of the budget, for messages.
        found: number of replies found in the cache.
        slow: whether the user was told that the judge is slow.
        stopped: why judging ended before its end.
    """

    max_tokens: int | None = None
    max_cost: float | None = None
    task: str | None = None
    log: list[tuple[str | None, str, int, int, int]] = field(default_factory=list)
    calls: int = 0
    used: Usage = field(default_factory=Usage)
    cost: float = 0.0
    guessed: bool = False
    exhausted: str | None = None
    _tokens_under_way: float = 0.0
    _cost_under_way: float = 0.0
    share: str = ""
    found: int = 0
    slow: bool = False
    stopped: str | None = None
    _learnt: dict[tuple[str, str], tuple[Usage, Usage]] = field(default_factory=dict)
    """Guessed and actual usage of the calls of each kind to each judge."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, judge: str, price: Price | None, request: Request) -> Call:
        """Book a call that is about to be made; a BudgetError if it might exceed the budget."""
        guess = Usage(guess_input_tokens(request), EXPECTED_OUTPUT)
        with self._lock:
            guessed, taken = self._learnt.get((judge, request.kind), (guess, guess))
            longer = taken.tokens / guessed.tokens
            dearer = cost_of(taken, price) / (cost_of(guessed, price) or 1.0)
            cost = cost_of(guess, price) * dearer
            call = Call(judge, request.kind, price, guess, guess.tokens * longer, cost)
            self.exhausted = self.exhausted or self._excess(call)
            if self.exhausted:
                raise BudgetError(self.exhausted)
            self._tokens_under_way += call.tokens
            self._cost_under_way += call.cost
        return call

    def end(self, call: Call, usage: Usage | None, guessed: bool = False) -> None:
        """Book the usage of a call; None if there was no reply."""
        with self._lock:
            self.calls += 1
            self._tokens_under_way -= call.tokens
            self._cost_under_way -= call.cost
            if usage is not None:
                self.used += usage
                self.cost += cost_of(usage, call.price)
                self.guessed |= guessed
                kind = (call.judge, call.kind)
                guess, taken = self._learnt.get(kind, (Usage(), Usage()))
                self._learnt[kind] = guess + call.guess, taken + usage
                self.log.append((self.task, call.judge, *astuple(usage)))

    def usage(self) -> dict[str, Any]:
        """The usage so far; ``stopped``: why judging ended before its end."""
        return {
            "calls": self.calls,
            "input_tokens": self.used.input_tokens,
            "output_tokens": self.used.output_tokens,
            "cost": self.cost,
            "found": self.found,
            "guessed": self.guessed,
            "stopped": self.stopped,
        }

    def is_new(self, judge: str, kind: str) -> bool:
        """Whether there is a budget and the usage of such a call is still unknown."""
        bounded = self.max_tokens is not None or self.max_cost is not None
        return bounded and (judge, kind) not in self._learnt

    def _excess(self, call: Call) -> str | None:
        under_way = self._tokens_under_way
        if self.max_tokens is not None and (
            self.used.tokens + under_way + call.tokens > self.max_tokens
        ):
            return (
                f"the budget of {self.max_tokens:,} judge tokens{self.share} leaves no room for "
                f"another call ({self.used.tokens:,} used, {under_way:,.0f} expected for calls "
                "in progress)"
            )
        cost = self.cost + self._cost_under_way
        if self.max_cost is not None and cost + call.cost > self.max_cost:
            return (
                f"the judge budget of {self.max_cost:g}{self.share} leaves no room for another "
                f"call ({self.cost:.4g} spent, {self._cost_under_way:.4g} expected for calls in "
                "progress)"
            )
        return None


def guess_usage(request: Request, reply: Reply) -> Usage:
    """Estimated usage of a call, for servers that do not report it."""
    return Usage(guess_input_tokens(request), guess_tokens(reply.text))


def cost_of(usage: Usage, price: Price | None) -> float:
    """The cost of tokens; 0 if the price is unknown."""
    if price is None:
        return 0.0
    return (usage.input_tokens * price.input + usage.output_tokens * price.output) / _MILLION


def guess_tokens(text: str) -> int:
    """Estimated tokens of ``text``: one per CJK character, else one per four letters."""
    wide = len(_WIDE.findall(text))
    return wide + round((len(text) - wide) / 4)


def guess_input_tokens(request: Request) -> int:
    """Estimated tokens of a request's chat, with its images if their sizes are known."""
    words = sum(guess_tokens(message["content"]) + _MESSAGE for message in request.messages)
    sizes = [image.known_size or (0, 0) for image in request.images]
    return words + sum(ceil(width / _PATCH) * ceil(height / _PATCH) for width, height in sizes)

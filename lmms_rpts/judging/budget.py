"""Budget of judge calls: usage and cost so far, the limits on them, and estimated tokens."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from lmms_rpts.base.settings import Price
from lmms_rpts.judging.types import NotAskedError, Reply, Request, Usage

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


@dataclass(slots=True)
class Budget:
    """Calls, tokens and cost of one run; thread-safe.

    A call is made only if past usage, the expected usage of the calls in progress and that of this
    call are within the budget together. Expected usage is learned from earlier calls, so a budget
    is exceeded by little, if at all.

    Attributes:
        max_tokens, max_cost: limits of input and output tokens, and in the currency of the prices.
        share: owner of the budget, for messages.
        log: task, judge and tokens (input, output, thinking) of each call that used any.
        calls: number of calls made, failed ones included, which count 0 tokens.
        found: number of replies found in the cache.
        guessed: whether some tokens were estimated, because a server does not report them.
        stopped: why judging ended before its end.
        slow: whether the user was told that the judge is slow.
    """

    max_tokens: int | None = None
    max_cost: float | None = None
    share: str = ""
    task: str | None = None
    used: Usage = field(default_factory=Usage)
    cost: float = 0.0
    log: list[tuple[str | None, str, int, int, int]] = field(default_factory=list)
    calls: int = 0
    found: int = 0
    guessed: bool = False
    exhausted: str | None = None
    stopped: str | None = None
    slow: bool = False
    _under_way: Counter[str] = field(default_factory=Counter)  # expected tokens and cost
    _learnt: dict[tuple[str, str], tuple[Usage, Usage]] = field(default_factory=dict)
    """Guessed and actual usage of the calls of each kind to each judge."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def call(self, judge: str, price: Price | None, request: Request) -> Iterator[list[Reply]]:
        """Book one call; its reply is added to the list. A BudgetError if it may exceed the budget.

        A request that was only written into a file stays expected.
        """
        guess, kind = Usage(guess_input_tokens(request), EXPECTED_OUTPUT), (judge, request.kind)
        with self._lock:
            guessed, taken = self._learnt.get(kind, (guess, guess))
            longer = taken.tokens / guessed.tokens
            dearer = cost_of(taken, price) / (cost_of(guessed, price) or 1.0)
            expected = {"tokens": guess.tokens * longer, "cost": cost_of(guess, price) * dearer}
            self.exhausted = self.exhausted or self._excess(expected)
            if self.exhausted:
                raise BudgetError(self.exhausted)
            self._under_way.update(expected)
        replies: list[Reply] = []
        try:
            yield replies
        except NotAskedError:
            raise
        except BaseException:
            self._end(expected)
            raise
        usage = replies[0].usage or Usage(guess.input_tokens, guess_tokens(replies[0].text))
        with self._lock:
            guessed, taken = self._learnt.get(kind, (Usage(), Usage()))
            self._learnt[kind] = guessed + guess, taken + usage
            self.used += usage
            self.cost += cost_of(usage, price)
            self.guessed |= replies[0].usage is None
            tokens = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
            self.log.append((self.task, judge, *tokens))
        self._end(expected)

    def usage(self) -> dict[str, Any]:
        """The usage so far; ``stopped``: why judging ended before its end."""
        names = ("calls", "cost", "found", "guessed", "stopped")
        tokens = {"input_tokens": self.used.input_tokens, "output_tokens": self.used.output_tokens}
        return tokens | {name: getattr(self, name) for name in names}

    def is_new(self, judge: str, kind: str) -> bool:
        """Whether there is a budget and the usage of such a call is still unknown."""
        bounded = self.max_tokens is not None or self.max_cost is not None
        return bounded and (judge, kind) not in self._learnt

    def _end(self, expected: dict[str, float]) -> None:
        with self._lock:
            self.calls += 1
            self._under_way.subtract(expected)

    def _excess(self, expected: dict[str, float]) -> str | None:
        tokens, cost = (self._under_way[name] for name in ("tokens", "cost"))
        most, limit = self.max_tokens, self.max_cost
        if most is not None and self.used.tokens + tokens + expected["tokens"] > most:
            return (
                f"the budget of {most:,} judge tokens{self.share} leaves no room for another call "
                f"({self.used.tokens:,} used, {tokens:,.0f} expected for calls in progress)"
            )
        if limit is not None and self.cost + cost + expected["cost"] > limit:
            return (
                f"the judge budget of {limit:g}{self.share} leaves no room for another call "
                f"({self.cost:.4g} spent, {cost:.4g} expected for calls in progress)"
            )
        return None


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

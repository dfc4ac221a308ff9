"""Budget of judge calls: usage and cost so far, the limits on them, and estimated tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field
from math import ceil
from typing import Any

from lmms_rpts.base.settings import Price
from lmms_rpts.judging.types import FatalJudgeError, NotAskedError, Reply, Request, Usage

EXPECTED_OUTPUT = 80  # tokens of a judge before its first reply
# Chinese, Japanese and Korean characters and full-width forms: about one token each
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
# Tokens that a chat template adds per message, and pixels of the side of one token's image patch
_MESSAGE, _PATCH = 4, 28


@dataclass(slots=True)
class Budget:
    """Calls, tokens and cost of one run, in one thread.

    A call is made only if past usage and that expected of it and of the calls in progress are
    within the budget. Expected is the mean of earlier calls.
    """

    max_tokens: int | None = None
    max_cost: float | None = None
    used: Usage = field(default_factory=Usage)
    cost: float = 0.0
    calls: int = 0  # failed ones included, which count 0 tokens
    found: int = 0  # replies found in the cache
    guessed: bool = False  # some tokens were estimated, because a server does not report them
    stopped: str | None = None  # why judging ended before its end
    _under_way: Counter[str] = field(default_factory=Counter)  # expected tokens and cost
    _answered: int = 0

    @contextmanager
    def call(self, price: Price | None, request: Request) -> Iterator[list[Reply]]:
        """Book one call; its reply is added to the list.

        A FatalJudgeError if it may exceed the budget. A request that was only written into a file
        stays expected.
        """
        read, sent = guess_input_tokens(request), sum(astuple(self.used))
        guess = Usage(read, EXPECTED_OUTPUT)
        expected = {"tokens": sum(astuple(guess)), "cost": cost_of(guess, price)}
        if self._answered:
            expected = {"tokens": sent / self._answered, "cost": self.cost / self._answered}
        limits = ("tokens", self.max_tokens, sent), ("cost", self.max_cost, self.cost)
        for unit, most, spent_so_far in limits:
            under_way = self._under_way[unit]
            if most is not None and spent_so_far + under_way + expected[unit] > most:
                raise FatalJudgeError(
                    f"the budget of {most:,} (judge {unit}) leaves no room for another "
                    f"call ({spent_so_far:,.9g} used, {under_way:,.9g} expected of calls under way)"
                )
        self._under_way.update(expected)
        replies: list[Reply] = []
        try:
            yield replies
        except NotAskedError:
            expected = {}
            raise
        finally:
            self.calls += bool(expected)
            self._under_way.subtract(expected)
        usage = replies[0].usage or Usage(read, guess_tokens(replies[0].text))
        self._answered += 1
        self.used += usage
        self.cost += cost_of(usage, price)
        self.guessed |= replies[0].usage is None

    def usage(self) -> dict[str, Any]:
        """The usage so far, as `usage_text` shows it."""
        names = ("calls", "cost", "found", "guessed", "stopped")
        return {**asdict(self.used), **{name: getattr(self, name) for name in names}}


def cost_of(usage: Usage, price: Price | None) -> float:
    """The cost of tokens; 0 if the price is unknown."""
    if price is None:
        return 0.0
    return (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000


def guess_tokens(text: str) -> int:
    """Estimated tokens of ``text``: one per CJK character, else one per four letters."""
    wide = len(_WIDE.findall(text))
    return wide + round((len(text) - wide) / 4)


def guess_input_tokens(request: Request) -> int:
    """Estimated tokens of a request's chat, with its images if their sizes are known."""
    words = sum(guess_tokens(message["content"]) + _MESSAGE for message in request.messages)
    sizes = [image.known_size or (0, 0) for image in request.images]
    return words + sum(ceil(width / _PATCH) * ceil(height / _PATCH) for width, height in sizes)

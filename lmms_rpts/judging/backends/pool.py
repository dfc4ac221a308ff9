"""Several servers of one model: each call goes to the least busy one that works."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from loguru import logger

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.backends.server import Answer, Server, read_fault
from lmms_rpts.judging.types import FatalJudgeError, JudgeRequest, TransientError

OPENAI = "https://api.openai.com/v1"

# Seconds for which a server that failed is left out; twice as long after each further failure.
FIRST_REST, LONGEST_REST = 0.25, 60.0

# By how many calls the N-th answer after a refusal raises what a server takes at a time, as a share
# of N: a server with 8 slots gets a ninth call after 28 answers; after 100, it would get 20.
GROWTH = 1 / 400


def connect(path: str, settings: Settings) -> Server | Pool:
    """The way to ``path`` (``/chat/completions``) at the server or servers of the settings."""
    servers = [Server(f"{url}{path}", settings) for url in settings.openai_urls or (OPENAI,)]
    return Pool(servers) if len(servers) > 1 else servers[0]


def endpoint(settings: Settings) -> dict[str, str]:
    """The servers in a judge's identity; nothing if its replies count at any address."""
    urls = sorted(settings.openai_urls or (OPENAI,))
    return {} if settings.same_model else {"endpoint": " ".join(urls)}


class Pool:
    """A `Transport` over several servers that serve the same model.

    A call goes to the server with the fewest calls in progress, in turn if equal. A server that
    fails is left out for a while; then one call tries it. A server that throttles calls without a
    Retry-After, or is late, gets fewer at a time. The failed call goes on at another server that
    works and has room. If there is none, its failure counts, as with one server: the limit on
    concurrent calls follows what all servers take together.
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        self.secrets = servers[0].secrets
        self._members = [_Member(server) for server in servers]

    async def post(self, request: JudgeRequest, content: bytes, limit: float) -> Answer:
        left, begun = list(self._members), _now()
        while True:
            member = min(left, key=_Member.rank)
            left.remove(member)
            outcome, failure = await member.call(request, content, limit)
            left = [each for each in left if each.rank() < (0.0, True)]
            if isinstance(failure, TransientError) and failure.kind == "timed out":
                # Only if others answer: the call may take long everywhere.
                left = [each for each in left if each.answered >= begun]
            if failure is None or not left:
                break
        if isinstance(outcome, Answer):
            return outcome
        if isinstance(outcome, TransientError) and all(each.failures for each in self._members):
            reason = f"none of the {len(self._members)} servers works: {outcome}"
            raise TransientError(reason, outcome.retry_after, outcome.kind)
        raise outcome

    async def aclose(self) -> None:
        """Close the connections."""
        for member in self._members:
            await member.server.aclose()


class _Member:
    """A server in a pool, with the time of its last answer and its number of failures in a row."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.answered, self.failures = -math.inf, 0
        self._called = self._failed = -math.inf  # when it did so last
        self._active, self._room = 0, math.inf  # calls in progress, and how many it takes
        self._answers = 0  # since it refused a call
        self._rests_until = -math.inf  # infinite while a call tries whether it works again

    def rank(self) -> tuple[float, bool, int, float]:
        """Its place in the order of choice; below ``(0.0, True)`` if it works and has room."""
        rest = self._rests_until if self._rests_until > _now() else 0.0
        return rest, self._active + 1 > self._room, self._active, self._called

    async def call(
        self, request: JudgeRequest, content: bytes, limit: float
    ) -> tuple[Answer | Exception, Exception | None]:
        """Call the server; returns its answer or error, and the failure that either of them is."""
        begun = self._called = _now()
        self._active += 1
        if self.failures > 1:  # one may be chance
            self._rests_until = math.inf
        outcome: Answer | Exception
        failure: Exception | None = None
        try:
            outcome = await self.server.post(request, content, limit)
            if outcome.status >= 400:
                secrets = self.server.secrets
                fault = read_fault(outcome.status, outcome.headers, outcome.content, secrets)
                failure = fault.error(fault.kind(bool(request.images)))
        except (TransientError, FatalJudgeError) as error:
            outcome = failure = error
        finally:
            self._active -= 1
            if self._rests_until == math.inf:  # also if it was cancelled
                self._rests_until = _now()
        if isinstance(failure, TransientError | FatalJudgeError):
            self._learn(failure, begun)
            return outcome, failure
        self.answered, self._answers = _now(), self._answers + 1
        self._room += GROWTH * self._answers
        if begun >= self._failed:  # an earlier call does not end the pause that was asked for
            self.failures, self._rests_until = 0, -math.inf
        return outcome, None

    def _learn(self, failure: TransientError | FatalJudgeError, begun: float) -> None:
        wait = getattr(failure, "retry_after", None)
        kind = getattr(failure, "kind", "fatal")
        if kind == "throttled" and wait is None and self._active:
            self._room, self._answers = min(self._room, self._active), 0
        elif kind == "timed out" and self.answered >= begun:
            self._room, self._answers = max(1, min(self._room, self._active // 2)), 0
        elif begun >= self._failed:  # calls that began before it fail for the same reason
            self._failed, self._room = _now(), math.inf  # what it takes after that is unknown
            if wait is None:
                self.failures += 1
                wait = min(LONGEST_REST, FIRST_REST * 2.0 ** min(self.failures - 1, 20))
            self._rests_until = self._failed + wait
            if kind != "throttled" and self.failures == (1 if kind == "timed out" else 2):
                message = "A judge server is left out until it works again; others take its calls"
                logger.warning("{}: {}: {}", message, self.server.url, failure)


def _now() -> float:
    return asyncio.get_running_loop().time()

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

    A call goes to the server with the fewest calls in progress. A server that fails or throttles is
    left out for a while; then one call tries it. A failed call goes on at another server that
    works; if there is none, it counts as failed.
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
            left = [each for each in left if each.rank()[0] == 0.0]
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
        self._active = 0  # calls in progress
        self._called = self._failed = -math.inf  # when it did so last
        self._rests_until = -math.inf  # infinite while a call tries whether it works again

    def rank(self) -> tuple[float, int, float]:
        """Its place in the order of choice; the first number is 0 if it works."""
        rest = self._rests_until if self._rests_until > _now() else 0.0
        return rest, self._active, self._called

    async def call(
        self, request: JudgeRequest, content: bytes, limit: float
    ) -> tuple[Answer | Exception, Exception | None]:
        """Call the server; returns its answer or error, and the failure that either of them is."""
        begun = self._called = _now()
        self._active += 1
        if self.failures > 1:  # one may be chance
            self._rests_until = math.inf
        failure: Exception | None = None
        try:
            answer = await self.server.post(request, content, limit)
            if answer.status >= 400:
                secrets = self.server.secrets
                fault = read_fault(answer.status, answer.headers, answer.content, secrets)
                failure = fault.error(fault.kind(bool(request.images)))
            outcome: Answer | Exception = answer
        except (TransientError, FatalJudgeError) as error:
            outcome = failure = error
        finally:
            self._active -= 1
            if self._rests_until == math.inf:  # also if it was cancelled
                self._rests_until = _now()
        if isinstance(failure, TransientError | FatalJudgeError):
            self._learn(failure, begun)
            return outcome, failure
        self.answered = _now()
        if begun >= self._failed:  # an earlier call does not end the pause that was asked for
            self.failures, self._rests_until = 0, -math.inf
        return outcome, None

    def _learn(self, failure: TransientError | FatalJudgeError, begun: float) -> None:
        kind = failure.kind if isinstance(failure, TransientError) else "fatal"
        # Calls that began before a failure fail for the same reason; one may take long by chance.
        if begun < self._failed or (kind == "timed out" and self.answered >= begun):
            return
        self._failed, wait = _now(), getattr(failure, "retry_after", None)
        if wait is None:
            self.failures += 1
            wait = min(LONGEST_REST, FIRST_REST * 2.0 ** min(self.failures - 1, 20))
        self._rests_until = self._failed + wait
        if kind != "throttled" and self.failures == (1 if kind == "timed out" else 2):
            said = f"{self.server.url}: {failure}"
            logger.warning("A judge server is left out until it works again: {}", said)


def _now() -> float:
    return asyncio.get_running_loop().time()

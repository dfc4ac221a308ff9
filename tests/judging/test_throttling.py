"""Servers that put calls off, in simulated time: how fast all is answered, and in how many calls.

The real JudgeClient and its limit run on a loop whose time passes at once. ``bound`` is what the
server allows at best; answers take 0.7 to 1.3 times the latency.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest

from lmms_rpts.judging import JudgeRequest, Reply, TransientError, Verdict
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.client import JudgeClient, Member
from lmms_rpts.judging.stop_signal import StopSignal
from tests.judging.questions import questions
from tests.judging.test_concurrency import now, run

AT_ONCE = 32
SLOW = None
"""A refusal that takes as long as an answer."""


@dataclass
class Server:
    """Answers all; its kinds refuse some.

    Attributes:
        latency: seconds that an answer takes, on average.
        refusal: seconds that a refusal takes.
        retry_after: what it asks for then.
        throttled: whether it says 429, not 503.
    """

    latency: float = 0.5
    refusal: float | None = 0.01
    retry_after: float | None = None
    throttled: bool = True

    def __post_init__(self) -> None:
        self.luck = random.Random(3)
        self.active = self.calls = self.refused = 0
        self.times: list[float] = []

    def refuses(self) -> bool:
        return False

    async def ask(self, request: JudgeRequest) -> Reply:
        self.calls += 1
        self.times.append(now())
        takes = self.latency * self.luck.uniform(0.7, 1.3)
        if self.refuses():
            self.refused += 1
            await asyncio.sleep(takes if self.refusal is SLOW else self.refusal)
            raise TransientError("busy", self.retry_after, throttled=self.throttled)
        self.active += 1
        await self.work(takes)
        self.active -= 1
        return Reply("Score: 0.5")

    async def work(self, takes: float) -> None:
        await asyncio.sleep(takes)


@dataclass
class Lottery(Server):
    """Refuses a share of the calls, however few there are."""

    share: float = 0.1

    def refuses(self) -> bool:
        return self.luck.random() < self.share


@dataclass
class Hard(Server):
    """Refuses what is one too many; ``size`` at a time, by the time."""

    size: Callable[[float], int] = lambda time: 8

    def refuses(self) -> bool:
        return self.active >= self.size(now())


@dataclass
class Bucket(Server):
    """Refuses what comes faster than ``rate``, but for a burst."""

    rate: float = 20.0
    burst: float = 20.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._tokens, self._filled = self.burst, 0.0

    def refuses(self) -> bool:
        self._tokens = min(self.burst, self._tokens + (now() - self._filled) * self.rate)
        self._filled = now()
        if self._tokens < 1:
            self.retry_after = (1 - self._tokens) / self.rate
            return True
        self._tokens -= 1
        return False


@dataclass
class Queueing(Server):
    """Refuses none: works at 8, the others wait."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._workers = asyncio.Semaphore(8)

    async def work(self, takes: float) -> None:
        async with self._workers:
            await asyncio.sleep(takes)


@dataclass
class Outage(Server):
    """Refuses all from 10 s to 70 s."""

    def refuses(self) -> bool:
        return 10 <= now() < 70


async def ask_all(server: Server, count: int, most: int = AT_ONCE) -> list[Verdict]:
    client = JudgeClient(Member("m", server, kept=False), most, Budget(), StopSignal(), None)
    return await asyncio.gather(*(client.ask(request) for request in questions(count)))


def seconds(server: Server, count: int, most: int = AT_ONCE) -> float:
    """Until all is answered, in simulated time."""

    async def work() -> float:
        verdicts = await ask_all(server, count, most)
        assert {verdict.error for verdict in verdicts} == {None}
        return now()

    random.seed(7)
    return run(work())


def unsteady(time: float) -> int:
    return 8 if time < 30 else 32 if time < 60 else 4


def at_once(size: int) -> Callable[[float], int]:
    return lambda time: size


@pytest.mark.parametrize(
    ("server", "count", "bound", "times", "refused"),
    [
        # (a) random refusals: those that take as long as an answer cost 1 / (1 - share)
        (Lottery(refusal=SLOW, share=0.02), 2000, 31.25, 1.2, 0.04),
        (Lottery(refusal=SLOW), 2000, 31.25, 1.35, 0.13),
        (Lottery(refusal=SLOW, retry_after=1.0), 2000, 31.25, 1.35, 0.13),
        (Lottery(), 2000, 31.25, 1.35, 0.13),
        (Lottery(retry_after=1.0), 2000, 31.25, 1.35, 0.13),
        (Lottery(refusal=SLOW, share=0.3), 2000, 31.25, 1.9, 0.33),
        (Lottery(refusal=SLOW, share=0.3, retry_after=1.0), 2000, 31.25, 1.9, 0.33),
        (Lottery(share=0.3), 2000, 31.25, 1.6, 0.33),
        # (b) so many at a time
        (Hard(), 1000, 62.5, 1.1, 0.08),
        (Hard(retry_after=1.0), 1000, 62.5, 1.1, 0.08),
        (Hard(refusal=SLOW), 1000, 62.5, 1.1, 0.08),
        (Hard(size=at_once(1)), 500, 250, 1.1, 0.12),
        (Hard(size=at_once(3)), 1000, 166.7, 1.1, 0.1),
        (Hard(size=at_once(20), refusal=SLOW), 2000, 50, 1.1, 0.05),
        # (c) so many a second
        (Bucket(), 1000, 49, 1.1, 0.2),
        (Bucket(refusal=SLOW), 1000, 49, 1.1, 0.2),
        (Bucket(rate=50.0, burst=50.0), 2000, 39, 1.1, 0.1),
        (Bucket(rate=2.0, burst=60.0), 300, 120, 1.15, 0.7),
        # (d) a queue
        (Queueing(), 1000, 62.5, 1.05, 0.0),
        # (e) 8 at a time, 32 after 30 s, 4 after 60 s: 480 + 1920 answers, then 8 a second
        (Hard(size=unsteady), 2800, 110, 1.35, 0.06),
        # (f) an outage of a minute in the middle
        (Outage(), 2000, 91.25, 1.25, 0.06),
        (Outage(refusal=SLOW), 2000, 91.25, 1.35, 0.06),
        (Outage(retry_after=20.0), 2000, 91.25, 1.25, 0.06),
        # (g) the same with 503 and Retry-After
        (Lottery(throttled=False, retry_after=1.0), 2000, 31.25, 1.35, 0.13),
        (Hard(throttled=False, retry_after=1.0), 1000, 62.5, 1.1, 0.08),
        (Outage(throttled=False, retry_after=20.0), 2000, 91.25, 1.25, 0.06),
        # (h) fast and slow; pauses of 0.25 s and more count for much where an answer takes 5 ms
        (Lottery(0.005, 0.001), 8000, 1.25, 2.6, 0.13),
        (Hard(0.005, 0.001), 8000, 5, 1.2, 0.08),
        (Lottery(10.0, SLOW), 2000, 625, 1.35, 0.13),
        (Hard(10.0), 1000, 1250, 1.1, 0.08),
    ],
)
def test_all_is_answered_about_as_fast_as_the_server_allows(
    server: Server, count: int, bound: float, times: float, refused: float
) -> None:
    took = seconds(server, count)
    told = f"{took / bound:.2f} times the bound, {server.refused / server.calls:.1%} refused"
    assert took <= times * bound, told
    assert server.refused <= refused * server.calls, told


def test_in_an_outage_one_call_at_a_time_looks_whether_it_is_over() -> None:
    server = Outage(retry_after=20.0)
    seconds(server, 2000)
    early = [time for time in server.times if 10 <= time < 12]
    later = [time for time in server.times if 12 <= time < 70]
    assert len(early) <= 2 * AT_ONCE + 2
    assert len(later) <= 4
    assert all(late - first >= 19 for first, late in pairwise(later))


def test_a_refusal_pauses_its_own_call_only() -> None:
    """With a long Retry-After for one call of ten, the others go on meanwhile."""
    server = Lottery(retry_after=30.0)
    took = seconds(server, 300)
    first = [time for time in server.times if time < 25]
    assert len(first) >= 300
    assert took < 100


@pytest.mark.parametrize("most", [1, 2, 5])
def test_refusals_at_random_end_no_request_where_few_are_asked_at_a_time(most: int) -> None:
    server = Lottery(share=0.3)
    assert seconds(server, 200, most) < 6 * 200 * 0.5 / most


def test_a_server_that_refuses_all_ends_in_errors() -> None:
    server = Lottery(share=1.0)

    async def work() -> list[Verdict]:
        return await ask_all(server, 3)

    verdicts = run(work())
    assert [verdict.attempts for verdict in verdicts] == [20, 20, 20]
    assert all("busy (after 20 calls)" in str(verdict.error) for verdict in verdicts)

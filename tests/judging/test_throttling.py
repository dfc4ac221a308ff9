"""Servers that throttle calls or are slow, on a virtual clock: total time and number of calls."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.types import Reply, Request, TransientError, Verdict
from tests.judging.questions import client_of, now, questions, run, text_in
from tests.support.tables import table

AT_ONCE = 32


# ---- speed, with servers that throttle; answers take 0.7 to 1.3 times the latency

SLOW = None
"""A refusal that takes as long as an answer."""


@dataclass
class Server:
    """A server that answers all calls; its subclasses refuse some.

    Attributes:
        latency: seconds that an answer takes, on average.
        refusal: seconds that a refusal takes.
        retry_after: Retry-After of a refusal, in seconds.
        throttled: whether a refusal has status 429 instead of 503.
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

    async def ask(self, request: Request) -> Reply:
        self.calls += 1
        self.times.append(now())
        takes = self.latency * self.luck.uniform(0.7, 1.3)
        if self.refuses():
            self.refused += 1
            await asyncio.sleep(takes if self.refusal is SLOW else self.refusal)
            raise TransientError("busy", self.retry_after, "throttled" if self.throttled else "")
        self.active += 1
        await self.work(takes)
        self.active -= 1
        return Reply("Score: 0.5")

    async def work(self, takes: float) -> None:
        await asyncio.sleep(takes)


@dataclass
class Lottery(Server):
    """Refuses a share of the calls, at any concurrency."""

    share: float = 0.1

    def refuses(self) -> bool:
        return self.luck.random() < self.share


@dataclass
class Hard(Server):
    """Refuses calls beyond ``size`` at a time, which depends on the time."""

    size: Callable[[float], int] = lambda time: 8

    def refuses(self) -> bool:
        return self.active >= self.size(now())


@dataclass
class Bucket(Server):
    """Refuses calls faster than ``rate``, except for a burst."""

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
class Outage(Server):
    """Refuses all calls from 10 s to 70 s."""

    def refuses(self) -> bool:
        return 10 <= now() < 70


def seconds(server: Any, count: int, most: int = AT_ONCE) -> float:
    """Simulated seconds until all questions are answered."""

    async def work() -> float:
        client = client_of(server, most)
        verdicts = await asyncio.gather(*(client.ask(request) for request in questions(count)))
        assert {verdict.error for verdict in verdicts} == {None}
        return now()

    random.seed(7)
    return run(work())


def unsteady(time: float) -> int:
    return 8 if time < 30 else 32 if time < 60 else 4


@table(
    # ``bound``: the best time that the server allows
    "server, count, bound, times, refused",
    # random refusals: if they take as long as an answer, they cost 1 / (1 - share)
    (Lottery(refusal=SLOW, share=0.02), 2000, 31.25, 1.3, 0.04),
    (Lottery(refusal=SLOW, retry_after=1.0), 2000, 31.25, 1.4, 0.13),
    (Lottery(), 1000, 15.625, 1.35, 0.13),
    (Lottery(refusal=SLOW, share=0.3, retry_after=1.0), 2000, 31.25, 1.9, 0.33),
    # a limit of calls at a time
    (Hard(), 1000, 62.5, 1.1, 0.08),
    (Hard(refusal=SLOW, retry_after=1.0), 500, 31.25, 1.1, 0.08),
    (Hard(size=lambda time: 1), 500, 250, 1.1, 0.52),
    (Hard(size=lambda time: 20, refusal=SLOW), 1000, 25, 1.2, 0.13),
    # a limit of calls per second
    (Bucket(), 1000, 49, 1.12, 0.2),
    (Bucket(rate=50.0, burst=50.0), 1000, 19, 1.1, 0.1),
    (Bucket(rate=2.0, burst=60.0), 300, 120, 1.15, 0.7),
    # 8 at a time, 32 after 30 s, 4 after 60 s: 480 + 1920 answers, then 8 per second
    (Hard(size=unsteady), 2800, 110, 1.45, 0.1),
    # an outage of a minute in the middle, also with 503 and Retry-After
    (Outage(refusal=SLOW), 2000, 91.25, 1.35, 0.13),
    (Outage(throttled=False, retry_after=20.0), 2000, 91.25, 1.25, 0.07),
    # fast and slow; pauses of 0.25 s and more matter a lot if an answer takes 5 ms
    (Lottery(0.005, 0.001), 8000, 1.25, 2.6, 0.13),
    (Hard(10.0), 1000, 1250, 1.1, 0.08),
    parts=3,
)
def test_all_is_answered_about_as_fast_as_the_server_allows(
    server: Server, count: int, bound: float, times: float, refused: float
) -> None:
    took = seconds(server, count)
    told = f"{took / bound:.2f} times the bound, {server.refused / server.calls:.1%} refused"
    assert took <= times * bound, told
    assert server.refused <= refused * server.calls, told


@table("most", 1, 2, 5)
def test_random_refusals_end_no_request_with_few_calls_at_a_time(most: int) -> None:
    assert seconds(Lottery(share=0.3), 200, most) < 6 * 200 * 0.5 / most


# ---- slow servers: a queue, and the time limit of a call


@dataclass
class Slots(Server):
    """Works on ``slots`` calls at a time; the others wait until their time limit of 120 s.

    Attributes:
        slots: number of calls at a time.
        stops: whether it stops the work on a call that was cut off.
        hangs: share of the calls that are never answered.
    """

    slots: int = 8
    stops: bool = True
    hangs: float = 0.0
    time_limit = 120.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._workers = asyncio.Semaphore(self.slots)
        self.cut: Counter[str] = Counter()

    async def ask(self, request: Request) -> Reply:
        self.calls += 1
        self.active += 1
        work = asyncio.ensure_future(self.work(self.latency * self.luck.uniform(0.7, 1.3)))
        try:
            limit = self.time_limit * request.patience
            await asyncio.wait_for(work if self.stops else asyncio.shield(work), limit)
        except asyncio.TimeoutError:
            self.cut[text_in(request)] += 1
            raise TransientError("late", kind="timed out") from None
        finally:
            self.active -= 1
        return Reply("Score: 0.5")

    async def work(self, takes: float) -> None:
        hangs = self.luck.random() < self.hangs
        async with self._workers:
            await asyncio.sleep(1e6 if hangs else takes)


@table(
    "server, count, times, cut",
    (Slots(slots=8, latency=20), 200, 1.1, 0),
    (Slots(slots=8, latency=60), 200, 1.1, 1),
    (Slots(slots=4, latency=40), 200, 1.1, 6),
    (Slots(slots=2, latency=40), 200, 1.1, 10),
    (Slots(slots=1, latency=50), 200, 1.1, 10),
    (Slots(slots=8, latency=140), 30, 3.2, 30),  # slower than the time limit
    # it also finishes calls that were cut off
    (Slots(slots=2, latency=40, stops=False), 200, 1.1, 10),
)
def test_a_slow_server_answers_all_calls_and_none_is_cut_off_twice(
    server: Slots, count: int, times: float, cut: int
) -> None:
    took = seconds(server, count)
    assert took <= times * count * server.latency / server.slots
    assert server.cut.total() <= cut
    assert max(server.cut.values(), default=0) <= 1


def test_one_slow_question_among_quick_ones_gets_more_time() -> None:
    class OneSlow:
        time_limit = 120.0

        async def ask(self, request: Request) -> Reply:
            limit = self.time_limit * request.patience
            takes = 200.0 if text_in(request) == "question 0" else 1.0
            await asyncio.sleep(min(takes, limit))
            if takes > limit:
                raise TransientError("late", kind="timed out")
            return Reply("Score: 0.5")

    assert 320 < seconds(OneSlow(), 200, 8) < 322


def test_a_server_that_answers_no_call_at_all_ends_the_run(messages: list[str]) -> None:
    """After a second try of some calls, with twice the time."""
    server = Slots(hangs=1.0, slots=100)

    async def work() -> tuple[list[Verdict], str | None]:
        client = client_of(server, 32)
        verdicts = await asyncio.gather(*(client.ask(request) for request in questions(100)))
        return verdicts, client.stopped

    verdicts, stopped = run(work())
    assert stopped is not None
    assert "late" in stopped
    assert {verdict.error for verdict in verdicts} == {stopped}
    assert server.calls <= 8 + 4
    assert len(messages) == 1


def test_a_slow_server_is_warned_of_once_per_run_with_the_settings(messages: list[str]) -> None:
    budget = Budget()

    async def work() -> None:
        client = client_of(Slots(slots=1, latency=50), 32, budget=budget)
        await asyncio.gather(*(client.ask(request) for request in questions(8)))

    run(work())
    run(work())  # another stage of the run
    (message,) = messages
    for said in (
        "m is slow: a call exceeded the time limit of 120 s, with 6 calls at a time.",
        "LMMS_RPTS_CONCURRENCY (now 32)",
        "LMMS_RPTS_TIMEOUT",
    ):
        assert said in message

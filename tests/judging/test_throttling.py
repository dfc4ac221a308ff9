"""Servers that throttle calls or are slow, on a virtual clock: total time and number of calls."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lmms_rpts.judging.types import Reply, Request, TransientError, Verdict
from tests.judging.questions import client_of, now, questions, run, text_in
from tests.support.tables import table

AT_ONCE = 32


@dataclass
class Server:
    """A server whose answers take 0.7 to 1.3 times the latency, and which refuses some calls.

    Attributes:
        latency: seconds that an answer takes, on average.
        refusal: seconds that a refusal takes; None: as long as an answer.
        retry_after: Retry-After of a refusal, in seconds.
        share: of the calls that it refuses at any concurrency.
        size: most calls at a time, which depends on the time.
        rate: most calls per second, except for a burst of ``burst``.
        outage: it refuses all calls from 10 s to 70 s.
        slots: calls that it works on at a time; the others wait, until their time limit of 120 s.
        hangs: whether it answers no call.
    """

    latency: float = 0.5
    refusal: float | None = 0.01
    retry_after: float | None = None
    share: float = 0.0
    size: Callable[[float], int] = lambda time: 1000
    rate: float = 1e9
    burst: float = 20.0
    outage: bool = False
    slots: int = 1000
    hangs: bool = False
    time_limit = 120.0

    def __post_init__(self) -> None:
        self.luck = random.Random(3)
        self.active = self.calls = self.refused = 0
        self.cut: Counter[str] = Counter()
        self._workers = asyncio.Semaphore(self.slots)
        self._tokens, self._filled = self.burst, 0.0

    async def ask(self, request: Request) -> Reply:
        self.calls += 1
        takes = self.latency * self.luck.uniform(0.7, 1.3)
        self._tokens = min(self.burst, self._tokens + (now() - self._filled) * self.rate)
        self._filled = now()
        refuses = self.active >= self.size(now()) or (self.outage and 10 <= now() < 70)
        if refuses or self._tokens < 1 or self.luck.random() < self.share:
            self.refused += 1
            wait = self.retry_after
            if self._tokens < 1:
                wait = (1 - self._tokens) / self.rate
            await asyncio.sleep(takes if self.refusal is None else self.refusal)
            raise TransientError("busy", wait, "throttled")
        self._tokens -= 1
        self.active += 1
        try:
            limit = self.time_limit * request.patience
            await asyncio.wait_for(self.work(takes), limit)
        except asyncio.TimeoutError:
            self.cut[text_in(request)] += 1
            raise TransientError("late", kind="timed out") from None
        finally:
            self.active -= 1
        return Reply("Score: 0.5")

    async def work(self, takes: float) -> None:
        async with self._workers:
            await asyncio.sleep(1e6 if self.hangs else takes)


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
    (Server(share=0.1, refusal=None, retry_after=1.0), 2000, 31.25, 1.4, 0.13),
    (Server(share=0.3, refusal=None, retry_after=1.0), 2000, 31.25, 1.9, 0.33),
    # a limit of calls at a time
    (Server(size=lambda time: 8), 1000, 62.5, 1.1, 0.08),
    (Server(size=lambda time: 1), 500, 250, 1.1, 0.52),
    # a limit of calls per second
    (Server(rate=20.0), 1000, 49, 1.12, 0.2),
    (Server(rate=2.0, burst=60.0), 300, 120, 1.15, 0.7),
    # 8 at a time, 32 after 30 s, 4 after 60 s: 480 + 1920 answers, then 8 per second
    (Server(size=unsteady), 2800, 110, 1.45, 0.1),
    # an outage of a minute in the middle, also with Retry-After
    (Server(outage=True, retry_after=20.0), 2000, 91.25, 1.25, 0.07),
    # fast and slow; pauses of 0.25 s and more matter a lot if an answer takes 5 ms
    (Server(0.005, 0.001, share=0.1), 8000, 1.25, 2.6, 0.13),
    (Server(10.0, size=lambda time: 8), 1000, 1250, 1.1, 0.08),
    parts=3,
)
def test_all_is_answered_about_as_fast_as_the_server_allows(
    server: Server, count: int, bound: float, times: float, refused: float
) -> None:
    took = seconds(server, count)
    told = f"{took / bound:.2f} times the bound, {server.refused / server.calls:.1%} refused"
    assert took <= times * bound, told
    assert server.refused <= refused * server.calls, told


@table(
    "server, count, times, cut",
    (Server(20, slots=8), 200, 1.1, 0),
    (Server(40, slots=4), 200, 1.1, 6),
    (Server(50, slots=1), 200, 1.1, 10),
    (Server(140, slots=8), 30, 3.2, 30),  # slower than the time limit
)
def test_a_slow_server_answers_all_calls_and_none_is_cut_off_twice(
    server: Server, count: int, times: float, cut: int
) -> None:
    took = seconds(server, count)
    assert took <= times * count * server.latency / server.slots
    assert server.cut.total() <= cut
    assert max(server.cut.values(), default=0) <= 1


def test_one_slow_question_among_quick_ones_gets_more_time() -> None:
    class OneSlow(Server):
        async def ask(self, request: Request) -> Reply:
            self.latency = 200.0 if text_in(request) == "question 0" else 1.0
            return await super().ask(request)

    assert 260 < seconds(OneSlow(), 200, 8) < 390


def test_a_server_that_answers_no_call_ends_the_run_with_one_warning(messages: list[str]) -> None:
    """After a second try of some calls, with twice the time."""
    server = Server(hangs=True)

    async def work() -> tuple[list[Verdict], str | None]:
        client = client_of(server, AT_ONCE)
        verdicts = await asyncio.gather(*(client.ask(request) for request in questions(100)))
        return verdicts, client.stopped

    verdicts, stopped = run(work())
    assert "late" in str(stopped)
    assert {verdict.error for verdict in verdicts} == {stopped}
    assert server.calls <= 8 + 4
    (message,) = messages
    assert "LMMS_RPTS_CONCURRENCY (now 32)" in message
    assert "LMMS_RPTS_TIMEOUT" in message

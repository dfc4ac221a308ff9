"""Servers that throttle calls, in simulated time: total time and number of calls.

The real JudgeClient and its limit run on an event loop that skips waiting times. ``bound`` is the
best time that the server allows; answers take 0.7 to 1.3 times the latency.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from lmms_rpts.judging import JudgeRequest, Member, Reply, TransientError, Verdict
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.concurrency import StopSignal
from tests.judging.questions import question, questions
from tests.judging.test_concurrency import now, run
from tests.support.tables import table

AT_ONCE = 32
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

    async def ask(self, request: JudgeRequest) -> Reply:
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
class Queueing(Server):
    """Refuses none: 8 calls run at a time, the others wait."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._workers = asyncio.Semaphore(8)

    async def work(self, takes: float) -> None:
        async with self._workers:
            await asyncio.sleep(takes)


@dataclass
class Outage(Server):
    """Refuses all calls from 10 s to 70 s."""

    def refuses(self) -> bool:
        return 10 <= now() < 70


def client_of(
    judge: Any, most: int, stop_signal: StopSignal | None = None, budget: Budget | None = None
) -> JudgeClient:
    member = Member("m", judge, kept=False)
    return JudgeClient(member, most, budget or Budget(), stop_signal or StopSignal(), None)


async def ask_all(server: Server, count: int, most: int = AT_ONCE) -> list[Verdict]:
    client = client_of(server, most)
    return await asyncio.gather(*(client.ask(request) for request in questions(count)))


def seconds(server: Server, count: int, most: int = AT_ONCE) -> float:
    """Simulated seconds until all questions are answered."""

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
        # (a) random refusals: if they take as long as an answer, they cost 1 / (1 - share)
        (Lottery(refusal=SLOW, share=0.02), 2000, 31.25, 1.2, 0.04),
        (Lottery(refusal=SLOW), 2000, 31.25, 1.35, 0.13),
        (Lottery(refusal=SLOW, retry_after=1.0), 2000, 31.25, 1.4, 0.13),
        (Lottery(), 2000, 31.25, 1.35, 0.13),
        (Lottery(retry_after=1.0), 2000, 31.25, 1.35, 0.13),
        (Lottery(refusal=SLOW, share=0.3), 2000, 31.25, 1.9, 0.33),
        (Lottery(refusal=SLOW, share=0.3, retry_after=1.0), 2000, 31.25, 1.9, 0.33),
        (Lottery(share=0.3), 2000, 31.25, 1.6, 0.33),
        # (b) a limit of calls at a time
        (Hard(), 1000, 62.5, 1.1, 0.08),
        (Hard(retry_after=1.0), 1000, 62.5, 1.1, 0.08),
        (Hard(refusal=SLOW), 1000, 62.5, 1.1, 0.08),
        (Hard(size=at_once(1)), 500, 250, 1.1, 0.12),
        (Hard(size=at_once(3)), 1000, 166.7, 1.1, 0.1),
        (Hard(size=at_once(20), refusal=SLOW), 2000, 50, 1.1, 0.05),
        # (c) a limit of calls per second
        (Bucket(), 1000, 49, 1.12, 0.2),
        (Bucket(refusal=SLOW), 1000, 49, 1.1, 0.2),
        (Bucket(rate=50.0, burst=50.0), 2000, 39, 1.1, 0.1),
        (Bucket(rate=2.0, burst=60.0), 300, 120, 1.15, 0.7),
        # (d) a queue
        (Queueing(), 1000, 62.5, 1.05, 0.0),
        # (e) 8 at a time, 32 after 30 s, 4 after 60 s: 480 + 1920 answers, then 8 per second
        (Hard(size=unsteady), 2800, 110, 1.35, 0.06),
        # (f) an outage of a minute in the middle
        (Outage(), 2000, 91.25, 1.25, 0.06),
        (Outage(refusal=SLOW), 2000, 91.25, 1.35, 0.06),
        (Outage(retry_after=20.0), 2000, 91.25, 1.25, 0.06),
        # (g) the same with 503 and Retry-After
        (Lottery(throttled=False, retry_after=1.0), 2000, 31.25, 1.35, 0.13),
        (Hard(throttled=False, retry_after=1.0), 1000, 62.5, 1.1, 0.08),
        (Outage(throttled=False, retry_after=20.0), 2000, 91.25, 1.25, 0.06),
        # (h) fast and slow; pauses of 0.25 s and more matter a lot if an answer takes 5 ms
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
    assert len(early) <= 2.5 * AT_ONCE
    assert len(later) <= 4
    assert all(late - first >= 19 for first, late in pairwise(later))


def test_a_refusal_pauses_its_own_call_only() -> None:
    """One call of ten gets a long Retry-After; the others go on meanwhile."""
    server = Lottery(retry_after=30.0)
    took = seconds(server, 300)
    first = [time for time in server.times if time < 25]
    assert len(first) >= 300
    assert took < 100


@table("most", 1, 2, 5)
def test_refusals_at_random_end_no_request_where_few_are_asked_at_a_time(most: int) -> None:
    server = Lottery(share=0.3)
    assert seconds(server, 200, most) < 6 * 200 * 0.5 / most


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
        self.most_at_once = self.hung = 0
        self.cut: Counter[str] = Counter()

    async def ask(self, request: JudgeRequest) -> Reply:
        self.calls += 1
        self.active += 1
        self.most_at_once = max(self.most_at_once, self.active)
        work = asyncio.ensure_future(self.work(self.latency * self.luck.uniform(0.7, 1.3)))
        try:
            limit = self.time_limit * request.patience
            await asyncio.wait_for(work if self.stops else asyncio.shield(work), limit)
        except asyncio.TimeoutError:
            self.cut[request.messages[0]["content"]] += 1
            raise TransientError("late", kind="timed out") from None
        finally:
            self.active -= 1
        return Reply("Score: 0.5")

    async def work(self, takes: float) -> None:
        if self.luck.random() < self.hangs:
            self.hung += 1
            takes = 1e6
        async with self._workers:
            await asyncio.sleep(takes)


@table(
    "server, times, cut, at_once",
    (Slots(slots=8, latency=20), 1.1, 0, 32),
    (Slots(slots=8, latency=60), 1.1, 0, 8),
    (Slots(slots=4, latency=40), 1.1, 0, 8),
    (Slots(slots=2, latency=40), 1.1, 8, 10),
    (Slots(slots=1, latency=10), 1.1, 0, 8),
    (Slots(slots=1, latency=50), 1.1, 8, 8),
    (Slots(slots=1, latency=80), 1.1, 8, 8),
    # it also finishes calls that were cut off
    (Slots(slots=2, latency=40, stops=False), 1.1, 8, 8),
)
def test_a_slow_server_answers_all_calls_and_none_is_cut_off_twice(
    server: Slots, times: float, cut: int, at_once: int
) -> None:
    took = seconds(server, 200)
    assert took <= times * 200 * server.latency / server.slots
    assert (server.cut.total() <= cut, max(server.cut.values(), default=0) <= 1) == (True, True)
    assert server.most_at_once == at_once


def test_a_server_slower_than_the_time_limit_answers_the_second_calls() -> None:
    server = Slots(slots=8, latency=140)
    seconds(server, 30)
    assert max(server.cut.values()) == 1


def test_calls_that_hang_among_quick_ones_do_not_lower_the_limit() -> None:
    server = Slots(slots=1000, latency=1, hangs=0.05)
    took = seconds(server, 2000)
    assert server.hung > 50
    assert took < 800  # the longest call hangs twice: 120 s and 240 s, and then takes 1 s


def test_a_server_that_answers_no_call_at_all_ends_the_run(messages: list[str]) -> None:
    server, stop_signal = Slots(hangs=1.0, slots=100), StopSignal()

    async def work() -> list[Verdict]:
        client = client_of(server, 32, stop_signal)
        return await asyncio.gather(*(client.ask(request) for request in questions(100)))

    verdicts = run(work())
    assert stop_signal.reason == (
        "late, even with 480 s (LMMS_RPTS_TIMEOUT), and no other call was answered: check the "
        "server"
    )
    assert {verdict.error for verdict in verdicts} == {stop_signal.reason}
    assert server.calls <= 8 + 4
    assert len(messages) == 1


def test_a_slow_server_is_warned_of_once_per_run_with_the_settings(messages: list[str]) -> None:
    budget = Budget()

    async def work() -> None:
        server = Slots(slots=1, latency=50)
        client = client_of(server, 32, budget=budget)
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


# ---- the exact times of single calls


class Failing:
    """A judge that fails as ``failure`` says, given the question and time, or answers at once.

    Attributes:
        asked: the questions, with their times.
    """

    def __init__(self, failure: Callable[[str, float], BaseException | None]) -> None:
        self.failure = failure
        self.asked: list[tuple[str, float]] = []

    async def ask(self, request: JudgeRequest) -> Reply:
        text = request.messages[0]["content"]
        self.asked.append((text, now()))
        failure = self.failure(text, now())
        if failure is not None:
            raise failure
        return Reply("Score: 0.5")

    def times(self, text: str) -> list[float]:
        """The times at which a question was asked, in tenths of a second."""
        return [round(time, 1) for asked, time in self.asked if asked == text]


@pytest.fixture
def longest_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses without random jitter."""
    monkeypatch.setattr(random, "uniform", lambda shortest, longest: longest)


def ask_of(
    judge: Failing, texts: list[str], stop_signal: StopSignal | None = None, most: int = 1
) -> list[Verdict]:
    """Asks one question after the other."""

    async def work() -> list[Verdict]:
        client = client_of(judge, most, stop_signal)
        return [await client.ask(question(text)) for text in texts]

    return run(work())


def one_among_others(judge: Failing) -> Verdict:
    """The verdict on "one", while ten other questions per second are asked as well."""

    async def work() -> Verdict:
        client = client_of(judge, 8)
        verdict = asyncio.ensure_future(client.ask(question("one")))
        for number in range(200):
            await asyncio.sleep(0.1)
            assert (await client.ask(question(f"other {number}"))).value == 0.5
        return await verdict

    return run(work())


BUSY = TransientError("busy", kind="throttled")
BUSY_AND_SAYS_SO = TransientError("busy", 0.0)
LOST = TransientError("lost", kind="unreachable")
ODD = TransientError("odd")


def fails_first(times: int, *failures: TransientError) -> Failing:
    """A judge where "one" fails ``times`` times, with these failures; others are answered."""
    said = [failures[min(at, len(failures) - 1)] for at in range(times)]
    return Failing(lambda text, time: said.pop(0) if text == "one" and said else None)


@table("failures", (BUSY,), (BUSY_AND_SAYS_SO,), (LOST, LOST, BUSY))
def test_pauses_double_while_nobody_is_answered(
    failures: tuple[TransientError, ...], longest_pauses: None
) -> None:
    judge = fails_first(9, *failures)
    assert ask_of(judge, ["one"])[0].value == 0.5
    assert judge.times("one") == [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5]


@table("failure", BUSY, BUSY_AND_SAYS_SO)
def test_four_refusals_make_no_pause_longer_while_others_are_answered(
    failure: TransientError, longest_pauses: None
) -> None:
    judge = fails_first(8, failure)
    assert one_among_others(judge).value == 0.5
    assert judge.times("one") == [0, 0.5, 1, 1.5, 2, 2.5, 3.5, 5.5, 9.5]


@table("wait, held", (None, 0), (0.0, 0), (20.0, 20), (300.0, 300), (301.0, 0), (3601.0, 0))
def test_a_refused_lone_call_holds_up_the_next_as_long_as_the_server_asks(
    wait: float | None, held: float
) -> None:
    judge = fails_first(1, TransientError("busy", wait, kind="throttled"))

    async def work() -> None:
        client = client_of(judge, 1)
        await asyncio.gather(client.ask(question("one")), client.ask(question("two")))

    run(work())
    assert judge.times("two") == [held]


@table(
    "urgency, of_others, order",
    (0, 0, ["one", "two", "one", "three", "four"]),
    (1, 1, ["one", "two", "one", "three", "four"]),
    (0, 1, ["one", "two", "three", "four", "one"]),
)
def test_a_call_that_failed_is_made_again_before_others_as_urgent(
    urgency: int, of_others: int, order: list[str]
) -> None:
    failures = [LOST]

    class Slow(Failing):
        async def ask(self, request: JudgeRequest) -> Reply:
            try:
                return await super().ask(request)
            finally:
                await asyncio.sleep(10)

    judge = Slow(lambda text, time: failures.pop() if failures else None)

    async def work() -> None:
        client = client_of(judge, 1)
        await asyncio.gather(
            client.ask(question("one"), urgency),
            *(client.ask(question(text), of_others) for text in ("two", "three", "four")),
        )

    run(work())
    assert [text for text, _ in judge.asked] == order


# ---- unreachable servers


DOWN = pytest.mark.parametrize(
    ("failure", "said", "given_up"),
    [
        (LOST, "lost", 0),
        (TransientError("loading", kind="starting"), "loading", 0),
        (ODD, "odd", 3),
        pytest.param(
            asyncio.CancelledError(),
            "the judge's client cancelled the call",
            3,
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11), reason="Python 3.10 does not know who cancelled a task"
            ),
        ),
    ],
)


def down_between(start: float, end: float, failure: BaseException) -> Failing:
    return Failing(lambda text, time: failure if start <= time < end else None)


@DOWN
def test_a_server_that_answered_is_waited_for(
    longest_pauses: None, failure: BaseException, said: str, given_up: int
) -> None:
    """Lost connections, and twenty other failures in a row, are not blamed on the requests."""
    judge, stop_signal = down_between(10, 250, failure), StopSignal()

    async def work() -> list[Verdict]:
        client = client_of(judge, 8, stop_signal)
        await asyncio.sleep(9)
        known = await client.ask(question("known"))
        await asyncio.sleep(1)
        return [known, *[await client.ask(question(text)) for text in "abcdef"]]

    verdicts = run(work())
    lost = [f"{said} (after 5 calls)"] * given_up
    assert [verdict.error for verdict in verdicts] == [None, *lost, *[None] * (6 - given_up)]
    assert stop_signal.reason is None


def test_a_server_that_starts_is_waited_for_from_the_beginning(longest_pauses: None) -> None:
    loading = TransientError("loading", kind="starting")
    judge = Failing(lambda text, time: loading if time < 200 else None)
    assert [verdict.error for verdict in ask_of(judge, ["one", "two"])] == [None, None]
    judge, stop_signal = Failing(lambda text, time: loading), StopSignal()
    ask_of(judge, ["one"], stop_signal)
    assert re.fullmatch(r"no answer for 3\d\d s: loading", stop_signal.reason or "")


@DOWN
def test_a_server_that_answers_no_more_for_five_minutes_ends_the_run(
    longest_pauses: None, failure: BaseException, said: str, given_up: int
) -> None:
    judge, stop_signal = down_between(100, 1000, failure), StopSignal()

    async def work() -> Verdict:
        client = client_of(judge, 8, stop_signal)
        await asyncio.sleep(90)
        await client.ask(question("known"))
        await asyncio.sleep(10)
        lost = [client.ask(question(text)) for text in "abcde"]
        return (await asyncio.gather(*lost))[-1]

    verdict = run(work())
    assert verdict.error == stop_signal.reason
    assert stop_signal.reason is not None
    told = re.fullmatch(rf"no answer for (\d+) s: {said}", stop_signal.reason)
    assert told is not None
    assert 300 < int(told[1]) <= 330
    assert judge.asked[-1][1] == pytest.approx(90 + int(told[1]), abs=1)


@table("failure, given_up", (LOST, True), (TransientError("odd"), False))
def test_a_server_that_was_never_reached_is_given_up_after_twenty_requests(
    failure: TransientError, given_up: bool
) -> None:
    judge, stop_signal = Failing(lambda text, time: failure), StopSignal()
    verdicts = ask_of(judge, [str(number) for number in range(19)], stop_signal)
    assert stop_signal.reason is None
    assert {verdict.attempts for verdict in verdicts} == {5}
    judge, stop_signal = Failing(lambda text, time: failure), StopSignal()
    verdicts = ask_of(judge, [str(number) for number in range(21)], stop_signal)
    assert verdicts[19].attempts == 5
    assert stop_signal.reason == ("cannot reach the judge: lost" if given_up else None)
    assert verdicts[20].attempts == (0 if given_up else 5)

"""How many calls may be under way: bound, order, throttling, recovery, and places given back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.judging.limits import AdaptiveLimit

T = TypeVar("T")


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose time passes at once when all wait for it; it is an error to wait for ever."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()
        select = self._selector.select

        def skip(timeout: float | None = None) -> Any:
            assert timeout is not None, "all wait for something that will never come"
            self.now += timeout and max(timeout, 1e-6)
            return select(0)

        self._selector.select = skip  # type: ignore[method-assign]

    def time(self) -> float:
        return self.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, whose waiting takes no time."""
    loop = SkippingLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def now() -> float:
    return asyncio.get_running_loop().time()


class Caller:
    """Holds a place from when it gets one until it is told to leave."""

    def __init__(self, limit: AdaptiveLimit, urgency: int = 0) -> None:
        self.entered: float | None = None
        self._leave = asyncio.Event()
        self.task = asyncio.ensure_future(self._hold(limit, urgency))

    async def _hold(self, limit: AdaptiveLimit, urgency: int) -> None:
        async with limit.slot(urgency):
            self.entered = now()
            await self._leave.wait()

    def leave(self) -> None:
        self._leave.set()


async def settle() -> None:
    """Let all that can happen now happen."""
    for _ in range(10):
        await asyncio.sleep(0)


async def callers(limit: AdaptiveLimit, count: int) -> list[Caller]:
    came = [Caller(limit) for _ in range(count)]
    await settle()
    return came


def inside(came: list[Caller]) -> list[int]:
    """Who holds a place."""
    return [
        number
        for number, caller in enumerate(came)
        if caller.entered is not None and not caller.task.done()
    ]


# ---- bound and order


@pytest.mark.parametrize("most", [1, 2, 5])
def test_so_many_and_no_more_are_let_in(most: int) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(most)
        assert limit.allowed == most
        came = await callers(limit, 8)
        assert inside(came) == list(range(most))
        came[0].leave()
        await settle()
        assert inside(came) == list(range(1, most + 1))

    run(work())


@pytest.mark.parametrize("most", [0, -3])
def test_an_impossible_limit_is_named(most: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, got {most}"):
        AdaptiveLimit(most)


@pytest.mark.parametrize(
    ("urgencies", "order"),
    [
        ([0, 0, 0, 0], [0, 1, 2, 3]),
        ([0, 1, 2, 3], [0, 3, 2, 1]),  # the first came to an empty room
        ([0, 2, 1, 2, 1], [0, 1, 3, 2, 4]),
        ([5, -1, 0, 0, -1], [0, 2, 3, 1, 4]),
    ],
)
def test_the_urgent_come_first_then_who_came_first(urgencies: list[int], order: list[int]) -> None:
    async def work() -> list[int]:
        limit = AdaptiveLimit(1)
        entered: list[int] = []

        async def call(number: int, urgency: int) -> None:
            async with limit.slot(urgency):
                entered.append(number)
                await asyncio.sleep(1)

        await asyncio.gather(*(call(number, each) for number, each in enumerate(urgencies)))
        assert now() == pytest.approx(len(urgencies))
        return entered

    assert run(work()) == order


def test_a_place_is_given_back_by_who_fails() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        for _ in range(3):
            with pytest.raises(KeyError):
                async with limit.slot():
                    raise KeyError("odd")
        async with limit.slot():
            assert inside(await callers(limit, 2)) == []

    run(work())


# ---- throttling and recovery


@pytest.mark.parametrize(
    ("most", "cuts", "allowed"),
    [
        # times 0.7, in whole numbers: 10, 7, 4.9, 3.43, 2.4, 1.68, 1.18, 1
        (10, 1, 7),
        (10, 2, 4),
        (10, 3, 3),
        (10, 4, 2),
        (10, 5, 1),
        (10, 20, 1),
        (1, 1, 1),
    ],
)
def test_each_round_that_is_throttled_cuts_once(most: int, cuts: int, allowed: int) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(most)
        for _ in range(cuts):
            await asyncio.sleep(1)
            started = now()
            await asyncio.sleep(0.5)
            for _ in range(5):
                limit.throttled(started, 0.0)
        assert limit.allowed == allowed

    run(work())


def test_calls_of_one_round_cut_once_though_they_are_refused_one_by_one() -> None:
    async def work() -> list[int]:
        limit = AdaptiveLimit(10)
        seen = []
        for begun in [0, 0.5, 1, 0.9, 2.5, 3.5]:
            await asyncio.sleep(1)  # refused at 1, 2, 3, ...
            limit.throttled(begun, 0.0)
            seen.append(limit.allowed)
        return seen

    # The first cut is at 1: the third call began then, and cuts at 3, as does none that began
    # before 3; the last began at 3.5.
    assert run(work()) == [7, 7, 4, 4, 4, 3]


def test_after_a_cut_fewer_are_let_in() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(4)
        came = await callers(limit, 8)
        assert inside(came) == [0, 1, 2, 3]
        limit.throttled(0.0, 0.0)  # 2.8
        came[0].leave()
        came[1].leave()
        await settle()
        assert inside(came) == [2, 3]
        came[2].leave()
        await settle()
        assert inside(came) == [3, 4]

    run(work())


@pytest.mark.parametrize(
    ("most", "cuts", "answers", "allowed"),
    [
        # 10 -> 7: 7.14, 7.28, ..., a whole one for about 7 answers
        (10, 1, 0, 7),
        (10, 1, 7, 7),
        (10, 1, 8, 8),
        (10, 1, 100, 10),
        # 2 -> 1.4: 1.4 + 1 / 1.4 = 2.11, and no more than 2
        (2, 1, 1, 2),
        (2, 1, 50, 2),
        # 4 -> 2.8 -> 1.96 -> 1.37 -> 1: 2, 2.5, 2.9, 3.24, 3.55, 3.83, 4.09
        (4, 4, 0, 1),
        (4, 4, 1, 2),
        (4, 4, 3, 2),
        (4, 4, 4, 3),
        (4, 4, 6, 3),
        (4, 4, 7, 4),
        (4, 4, 50, 4),
        (3, 0, 50, 3),
    ],
)
def test_each_round_of_answers_allows_one_more(
    most: int, cuts: int, answers: int, allowed: int
) -> None:
    async def work() -> int:
        limit = AdaptiveLimit(most)
        for _ in range(cuts):
            limit.throttled(now(), 0.0)
            await asyncio.sleep(1)
        for _ in range(answers):
            limit.answered()
        return limit.allowed

    assert run(work()) == allowed


def test_an_answer_lets_the_waiting_in() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(2)
        limit.throttled(now(), 0.0)  # 1.4
        came = await callers(limit, 3)
        assert inside(came) == [0]
        limit.answered()  # 2
        await settle()
        assert inside(came) == [0, 1]

    run(work())


# ---- where even one is too much


@pytest.mark.parametrize(("wait", "entered"), [(5.0, 6.0), (300.0, 301.0)])
def test_nobody_calls_before_the_server_wants_it(wait: float, entered: float) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        first, second, third = await callers(limit, 3)
        await asyncio.sleep(1)
        limit.throttled(0.0, wait)
        first.leave()
        await settle()
        assert inside([first, second, third]) == []
        late = Caller(limit)
        await asyncio.sleep(wait + 1)
        assert second.entered == pytest.approx(entered)
        assert limit.allowed == 1
        assert (third.entered, late.entered) == (None, None)
        second.leave()
        await settle()
        assert third.entered == now()

    run(work())


def test_the_longest_wait_counts() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        await asyncio.sleep(1)
        limit.throttled(1.0, 10.0)
        await asyncio.sleep(1)
        limit.throttled(2.0, 3.0)
        (caller,) = await callers(limit, 1)
        await asyncio.sleep(20)
        assert caller.entered == pytest.approx(11)

    run(work())


def test_who_may_still_call_two_at_a_time_does_not_wait() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(3)
        limit.throttled(now(), 60.0)  # 2.1
        assert inside(await callers(limit, 3)) == [0, 1]
        assert now() == 0

    run(work())


def test_two_refused_together_do_not_say_that_one_is_too_much() -> None:
    """The cut to one is to be tried before all is held."""

    async def work() -> None:
        limit = AdaptiveLimit(2)
        came = await callers(limit, 3)
        await asyncio.sleep(1)
        for caller in came[:2]:
            limit.throttled(0.0, 60.0)
            caller.leave()
        await settle()
        assert limit.allowed == 1
        assert inside(came) == [2]
        assert came[2].entered == 1.0

    run(work())


# ---- letting all through


def test_release_lets_everybody_pass_at_once() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        came = await callers(limit, 50)
        assert inside(came) == [0]
        limit.release()
        await settle()
        assert inside(came) == list(range(50))
        assert inside(await callers(limit, 50)) == list(range(50))
        assert limit.allowed > 1_000_000

    run(work())


def test_release_ends_the_holding() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        limit.throttled(now(), 300.0)
        came = await callers(limit, 3)
        assert inside(came) == []
        limit.release()
        await settle()
        assert inside(came) == [0, 1, 2]
        assert now() == 0

    run(work())


def test_calls_that_end_after_the_release_bring_no_limit_back() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(3)
        limit.release()
        limit.answered()
        came = await callers(limit, 10)
        assert inside(came) == list(range(10))
        limit.throttled(0.0, 300.0)
        limit.throttled(0.0, 300.0)
        late = await callers(limit, 10)
        assert inside(late) == list(range(10))

    run(work())


# ---- cancellation


@pytest.mark.parametrize("cancelled", [1, 2, 3])
def test_who_is_cancelled_while_waiting_takes_no_place(cancelled: int) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        came = await callers(limit, 4)
        came[cancelled].task.cancel()
        await settle()
        others = [number for number in range(4) if number != cancelled]
        for number in others:
            assert inside(came) == [number]
            came[number].leave()
            await settle()
        assert came[cancelled].task.cancelled()

    run(work())


@pytest.mark.parametrize("times", [1, 2])
def test_who_is_cancelled_when_just_let_in_gives_the_place_back(times: int) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        async with limit.slot():
            came = await callers(limit, 2)
        # The first is let in, but was not woken yet.
        assert came[0].entered is None
        for _ in range(times):
            came[0].task.cancel()
        await settle()
        assert came[0].task.cancelled()
        assert inside(came) == [1]
        came[1].leave()
        await settle()
        assert inside(await callers(limit, 2)) == [0]

    run(work())


def test_who_is_cancelled_inside_gives_the_place_back() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        came = await callers(limit, 2)
        came[0].task.cancel()
        await settle()
        assert inside(came) == [1]

    run(work())


def test_who_is_cancelled_while_all_is_held_wakes_nobody() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        limit.throttled(now(), 10.0)
        came = await callers(limit, 2)
        came[0].task.cancel()
        await settle()
        assert inside(came) == []
        await asyncio.sleep(11)
        assert came[1].entered == pytest.approx(10)

    run(work())


# ---- any schedule


@dataclass(frozen=True)
class Plan:
    """What one caller does; times in seconds."""

    comes: int
    stays: int
    urgency: int
    cancelled_after: int | None
    outcome: str
    wait: int


PLANS = st.builds(
    Plan,
    comes=st.integers(0, 6),
    stays=st.integers(0, 4),
    urgency=st.integers(0, 2),
    cancelled_after=st.none() | st.integers(0, 6),
    outcome=st.sampled_from(["answered", "throttled", "failed"]),
    wait=st.integers(0, 5),
)


class Watch:
    """Counts who is inside, and how many were allowed in this moment."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self.limit = limit
        self.active = self.entered = 0
        self._moment, self._peak = 0.0, 0

    def look(self) -> None:
        """To be called before the limit may fall: who was let in by then may come in now."""
        if now() != self._moment:
            self._moment, self._peak = now(), 0
        self._peak = max(self._peak, self.limit.allowed)

    def came_in(self) -> None:
        self.look()
        self.entered += 1
        self.active += 1
        assert self.active <= self._peak


async def follow(plan: Plan, watch: Watch) -> None:
    limit = watch.limit
    await asyncio.sleep(plan.comes)
    async with limit.slot(plan.urgency):
        watch.came_in()
        try:
            started = now()
            await asyncio.sleep(plan.stays)
            watch.look()
            if plan.outcome == "throttled":
                limit.throttled(started, plan.wait)
        finally:
            watch.look()
            watch.active -= 1
    if plan.outcome == "answered":
        limit.answered()


async def follow_all(most: int, plans: list[Plan]) -> None:
    limit = AdaptiveLimit(most)
    watch = Watch(limit)
    tasks = [asyncio.ensure_future(follow(plan, watch)) for plan in plans]
    for plan, task in zip(plans, tasks, strict=True):
        if plan.cancelled_after is not None:
            asyncio.get_running_loop().call_later(plan.cancelled_after, task.cancel)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for plan, result in zip(plans, results, strict=True):
        cancelled = isinstance(result, asyncio.CancelledError)
        assert result is None or (cancelled and plan.cancelled_after is not None), result
    await asyncio.sleep(10)
    allowed = limit.allowed
    assert 1 <= allowed <= most
    assert inside(await callers(limit, most + 2)) == list(range(allowed)), "a place was lost"


@settings(max_examples=300)
@given(st.integers(1, 4), st.lists(PLANS, max_size=12))
def test_whatever_happens_the_bound_holds_and_all_get_in(most: int, plans: list[Plan]) -> None:
    run(follow_all(most, plans))


@settings(max_examples=100)
@given(st.integers(1, 4), st.lists(PLANS, max_size=12), st.integers(0, 8))
def test_after_a_release_nobody_waits(most: int, plans: list[Plan], at: int) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(most)
        watch = Watch(limit)
        tasks = [asyncio.ensure_future(follow(plan, watch)) for plan in plans]
        await asyncio.sleep(at)
        limit.release()
        await asyncio.gather(*tasks)
        latest = max((max(at, plan.comes) + plan.stays for plan in plans), default=at)
        assert now() <= latest
        assert watch.entered == len(plans)

    run(work())

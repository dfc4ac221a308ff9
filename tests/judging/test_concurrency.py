"""Concurrency limit: bound, order, throttling, recovery, and released slots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.judging.concurrency import AdaptiveLimit, Place
from tests.support.tables import table

T = TypeVar("T")


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop that skips waiting times when all tasks wait; waiting forever is an error."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()
        select = self._selector.select

        def skip(timeout: float | None = None) -> Any:
            assert timeout is not None, "all tasks wait for an event that never happens"
            self.now += timeout and max(timeout, 1e-6)
            return select(0)

        self._selector.select = skip  # type: ignore[method-assign]

    def time(self) -> float:
        return self.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, run on a loop that skips waiting times."""
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
    """A caller that holds a place from when it is admitted until it is told to leave."""

    def __init__(self, limit: AdaptiveLimit, urgency: int = 0) -> None:
        self.entered: float | None = None
        self.place: Place
        self._leave = asyncio.Event()
        self.task = asyncio.ensure_future(self._hold(limit, urgency))

    async def _hold(self, limit: AdaptiveLimit, urgency: int) -> None:
        async with limit.slot(urgency) as self.place:
            self.entered = now()
            await self._leave.wait()

    def leave(self) -> None:
        self._leave.set()


async def settle() -> None:
    """Lets all tasks run until they wait."""
    for _ in range(10):
        await asyncio.sleep(0)


async def callers(limit: AdaptiveLimit, count: int) -> list[Caller]:
    came = [Caller(limit) for _ in range(count)]
    await settle()
    return came


def inside(came: list[Caller]) -> list[int]:
    """The numbers of the callers that hold a place."""
    return [
        number
        for number, caller in enumerate(came)
        if caller.entered is not None and not caller.task.done()
    ]


# ---- limit and order


@table("most", 1, 2, 5)
def test_the_limit_bounds_concurrent_callers(most: int) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(most)
        assert limit.allowed == most
        came = await callers(limit, 8)
        assert inside(came) == list(range(most))
        came[0].leave()
        await settle()
        assert inside(came) == list(range(1, most + 1))

    run(work())


@table(
    "urgencies, order",
    ([0, 0, 0, 0], [0, 1, 2, 3]),
    ([0, 1, 2, 3], [0, 3, 2, 1]),  # the first finds no queue
    ([0, 2, 1, 2, 1], [0, 1, 3, 2, 4]),
    ([5, -1, 0, 0, -1], [0, 2, 3, 1, 4]),
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


# ---- throttling and recovery


def test_after_a_refusal_fewer_are_let_in() -> None:
    async def work() -> None:
        limit = AdaptiveLimit(4)
        came = await callers(limit, 8)
        assert inside(came) == [0, 1, 2, 3]
        limit.throttled(came[0].place, 0.0)
        came[0].leave()
        came[1].leave()
        await settle()
        assert inside(came) == [2, 3, 4]

    run(work())


# ---- where even one call at a time is too many


@table(
    "answered, holds",
    (lambda number: False, [0, 0.25, 0.5, 0.75, 1, 1.25]),
    (lambda number: number % 2, [0, 0, 0, 0, 0, 0]),  # random refusals hold nobody up
)
def test_a_silent_server_is_left_alone_for_longer_each_time(
    answered: Callable[[int], bool], holds: list[float]
) -> None:
    async def work() -> list[float]:
        limit = AdaptiveLimit(1)
        entered = []
        for number in range(7):
            async with limit.slot() as place:
                entered.append(now())
                if answered(number):
                    limit.answered(place)
                else:
                    limit.throttled(place, 0.0)
        return [late - early for early, late in pairwise(entered)]

    assert run(work()) == pytest.approx(holds)


# ---- cancellation


@table("times", 1, 2)
def test_cancellation_right_after_admission_releases_the_place(times: int) -> None:
    async def work() -> None:
        limit = AdaptiveLimit(1)
        async with limit.slot():
            came = await callers(limit, 2)
        # The first has a place, but was not woken yet.
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


# ---- random schedules


@dataclass(frozen=True)
class Plan:
    """The plan of one caller; times in seconds."""

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
    """Counts the callers inside, and the highest limit at this moment."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self.limit = limit
        self.active = self.entered = 0
        self._moment, self._peak = 0.0, 0

    def look(self) -> None:
        """Call this before the limit may drop: callers admitted until now may still enter."""
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
    async with limit.slot(plan.urgency) as place:
        watch.came_in()
        try:
            await asyncio.sleep(plan.stays)
            watch.look()
            if plan.outcome == "throttled":
                limit.throttled(place, plan.wait)
        finally:
            watch.look()
            watch.active -= 1
    if plan.outcome == "answered":
        limit.answered(place)


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
    await asyncio.sleep(16)  # longer than any hold
    allowed = limit.allowed
    assert 1 <= allowed <= most
    assert inside(await callers(limit, most + 2)) == list(range(allowed)), "a place was lost"


@settings(max_examples=300)
@given(st.integers(1, 4), st.lists(PLANS, max_size=12))
def test_random_schedules_respect_the_limit_and_admit_all(most: int, plans: list[Plan]) -> None:
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

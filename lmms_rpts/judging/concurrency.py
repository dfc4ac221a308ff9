"""Adaptive limit on concurrent calls, with a queue by urgency."""

from __future__ import annotations

import asyncio
import heapq
import math
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lmms_rpts.judging.concurrency_level import Level, Place

FIRST_HOLD, LONGEST_HOLD = 0.5, 15.0
LONGEST_PATIENCE = 4.0
"""Maximum multiple of its time limit that a call may take."""
BY_CHANCE = 3
"""Number of consecutive refusals of single calls that delay no others: a server that refuses every
second call at random took 35 times as long as necessary."""


class NotCalledError(Exception):
    """Raised if a slot for a call was taken, but no call was made."""


class AdaptiveLimit:
    """A limit on concurrent calls that adapts to the server's replies; see Level.

    If even one concurrent call is too many, all calls wait for the time that the server asked for;
    then calls run one at a time.

    All methods belong to one event loop.

    Args:
        most: the maximum number of concurrent calls.
        time_limit: seconds that a call may take; calls that take more than half are slow.

    Attributes:
        active: number of calls in progress.
        patience: multiple of the time limit that a call may take. It doubles when the limit on
            concurrent calls falls because of slow replies: the next calls must not be cut off, too.
        seconds: seconds that the latest replies took.
    """

    def __init__(self, most: int, time_limit: float = math.inf) -> None:
        if most < 1:
            raise ValueError(f"concurrency must be at least 1, got {most}")
        self._level = Level(most)
        self._time_limit = time_limit
        self.active = 0
        self.patience = 1.0
        self.seconds: deque[float] = deque(maxlen=101)
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = 0
        self._in_vain = 0
        self._held_until = -1.0
        self._released = False

    @property
    def allowed(self) -> int:
        """The current limit on concurrent calls."""
        return sys.maxsize if self._released else self._level.allowed

    @asynccontextmanager
    async def slot(self, urgency: int = 0) -> AsyncIterator[Place]:
        """Hold the slot of one call; the most urgent requests come first, then the oldest.

        A slot released by a NotCalledError does not count as a call.
        """
        await self._acquire(urgency)
        place, settle = self._level.begin(), self._level.end
        try:
            yield place
        except NotCalledError:
            settle = self._level.withdraw
            raise
        finally:
            self.active -= 1
            settle(place)
            self._grant()

    def answered(self, seconds: float = 0.0) -> None:
        """Record a successful call that took ``seconds``."""
        self._in_vain = 0
        self.seconds.append(seconds)
        self._level.answer(slow=seconds > self.patience * self._time_limit / 2)

    def timed_out(self, place: Place) -> bool:
        """Record that the call that holds ``place`` exceeded its time limit.

        Returns whether it shows that the server is slow, so that fewer calls are made at a time.
        """
        slow = self._level.time_out(place)
        if slow:
            self.patience = min(LONGEST_PATIENCE, 2 * self.patience)
        return slow

    def throttled(self, place: Place, wait: float) -> None:
        """Record that the server throttled the call that holds ``place``.

        Args:
            place: the slot of the call.
            wait: seconds that the server asks to wait.
        """
        if self._released:
            return
        if place.alone and self.allowed == 1:
            # Without a Retry-After, each pause is longer than the previous one.
            self._in_vain += 1
            backoff = 0.0
            if self._in_vain > BY_CHANCE:
                growth = 2.0 ** min(self._in_vain - BY_CHANCE - 1, 20)
                backoff = min(LONGEST_HOLD, FIRST_HOLD * growth)
            now = asyncio.get_running_loop().time()
            self._held_until = max(self._held_until, now + (wait or backoff))
        self._level.refuse(place)

    def release(self) -> None:
        """Wake up all waiters, because no more calls will be made."""
        self._released = True
        self._held_until = -1.0
        self._grant()

    async def _acquire(self, urgency: int) -> None:
        place = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-urgency, self._arrivals, place))
        self._arrivals += 1
        self._grant()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.active -= 1  # it was granted at the same moment
            self._grant()
            raise

    def _grant(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self._held_until:
            loop.call_at(self._held_until, self._grant)
            return
        while self._waiting and self.active < self.allowed:
            place = heapq.heappop(self._waiting)[-1]
            if not place.done():
                place.set_result(None)
                self.active += 1

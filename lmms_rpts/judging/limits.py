"""How many calls may be under way: fewer when the server is asked too much, more again later."""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

FIRST_HOLD, LONGEST_HOLD = 0.5, 15.0
CUT = 0.7
"""What a limit is multiplied with when the server throttles."""


class AdaptiveLimit:
    """A bound on calls at a time that follows what the server bears.

    Additive increase, multiplicative decrease, as in TCP's congestion control: a throttled call
    lowers the limit, once for all calls that were under way together; each round of answers
    raises it by one, up to where it began. Where even one call at a time is too much, nobody calls
    until the time that the server asked for is over.

    All methods belong to one event loop.

    Args:
        most: calls at a time, at most and at first.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError(f"concurrency must be at least 1, got {most}")
        self._most = most
        self._allowed = float(most)
        self._active = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = 0
        self._last_cut = -1.0
        self._in_vain = 0
        self._held_until = -1.0
        self._released = False

    @property
    def allowed(self) -> int:
        """How many calls may be under way now, in whole numbers."""
        return int(min(self._allowed, sys.maxsize))

    @asynccontextmanager
    async def slot(self, urgency: int = 0) -> AsyncIterator[None]:
        """Hold one call's place; the most urgent come first, then the first that came."""
        await self._acquire(urgency)
        try:
            yield
        finally:
            self._active -= 1
            self._grant()

    def answered(self) -> None:
        """A call went well."""
        if self._released:
            return
        self._in_vain = 0
        self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)
        self._grant()

    def throttled(self, started: float, wait: float) -> None:
        """The server refused a call, begun at loop time ``started``, as one too many.

        ``wait``: seconds that it asks for.
        """
        if self._released or started < self._last_cut:
            return
        now = asyncio.get_running_loop().time()
        if self._allowed < 2:
            # A server that doesn't say how long is left alone for longer each time.
            self._in_vain += 1
            backoff = min(LONGEST_HOLD, FIRST_HOLD * 2.0 ** min(self._in_vain - 1, 20))
            self._held_until = max(self._held_until, now + (wait or backoff))
        self._allowed = max(1.0, self._allowed * CUT)
        self._last_cut = now

    def release(self) -> None:
        """Let everybody pass at once: nobody calls any more."""
        self._released = True
        self._allowed, self._held_until = float("inf"), -1.0
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
                self._active -= 1  # it was granted in the same moment
            self._grant()
            raise

    def _grant(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self._held_until:
            loop.call_at(self._held_until, self._grant)
            return
        while self._waiting and self._active < self.allowed:
            place = heapq.heappop(self._waiting)[-1]
            if not place.done():
                place.set_result(None)
                self._active += 1

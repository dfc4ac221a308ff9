"""How many calls go to a judge at a time: AIMD that learns whether refusals depend on the load."""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# Maximum multiple of its time limit that a call may take.
LONGEST_PATIENCE = 4.0


class Limit:
    """At most ``bound`` calls at a time, and a queue; all methods belong to one event loop.

    The bound begins at ``first`` and doubles per round until the first refusal, then grows by 1 per
    round; a refusal of a call that began after the last cut takes 20%. If few calls at a time are
    refused as often as many (a broken gateway, a quota shared with others), refusals no longer cut
    it, until they become more. A call that took more than half of ``time_limit`` does not raise it:
    more calls would wait longer in the server's queue.

    ``active``: number of calls in progress. ``patience``: multiple of the time limit that a call
    may take; it doubles when calls take too long: the next ones must not be cut off, too.
    """

    def __init__(self, most: int, time_limit: float = math.inf, first: int = 8) -> None:
        self.active, self.patience = 0, 1.0
        self._most, self._time_limit = most, time_limit
        self._bound, self._growing, self._cut_at = float(min(most, first)), True, -1.0
        self._arrivals = 0
        self._waiting: list[tuple[tuple[int, ...], int, asyncio.Future[None]]] = []
        self._ended: deque[tuple[float, bool]] = deque(maxlen=400)  # bound, whether refused
        self._usual: float | None = None  # share of refusals that does not depend on the load

    @asynccontextmanager
    async def slot(self, order: tuple[int, ...] = ()) -> AsyncIterator[float]:
        """Hold the slot of one call: the time of its begin; the lowest ``order`` comes first."""
        turn = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiting, (order, self._arrivals, turn))
        self._wake()
        try:
            await turn
            yield now()
        finally:
            if turn.done() and not turn.cancelled():  # it may be granted while it is cancelled
                self.active -= 1
                self._wake()

    def answered(self, begun: float) -> None:
        """Record that the call that began then was answered."""
        self._ended.append((self._bound, False))
        if now() - begun <= self.patience * self._time_limit / 2:
            more = 1 if self._growing else 1 / self._bound
            self._bound = min(self._most, self._bound + more)

    def throttled(self, begun: float) -> None:
        """Record that the server refused the call, because there were too many."""
        self._ended.append((self._bound, True))
        if self._usual is not None:
            last = [refused for _, refused in self._ended][-100:]
            if sum(last) > len(last) * (self._usual + 0.15):
                self._usual = None
                self._ended.clear()
        elif self._cut(begun, 0.8):
            # Whether few calls at a time were refused about as often as many
            peak = max(bound for bound, _ in self._ended)
            high = [refused for bound, refused in self._ended if bound > 0.6 * peak]
            low = [refused for bound, refused in self._ended if bound <= 0.6 * peak]
            share = (sum(high) + sum(low)) / len(self._ended)
            enough = len(low) >= 16 and sum(low) >= 3 and sum(high) >= 2 and share <= 0.4
            if enough and sum(low) / len(low) >= 0.7 * sum(high) / len(high):
                self._usual, self._bound = share, float(self._most)

    def timed_out(self, begun: float) -> bool:
        """Record that the call took too long; whether it was the first such call."""
        first, cut = self.patience == 1.0, self._cut(begun, 0.5)
        if cut:
            self.patience = min(LONGEST_PATIENCE, 2 * self.patience)
        return first and cut

    def _wake(self) -> None:
        while self._waiting and self.active < max(1, int(self._bound)):
            turn = heapq.heappop(self._waiting)[-1]
            if not turn.done():
                self.active += 1
                turn.set_result(None)

    def _cut(self, begun: float, factor: float) -> bool:
        if begun < self._cut_at:
            return False
        self._growing, self._cut_at = False, now()
        self._bound = max(1.0, min(self._bound, self.active) * factor)
        return True


def now() -> float:
    """The time of the running event loop."""
    return asyncio.get_running_loop().time()

"""Adaptive limit on concurrent calls: an estimate of what a server accepts, and a queue."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

# Calls at a time in the first round: a server with few slots must not begin with a long queue.
START = 8
# Calls per round: the minimum, and the number needed to test whether refusals are random.
ROUND, LONGEST_ROUND = 20, 100
# Share of a round that must have ended, so that a hanging call delays nothing.
ENOUGH = 0.95
# Expected number of refusals in a trial if they are random.
EXPECTED = 5
# Share of the accepted concurrency whose loss triggers a trial.
FALL = 0.15
# Concurrency of a trial as a share of the answered calls: certainly within the capacity.
MARGIN = 0.9
# A server that refuses a larger share is overloaded, however few calls are in progress.
MOST_BY_CHANCE = 0.5
# Share of refusals in a round up to which the limit doubles at the start: they may be random.
EARLY = 0.25
# Decay of a measured share per round, so that it is measured again at some point.
AGED = 0.98
FIRST_HOLD, LONGEST_HOLD = 0.25, 15.0
# Maximum multiple of its time limit that a call may take.
LONGEST_PATIENCE = 4.0


@dataclass(slots=True)
class _Round:
    """The first ``size`` calls under one limit, and ``surplus``: refusals among all of them.

    ``slow``: whether a reply took more than half of its time limit.
    """

    size: int
    begun: int = 0
    ended: int = 0
    refused: int = 0
    surplus: int = 0
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Slot:
    """A call in progress: its round, and whether it counts there.

    ``begun``: the time of its begin; ``replies``: replies before it.
    """

    round: _Round
    counted: bool
    begun: float
    replies: int


class AdaptiveLimit:
    """A limit on concurrent calls that adapts to what a server accepts, and a queue.

    A refusal takes one slot immediately. A round with refusals cuts the limit to the number of
    calls that were answered, as TCP Westwood cuts its window to what was delivered (Mascolo et al.,
    2001); rounds without refusals raise it by 1, 2, 4, ... Since a server may refuse calls at
    random, a decrease is tested, as in PCC (Dong et al., 2015: the achieved rate counts, a loss
    alone proves nothing): for one round slightly fewer calls are made than were answered. If the
    refusals stop, the server was overloaded. If they continue, they are random: the old limit is
    restored, and their share is expected in every later round.

    The limit starts low and doubles with each round, as in TCP's slow start, while at most
    ``EARLY`` of the calls are refused. It never rises after a round with a slow reply: twice the
    calls would wait twice as long in the server's queue. A late call halves it.

    If even one concurrent call is too many, all calls wait for the time that the server asked for;
    then calls run one at a time.

    All methods belong to one event loop.

    Args:
        most: the maximum number of concurrent calls; ``sys.maxsize``: there is none.
        time_limit: seconds that a call may take; calls that take more than half are slow.

    Attributes:
        active: number of calls in progress.
        patience: multiple of the time limit that a call may take. It doubles when the limit on
            concurrent calls falls because of slow replies: the next calls must not be cut off, too.
    """

    def __init__(self, most: int, time_limit: float = math.inf) -> None:
        self._most, self._time_limit = most, time_limit
        self.active, self.patience = 0, 1.0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = self._in_vain = 0
        self._held_until = self._halved_at = -1.0
        self._released = most == sys.maxsize
        self._bound = min(most, START)
        self._proven = most  # the limit before it fell
        self._starting = most > START
        self._step = START if self._starting else 1
        self._usual = 0.0  # share of random refusals
        self._trial: tuple[float, int] | None = None  # share of refusals and limit in a fall
        self._replies = self._last_slow = 0
        self._round = _Round(self._size())

    @property
    def allowed(self) -> int:
        """The current limit on concurrent calls."""
        if self._released:
            return sys.maxsize
        surplus = self._round.surplus - int(self._tolerated(self._round.size))
        return max(1, self._bound - max(0, surplus))

    @asynccontextmanager
    async def slot(self, urgency: int = 0) -> AsyncIterator[Slot]:
        """Hold the slot of one call; the most urgent requests come first, then the oldest."""
        await self._acquire(urgency)
        counted = self._round.begun < self._round.size
        self._round.begun += counted
        slot = Slot(self._round, counted, _now(), self._replies)
        try:
            yield slot
        finally:
            self.active -= 1
            self._end(slot)
            self._grant()

    def answered(self, slot: Slot) -> None:
        """Record that the call in ``slot`` was successful."""
        self._in_vain = 0
        self._replies += 1
        if _now() - slot.begun > self.patience * self._time_limit / 2:
            self._last_slow = self._replies
            self._round.slow = True

    def timed_out(self, slot: Slot) -> bool:
        """Record that the call in ``slot`` exceeded its time limit.

        The limit falls to a half, or to the number of replies during the call if that is less: once
        for all calls in progress. One call that hangs while others get quick replies is no sign of
        a queue. Returns whether the limit fell.
        """
        replies = self._replies - slot.replies
        if slot.begun < self._halved_at or (replies and self._last_slow <= slot.replies):
            return False
        self._bound = self._proven = max(1, min(self._bound // 2, replies))
        self._halved_at = _now()
        self._trial, self._step, self._starting = None, 2, False
        self._round = _Round(self._size())
        self.patience = min(LONGEST_PATIENCE, 2 * self.patience)
        return True

    def throttled(self, slot: Slot, wait: float) -> None:
        """Record that the server throttled the call in ``slot``, and asks to wait some seconds."""
        if self.allowed == self.active == 1:
            # Without a Retry-After, each pause is longer than the previous one; not the first,
            # since a server that refuses calls at random is to be called again at once.
            pause = wait or min(LONGEST_HOLD, FIRST_HOLD * self._in_vain)
            self._in_vain += 1
            self._held_until = _now() + pause
        slot.round.surplus += 1
        slot.round.refused += slot.counted

    def release(self) -> None:
        """Wake up all waiters, because no more calls will be made."""
        self._released = True
        self._held_until = -1.0
        self._grant()

    async def _acquire(self, urgency: int) -> None:
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-urgency, self._arrivals, turn))
        self._arrivals += 1
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.active -= 1  # it was granted at the same moment
            self._grant()
            raise

    def _grant(self) -> None:
        if _now() < self._held_until:
            asyncio.get_running_loop().call_at(self._held_until, self._grant)
            return
        while self._waiting and self.active < self.allowed:
            turn = heapq.heappop(self._waiting)[-1]
            if not turn.done():
                turn.set_result(None)
                self.active += 1

    def _end(self, slot: Slot) -> None:
        """Record the end of a call, whatever its outcome; at the end of a round, adapt."""
        slot.round.ended += slot.counted
        if slot.round is not self._round or self._round.ended < ENOUGH * self._round.size:
            return
        share = self._round.refused / self._round.ended
        if self._trial is not None:
            suspected, self._bound = self._trial
            by_chance = (suspected + self._usual) / 2 <= share <= MOST_BY_CHANCE
            if by_chance:
                self._bound = self._proven
            self._proven = self._bound
            self._usual = share if share <= MOST_BY_CHANCE else 0.0
            self._trial, self._step = None, 1
        elif self._round.refused > self._tolerated(self._round.ended):
            self._fall(share)
        else:
            self._rise()
        self._round = _Round(self._size())

    def _rise(self) -> None:
        self._usual *= AGED  # it never rises: an overload must not become expected
        self._proven = max(self._proven, self._bound)
        if not self._round.slow:
            self._bound = min(self._most, self._bound + min(self._step, self._bound))
            self._step *= 2
        self._starting = self._starting and self._bound < self._most and not self._round.slow

    def _fall(self, share: float) -> None:
        self._starting = False
        borne = self._bound * (1 - share) / (1 - self._usual)
        self._bound = max(1, math.ceil(borne - 0.5))
        # If (nearly) all calls were refused, the level is unknown: return to it in long steps.
        out = share >= ENOUGH
        self._step = 2 if out else 1
        if not out and self._proven - self._bound >= max(2, FALL * self._proven):
            self._trial = share, self._bound
            self._bound = max(1, int(MARGIN * self._bound))

    def _size(self) -> int:
        """Number of calls in the next round."""
        if self._trial:
            enough = min(LONGEST_ROUND, math.ceil(EXPECTED / self._trial[0]))
            return max(self._bound, ROUND, enough)
        return self._bound if self._step > 1 else max(self._bound, ROUND)

    def _tolerated(self, calls: int) -> float:
        """Number of refusals that chance explains: mean plus two standard deviations."""
        if self._starting:
            return calls * EARLY
        usual = min(self._trial[0], MOST_BY_CHANCE) if self._trial else self._usual
        return calls * usual + 2 * math.sqrt(calls * usual * (1 - usual))


def _now() -> float:
    return asyncio.get_running_loop().time()


class StopSignal:
    """Why requests stopped: ``reason`` is None while they continue.

    ``limit``: the concurrency limit whose queue is released on a stop.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.limit: AdaptiveLimit | None = None
        self._stopped = asyncio.Event()

    def stop(self, reason: str) -> str:
        """Stop all requests; returns the reason, which is the first one if there are several."""
        self.reason = self.reason or reason
        self._stopped.set()
        if self.limit is not None:
            self.limit.release()
        return self.reason

    async def pause(self, seconds: float) -> None:
        """Wait, but no longer than until all requests are stopped."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

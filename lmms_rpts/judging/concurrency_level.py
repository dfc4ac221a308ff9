"""Estimate of the concurrency that a server takes, from the calls that it throttles."""

from __future__ import annotations

import math
from dataclasses import dataclass

ROUND, LONGEST_ROUND = 20, 100
"""Calls that are looked at together: at least, and to find out whether refusals are chance."""
ENOUGH = 0.95
"""Share of a round that must have ended; a call that hangs holds nothing up."""
EXPECTED = 5
"""Refusals to be expected in a trial if they are chance."""
FALL = 0.15
"""Share of what was borne whose loss calls for a trial."""
MARGIN = 0.9
"""What a trial allows of what was answered: surely no more than the server bears."""
MOST_BY_CHANCE = 0.5
"""A server that refuses more than this is overloaded, however few calls are under way."""
AGED = 0.98
"""What is left of a measured share after each round, so that it is measured again some time."""


@dataclass(slots=True)
class _Round:
    """The first ``size`` calls under one bound, and ``surplus``: refusals among all of them."""

    size: int
    begun: int = 0
    ended: int = 0
    refused: int = 0
    surplus: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A call under way: in which round it began, whether it counts there, whether no other may."""

    round: _Round
    counted: bool
    alone: bool


class Level:
    """The bound itself: a pure count of calls, without a clock.

    A refusal takes one place at once. A round with refusals cuts the bound to the calls that were
    answered, as TCP Westwood cuts its window to what was delivered (Mascolo et al., 2001); rounds
    without raise it by 1, 2, 4, ... Since a server may refuse calls at random, a fall is put to
    the test, as PCC does (Dong et al., 2015: what a rate achieves is measured, a loss alone says
    nothing): for one round somewhat fewer calls are made than were answered. If the refusals stop,
    the server was overloaded. If they go on, they are chance: the old bound comes back, and their
    share is from then on expected in every round.
    """

    def __init__(self, most: int) -> None:
        self._most = self._bound = self._proven = self._answered = most
        self._usual = self._measured = 0.0  # share of refusals that is chance
        self._step = 1
        self._suspected: float | None = None  # share of refusals in a fall that is put to the test
        self._fallen = [0, 0]  # refusals and calls since the bound was at its height
        self.round = _Round(max(most, ROUND))

    @property
    def allowed(self) -> int:
        """How many calls may be under way now."""
        surplus = self.round.surplus - int(self._tolerated(self.round.size))
        return max(1, self._bound - max(0, surplus))

    def begin(self) -> Place:
        """A call begins."""
        counted = self.round.begun < self.round.size
        self.round.begun += counted
        return Place(self.round, counted, self.allowed == 1)

    def withdraw(self, place: Place) -> None:
        """The call is not made after all."""
        place.round.begun -= place.counted

    def refuse(self, place: Place) -> None:
        """The server refuses a call, which is yet to end."""
        place.round.surplus += 1
        place.round.refused += place.counted

    def end(self, place: Place) -> None:
        """A call ends, however it went."""
        place.round.ended += place.counted
        if place.round is self.round and self.round.ended >= ENOUGH * self.round.size:
            share = self.round.refused / self.round.ended
            if self._suspected is not None:
                self._conclude(share, self._suspected)
            elif self.round.refused > self._tolerated(self.round.ended):
                self._fall(share)
            else:
                self._rise(share)
            self.round = _Round(self._size())

    def _size(self) -> int:
        if self._suspected:
            enough = min(LONGEST_ROUND, math.ceil(EXPECTED / self._suspected))
            return max(self._bound, ROUND, enough)
        return self._bound if self._step > 1 else max(self._bound, ROUND)

    def _tolerated(self, calls: int) -> float:
        """Refusals that chance explains: their mean and two standard deviations."""
        usual = self._usual if self._suspected is None else min(self._suspected, MOST_BY_CHANCE)
        return calls * usual + 2 * math.sqrt(calls * usual * (1 - usual))

    def _rise(self, share: float) -> None:
        # Never above what was measured with few calls: an overload must not become usual.
        self._measured *= AGED
        self._usual = min(self._measured, self._usual + (share - self._usual) / 8)
        if self._bound >= self._proven:
            self._proven, self._fallen = self._bound, [0, 0]
        self._bound = min(self._most, self._bound + self._step)
        self._step *= 2

    def _fall(self, share: float) -> None:
        self._fallen[0] += self.round.refused
        self._fallen[1] += self.round.ended
        borne = self._bound * (1 - share) / (1 - self._usual)
        self._bound = self._answered = max(1, math.ceil(borne - 0.5))
        # Where (nearly) all was refused, nothing is known of the level: back there with long steps.
        out = share >= ENOUGH
        self._step = 2 if out else 1
        if not out and self._proven - self._bound >= max(2, FALL * self._proven):
            self._suspected = self._fallen[0] / self._fallen[1]
            self._bound = max(1, int(MARGIN * self._bound))

    def _conclude(self, share: float, suspected: float) -> None:
        if not (suspected + self._usual) / 2 <= share <= MOST_BY_CHANCE:
            self._proven = self._answered
        self._bound = self._proven
        self._usual = self._measured = share if share <= MOST_BY_CHANCE else 0.0
        self._suspected, self._step, self._fallen = None, 1, [0, 0]

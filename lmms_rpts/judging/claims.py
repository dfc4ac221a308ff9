"""Claims in the cache: of several processes with the same question, one asks and others wait."""

from __future__ import annotations

import asyncio

from lmms_rpts.judging.cache import CLAIMED_FOR, AnswerCache
from lmms_rpts.judging.concurrency import NotCalledError
from lmms_rpts.judging.stop_signal import StopSignal
from lmms_rpts.judging.types import JudgeRequest, Usage

FIRST_LOOK, LONGEST_LOOK = 0.02, 0.5
"""Seconds between checks for another process's reply."""

RENEWALS = 40
"""Maximum number of renewals, so that no process waits for hours for a throttled one."""


class ElsewhereError(NotCalledError):
    """Raised if another process is asking this question, or has just answered it."""


class Claim:
    """The right to ask one question; a context manager that releases it at the end.

    Belongs to one event loop.
    """

    def __init__(self, cache: AnswerCache, key: str) -> None:
        self._cache, self._key = cache, key
        self._known: str | None = None
        self._held = False
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *raised: object) -> None:
        self._give_up()

    def find(self) -> str | None:
        """The cached reply."""
        self._known = self._cache.find(self._key)
        return self._known

    def take(self) -> None:
        """Claim the question directly before it is asked; no effect if it is claimed already.

        Raises:
            ElsewhereError: if another process is asking it or has answered it.
        """
        if self._held:
            return
        if not self._cache.claim(self._key):
            raise ElsewhereError
        self._held = True
        # A claim ends with the reply: check for one that arrived after ``find``.
        if self._cache.find(self._key) != self._known:
            self._give_up()
            raise ElsewhereError
        self._renew_later(RENEWALS)

    def store(self, judge: str, request: JudgeRequest, reply: str, usage: Usage | None) -> None:
        """Write the reply."""
        self._cache.store(self._key, judge, request, reply, usage)
        self._stop()

    async def wait(self, stop_signal: StopSignal) -> None:
        """Wait until another process has answered, no process asks any more, or the run stops."""
        pause = FIRST_LOOK
        while not stop_signal.reason:
            await stop_signal.pause(pause)
            if self._cache.find(self._key) != self._known or not self._cache.is_claimed(self._key):
                return
            pause = min(LONGEST_LOOK, 1.5 * pause)

    def _give_up(self) -> None:
        if self._held:
            self._stop()
            self._cache.release(self._key)

    def _stop(self) -> None:
        self._held = False
        if self._timer is not None:
            self._timer.cancel()

    def _renew_later(self, left: int) -> None:
        if left > 0:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(CLAIMED_FOR / 4, self._renew, left)

    def _renew(self, left: int) -> None:
        self._cache.renew(self._key)
        self._renew_later(left - 1)

"""Signal that stops all requests of an engine."""

from __future__ import annotations

import asyncio
import contextlib

from lmms_rpts.judging.concurrency import AdaptiveLimit


class StopSignal:
    """The reason why no more requests are made: ``reason`` is None while they are.

    ``limits``: the limits whose queues are released then.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.limits: list[AdaptiveLimit] = []
        self._stopped = asyncio.Event()

    def stop(self, reason: str) -> str:
        """Stop all requests, for the first of several reasons; returns that reason."""
        self.reason = self.reason or reason
        self._stopped.set()
        for limit in self.limits:
            limit.release()
        return self.reason

    async def pause(self, seconds: float) -> None:
        """Wait, but only until all requests are stopped."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

"""Signal that stops all requests of an engine."""

from __future__ import annotations

import asyncio
import contextlib

from lmms_rpts.judging.concurrency import AdaptiveLimit


class StopSignal:
    """Why requests stopped: ``reason`` is None while they continue.

    ``limits``: the concurrency limits whose queues are released on a stop.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.limits: list[AdaptiveLimit] = []
        self._stopped = asyncio.Event()

    def stop(self, reason: str) -> str:
        """Stop all requests; returns the reason, which is the first one if there are several."""
        self.reason = self.reason or reason
        self._stopped.set()
        for limit in self.limits:
            limit.release()
        return self.reason

    async def pause(self, seconds: float) -> None:
        """Wait, but no longer than until all requests are stopped."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

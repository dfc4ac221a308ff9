"""Signal that stops all requests of an engine."""

from __future__ import annotations

import asyncio
import contextlib

from lmms_rpts.judging.concurrency import AdaptiveLimit


class StopSignal:
    """Why nobody is asked any more: ``reason`` is None as long as they are.

    ``limits``: those whose queues are to be let through then.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.limits: list[AdaptiveLimit] = []
        self._stopped = asyncio.Event()

    def stop(self, reason: str) -> str:
        """Stop all asking, for the first of several reasons; that reason."""
        self.reason = self.reason or reason
        self._stopped.set()
        for limit in self.limits:
            limit.release()
        return self.reason

    async def pause(self, seconds: float) -> None:
        """Wait; not any longer once all is stopped."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

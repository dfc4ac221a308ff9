"""The work of a run: units of work in order, with a progress bar, and the loop that runs it."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, repeat
from typing import Any, TypeVar

from tqdm import tqdm

from lmms_rpts.judging.client import Client, unit

T = TypeVar("T")

# Number of units of work under way, as a multiple of the concurrent calls.
WINDOW = 4


async def ordered(
    work: Iterable[Coroutine[Any, Any, T]],
    client: Client,
    *,
    total: int,
    label: str,
    unit_name: str = "responses",
    shown: bool = True,
) -> AsyncIterator[T]:
    """The results of ``work``, in order, with a progress bar of what ``client`` does.

    It is consumed lazily: a bounded number of units is under way. When one raises an error, or
    the caller leaves, the others are cancelled.
    """
    window: deque[asyncio.Task[T]] = deque()
    pause = 0.2 if sys.stderr and sys.stderr.isatty() else 30.0  # in a log file
    how: dict[str, Any] = {"desc": label, "unit": f" {unit_name}", "dynamic_ncols": True}
    hidden = not shown or sys.stderr is None
    bar: Any = tqdm(total=total, disable=hidden, mininterval=pause, **how)
    try:
        for number, coroutine in enumerate(chain(work, repeat(None))):
            if coroutine is not None:
                unit.set(number)
                window.append(asyncio.ensure_future(coroutine))
                if len(window) < WINDOW * client.concurrency:
                    continue
            elif not window:
                return
            result = await window[0]
            window.popleft()
            cost = {"cost": client.budget.cost} if client.budget.cost else {}
            bar.set_postfix({**client.outcomes, **cost}, refresh=False)
            bar.update()
            yield result
    finally:
        for task in window:
            task.cancel()
        await asyncio.gather(*window, return_exceptions=True)
        bar.close()


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine; in a thread of its own if a loop runs already (a notebook)."""
    loop = None
    with suppress(RuntimeError):
        loop = asyncio.get_running_loop()
    if loop is None:
        return asyncio.run(coroutine)
    tasks: list[asyncio.Task[Any] | None] = []

    async def work() -> T:
        tasks.append(asyncio.current_task())
        return await coroutine

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, work())
        try:
            return future.result()
        except KeyboardInterrupt:
            for task in tasks:
                if task is not None and not future.done():
                    task.get_loop().call_soon_threadsafe(task.cancel)
            raise

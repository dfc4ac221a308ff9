"""Engine that runs many judge requests or conversations concurrently, from any thread."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from loguru import logger

from lmms_rpts.base.settings import Price
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.cache import open_cache
from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.concurrency import StopSignal
from lmms_rpts.judging.progress import NO_BOARD, Board, Progress
from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.judging.types import Judge, JudgeRequest, Verdict

T = TypeVar("T")

Dialogue = Generator[JudgeRequest, Verdict, T]
"""A conversation with a judge as a pure generator: it yields requests, receives their verdicts and
returns its result. The engine runs many conversations concurrently."""

# Number of different step requests with equal scores from which on a warning is logged.
ONE_SCORE = 30


class JudgeEngine:
    """Runs requests against one judge; use it as a context manager.

    All methods are synchronous and may be called from any thread, even while an event loop runs:
    the calls are made in a separate loop, in a thread of the engine.

    Args:
        judge: what answers.
        name: name of the judge, in the cache and in messages.
        price: price of its tokens.
        kept: whether its replies are cached and booked in the budget.
        sees: whether it has vision.
        budget: where calls are booked; None: a new budget without limits.

    The others are those of ``open_engine``.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        name: str = "",
        price: Price | None = None,
        kept: bool = True,
        sees: bool = True,
        concurrency: int = 32,
        progress: bool = True,
        cache_dir: Path | None = None,
        budget: Budget | None = None,
        board: Board = NO_BOARD,
    ) -> None:
        self.name = name
        self.budget = budget or Budget()
        self._progress = progress
        self._board = board
        self.judge = judge
        self._stop_signal = StopSignal()
        self._cache = open_cache(cache_dir) if cache_dir and kept else None
        self._client = JudgeClient(
            judge,
            *(concurrency, self.budget, self._stop_signal, self._cache),
            name=name,
            price=price,
            kept=kept,
            sees=sees,
        )
        self._scores: Counter[float] = Counter()  # of different step requests
        self._loop = asyncio.new_event_loop()
        self._gate = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        # Libraries such as torch create some hundred thousand objects; traversing them in garbage
        # collection stops all calls for a tenth of a second each time. What others froze stays so.
        self._froze = not gc.get_freeze_count()
        if self._froze:
            gc.freeze()

    @property
    def fatal(self) -> str | None:
        """Why requests stopped; None while they continue."""
        return self._stop_signal.reason or getattr(self.judge, "waiting", None)

    def __enter__(self) -> JudgeEngine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all requests, the engine's thread and the judge's connections, permanently."""
        with self._gate:
            first, self._closing = not self._closing, True
        if first:
            if self._froze:
                gc.unfreeze()
            try:
                asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result()
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()

    def run(self, requests: Sequence[JudgeRequest], label: str = "Judging") -> list[Verdict]:
        """The verdicts on ``requests``, in order; failures are verdicts with an error."""
        return self.converse([_single(request) for request in requests], label)

    def converse(
        self, dialogues: Sequence[Dialogue[T]], label: str = "Judging", unit: str = "requests"
    ) -> list[T]:
        """Run conversations concurrently.

        Raises:
            RuntimeError: if the engine is closed, before or during the call.
        """
        if not dialogues:
            return []
        shown = self._progress
        with Progress(len(dialogues), label, shown, self.budget, self._board, unit) as progress:
            with self._gate:  # closing ends work that was started before; none starts after it
                if self._closing:
                    raise RuntimeError("The judge engine is closed: open another one")
                work = self._converse(dialogues, progress)
                future = asyncio.run_coroutine_threadsafe(work, self._loop)
            try:
                return future.result()
            except CancelledError:
                raise RuntimeError("The judge engine was closed during a call") from None
            except BaseException:
                future.cancel()
                raise

    def warn_of_one_score(self) -> None:
        """Log a warning if the judge gave the same score to all steps so far."""
        (score, number), *others = self._scores.most_common(2) or [(0.0, 0)]
        if number < ONE_SCORE or others:
            return
        logger.warning(
            "The judge {} gave all {} different steps the same score, {:g}: measure whether it "
            "tells sound steps from wrong ones with 'lmms-rpts validate'",
            self.name,
            number,
            score,
        )

    async def _shut_down(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._cache is not None:
            self._cache.close()
        aclose = getattr(self.judge, "aclose", None)
        if aclose is not None:
            # A connection that does not close must not cost any replies.
            with suppress(Exception):
                await asyncio.wait_for(aclose(), 10.0)

    async def _converse(self, dialogues: Sequence[Dialogue[T]], progress: Progress) -> list[T]:
        tasks: list[asyncio.Task[T]] = []
        try:
            for dialogue in dialogues:
                tasks.append(asyncio.ensure_future(self._run_dialogue(dialogue, progress)))
                if len(tasks) % 4 == 0:
                    # The first questions are sent while the others are being written.
                    await asyncio.sleep(0)
            return list(await asyncio.gather(*tasks))
        except BaseException:
            # The other replies are no longer needed: do not pay for them.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _run_dialogue(self, dialogue: Dialogue[T], progress: Progress) -> T:
        verdicts: list[Verdict] = []
        try:
            request = next(dialogue)
            while True:
                # Conversations in progress have priority: instances end one by one, so an
                # interrupted run contains complete ones.
                try:
                    verdict = await self._client.ask(request, urgency=len(verdicts))
                except Exception as error:  # the conversation handles it and may continue
                    request = dialogue.throw(error)
                    continue
                verdict = replace(verdict, request=request)
                verdicts.append(verdict)
                if request.kind in SCORED and isinstance(verdict.value, float):
                    self._scores[verdict.value] += not verdict.identical
                request = dialogue.send(verdict)
        except StopIteration as end:
            result: T = end.value
            progress.done(verdicts)
            return result


def _single(request: JudgeRequest) -> Dialogue[Verdict]:
    verdict = yield request
    return verdict

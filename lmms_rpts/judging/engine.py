"""Engine that runs many judge requests or conversations concurrently, from any thread."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import Coroutine, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from loguru import logger

from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.concurrency import StopSignal
from lmms_rpts.judging.ensemble import Ensemble
from lmms_rpts.judging.progress import NO_BOARD, Board, Progress
from lmms_rpts.judging.request_kinds import STEPS
from lmms_rpts.judging.types import Judge, JudgeRequest, Member, Verdict
from lmms_rpts.settings import Jury

T = TypeVar("T")

Dialogue = Generator[JudgeRequest, Verdict, T]
"""A conversation with a judge as a pure generator: it yields requests, receives their verdicts and
returns its result. The engine runs many conversations concurrently."""

ONE_SCORE = 30
"""Number of different step requests with equal scores from which on a warning is logged."""


class JudgeEngine:
    """Runs requests against one judge or several; use it as a context manager.

    All methods are synchronous and may be called from any thread, even while an event loop runs:
    the calls are made in a separate loop, in a thread of the engine.

    Args:
        judges: one judge, or several whose scores are joined.
        name: name of all judges together, for messages.
        samples: replies per question and judge.
        jury: how the scores of several judges or samples are joined.
        budget: where calls are booked; None: a new budget without limits.

    The others are those of ``open_engine``.
    """

    def __init__(
        self,
        judges: Judge | Sequence[Member],
        *,
        name: str = "",
        concurrency: int = 32,
        progress: bool = True,
        samples: int = 1,
        jury: Jury = "mean",
        cache_dir: Path | None = None,
        budget: Budget | None = None,
        board: Board = NO_BOARD,
    ) -> None:
        members = judges if isinstance(judges, Sequence) else [Member(name, judges)]
        self.name = name
        self.budget = budget or Budget()
        self._judges = [member.judge for member in members]
        self._progress = progress
        self._board = board
        self._stop_signal = StopSignal()
        self._cache = AnswerCache(cache_dir) if cache_dir is not None else None
        clients = [
            JudgeClient(member, concurrency, self.budget, self._stop_signal, self._cache)
            for member in members
        ]
        self._ensemble = Ensemble(clients, samples, jury)
        self._scores: Counter[float] = Counter()  # of different step requests
        self._loop = asyncio.new_event_loop()
        self._gate = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._turn, daemon=True)
        self._thread.start()

    @property
    def fatal(self) -> str | None:
        """Why requests stopped; None while they continue."""
        return self._stop_signal.reason

    def __enter__(self) -> JudgeEngine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all requests, the engine's thread and the judges' connections, permanently."""
        with self._gate:
            first, self._closing = not self._closing, True
        if not first or not self._thread.is_alive():  # by another thread, or before a fork
            if threading.current_thread() is not self._thread:
                self._thread.join()
            return
        try:
            self._result(asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop))
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

        Args:
            dialogues: generators that were not started yet.
            label: text of the progress bar.
            unit: what a conversation is about, in the plural; the bar counts these.

        Returns:
            Their results, in order.

        Raises:
            RuntimeError: if the engine is closed, before or during the call.
        """
        if not dialogues:
            return []
        shown = self._progress
        with (
            _uncollected(),
            Progress(len(dialogues), label, shown, self.budget, self._board, unit) as progress,
        ):
            try:
                return self._wait(self._converse(dialogues, progress))
            except CancelledError:
                raise RuntimeError("The judge engine was closed during a call") from None

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

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        fault = None
        with self._gate:  # closing ends work that was started before; none starts after it
            if self._closing:
                fault = "The judge engine is closed: open another one"
            elif threading.current_thread() is self._thread:
                fault = "A conversation must yield requests instead of calling its own judge engine"
            elif not self._thread.is_alive():
                fault = "The judge engine was opened before a fork: open another one"
            else:
                future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        if fault:
            work.close()
            raise RuntimeError(fault)
        return self._result(future)

    @staticmethod
    def _result(future: Future[T]) -> T:
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _turn(self) -> None:
        """Run the loop until it is stopped, even if a judge tries to end the process."""
        while True:
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                continue  # asyncio raises it both here and where the task is awaited
            return

    async def _shut_down(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._cache is not None:
            self._cache.close()
        for judge in self._judges:
            aclose = getattr(judge, "aclose", None)
            if aclose is not None:
                # A connection that does not close must not cost any replies.
                with suppress(Exception):
                    await asyncio.wait_for(aclose(), 10.0)

    async def _converse(self, dialogues: Sequence[Dialogue[T]], progress: Progress) -> list[T]:
        tasks: list[asyncio.Task[T]] = []
        try:
            for dialogue in dialogues:
                tasks.append(asyncio.ensure_future(self._hold(dialogue, progress)))
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

    async def _hold(self, dialogue: Dialogue[T], progress: Progress) -> T:
        verdicts: list[Verdict] = []
        try:
            request = next(dialogue)
            while True:
                # Conversations in progress have priority: instances end one by one, so an
                # interrupted run contains complete ones.
                try:
                    verdict = await self._ensemble.ask(request, urgency=len(verdicts))
                except Exception as error:  # the conversation handles it and may continue
                    request = dialogue.throw(error)
                    continue
                verdicts.append(verdict)
                if request.kind in STEPS and isinstance(verdict.value, float):
                    self._scores[verdict.value] += not verdict.identical
                request = dialogue.send(verdict)
        except StopIteration as end:
            result: T = end.value
            progress.done(verdicts)
            return result


@contextmanager
def _uncollected() -> Iterator[None]:
    """Exclude existing objects from garbage collection.

    Libraries such as torch create some hundred thousand objects; traversing them stops all calls
    for a tenth of a second each time.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _single(request: JudgeRequest) -> Dialogue[Verdict]:
    verdict = yield request
    return verdict

"""Engine that runs many requests or conversations with judges, from any thread."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Coroutine, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.ensemble import Ensemble
from lmms_rpts.judging.progress import NO_BOARD, Board, Progress
from lmms_rpts.judging.stop_signal import StopSignal
from lmms_rpts.judging.types import Judge, JudgeRequest, Member, Verdict

T = TypeVar("T")

Dialogue = Generator[JudgeRequest, Verdict, T]
"""A conversation with a judge as a pure generator: it yields requests, is sent their verdicts
and returns its result. The engine runs many at a time."""

_GOODBYE = 10.0
"""Seconds that a judge may take to close."""

_AT_ONCE = 4
"""Conversations that are begun before the calls under way are looked after."""


class JudgeEngine:
    """Runs requests against one judge or several; use it as a context manager.

    All methods are synchronous and may be called from any thread, also under a running event
    loop: the calls are made in a loop of the engine's own, in a thread of its own.
    ``self_counting``: names of judges that tell lmms-eval themselves what they use.

    Args:
        judges: one judge, or several whose mean counts.
        name: of the judges together, for messages.
        concurrency: calls at a time, to each judge.
        progress: whether to show a bar.
        samples: answers to each question for a score, of each judge.
        cache_dir: where answers are kept; None: nowhere.
        budget: where calls are booked; None: in one of its own.
        board: where the processes of a run tell each other how far they are.
    """

    def __init__(
        self,
        judges: Judge | Sequence[Member],
        *,
        name: str = "",
        concurrency: int = 32,
        progress: bool = True,
        samples: int = 1,
        cache_dir: Path | None = None,
        budget: Budget | None = None,
        board: Board = NO_BOARD,
    ) -> None:
        members = judges if isinstance(judges, Sequence) else [Member(name, judges)]
        self.name = name
        self.budget = budget or Budget()
        self.self_counting = frozenset(
            member.name for member in members if getattr(member.judge, "logs_usage", False)
        )
        self._judges = [member.judge for member in members]
        self._progress = progress
        self._board = board
        self._stop_signal = StopSignal()
        self._cache = AnswerCache(cache_dir) if cache_dir is not None else None
        clients = [
            JudgeClient(member, concurrency, self.budget, self._stop_signal, self._cache)
            for member in members
        ]
        self._ensemble = Ensemble(clients, samples)
        self._loop = asyncio.new_event_loop()
        self._gate = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._turn, daemon=True)
        self._thread.start()

    @property
    def fatal(self) -> str | None:
        """Why nothing is asked any more; None as long as it is."""
        return self._stop_signal.reason

    def __enter__(self) -> JudgeEngine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop asking, end the engine's thread and the judge's connections; for good."""
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
        """The verdicts of ``requests``, in their order; failures are verdicts with an error."""
        return self.converse([_single(request) for request in requests], label)

    def converse(
        self, dialogues: Sequence[Dialogue[T]], label: str = "Judging", unit: str = "requests"
    ) -> list[T]:
        """Run conversations side by side; their results, in order.

        Args:
            dialogues: generators that were not started yet.
            label: what the progress bar says.
            unit: what a conversation is about, in the plural: the bar counts these.

        Raises:
            RuntimeError: if the engine was closed, before or meanwhile.
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
                raise RuntimeError("the judge engine was closed while it was asked") from None

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        fault = None
        with self._gate:  # what is begun before the closing is ended by it; nothing is begun after
            if self._closing:
                fault = "the judge engine is closed; open another one"
            elif threading.current_thread() is self._thread:
                fault = "a conversation asks its own judge engine by yielding only"
            elif not self._thread.is_alive():
                fault = "the judge engine was opened before a fork; open another one"
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
        """Run the loop until it is stopped, also where a judge wants to end the process."""
        while True:
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                continue  # asyncio raises it here as well as to who waits for the task
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
                # What was answered must not be lost for a connection that doesn't close.
                with suppress(Exception):
                    await asyncio.wait_for(aclose(), _GOODBYE)

    async def _converse(self, dialogues: Sequence[Dialogue[T]], progress: Progress) -> list[T]:
        tasks: list[asyncio.Task[T]] = []
        try:
            for dialogue in dialogues:
                tasks.append(asyncio.ensure_future(self._hold(dialogue, progress)))
                if len(tasks) % _AT_ONCE == 0:
                    # The first questions go out while the others are being written.
                    await asyncio.sleep(0)
            return list(await asyncio.gather(*tasks))
        except BaseException:
            # Nobody wants the other answers any more: don't go on paying for them.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _hold(self, dialogue: Dialogue[T], progress: Progress) -> T:
        verdicts: list[Verdict] = []
        try:
            request = next(dialogue)
            while True:
                # Who has begun goes first: instances end one by one, and an interrupted run
                # holds whole ones.
                try:
                    verdict = await self._ensemble.ask(request, urgency=len(verdicts))
                except Exception as error:  # the conversation's own matter: it may go on without
                    request = dialogue.throw(error)
                    continue
                verdicts.append(verdict)
                request = dialogue.send(verdict)
        except StopIteration as end:
            result: T = end.value
            progress.done(verdicts)
            return result


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave what was there before out of garbage collections.

    torch and its like leave some hundred thousand objects; walking through them stops all calls
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

"""Asking a judge many things at once: bounded, retried, each question only once."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Coroutine, Generator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, TypeVar

from tqdm import tqdm

from lmms_rpts.judging.scores import parse_score
from lmms_rpts.judging.types import (
    SCORED,
    FatalJudgeError,
    Judge,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
)

T = TypeVar("T")

Dialogue = Generator[JudgeRequest, Verdict, T]
"""A conversation with a judge as a pure generator: it yields requests, is sent their verdicts
and returns its result. The engine runs many at a time."""

CALLS = 5
"""Calls for one request, as long as they fail in ways that may pass."""

ASKED_AGAIN = 2
"""How often a request is asked again whose reply can't be read."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
UNREACHABLE = 20
"""Requests in a row that find no server, after which the judge is given up."""


@dataclass
class _Pending:
    """A request that is being answered, and how many wait for it."""

    task: asyncio.Task[Verdict]
    waiting: int = 0


class JudgeEngine:
    """Runs requests against one judge; use it as a context manager.

    All methods are synchronous and may be called from any thread, also under a running event
    loop: the calls are made in a loop of the engine's own, in a thread of its own.
    """

    def __init__(
        self, judge: Judge, *, name: str = "", concurrency: int = 32, progress: bool = True
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}")
        self.name = name
        self.fatal: str | None = None
        self._judge = judge
        self._progress = progress
        self._slots = asyncio.Semaphore(concurrency)
        self._answers: dict[str, _Pending] = {}
        self._unreachable = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> JudgeEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop asking, end the engine's thread and the judge's connections; for good."""
        if self._loop.is_closed():
            return
        try:
            self._wait(self._shut_down())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def run(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """The verdicts of ``requests``, in their order; failures are verdicts with an error."""
        return self.converse([_single(request) for request in requests])

    def converse(self, dialogues: Sequence[Dialogue[T]], label: str = "Judging") -> list[T]:
        """Run conversations side by side; their results, in order.

        Args:
            dialogues: generators that were not started yet.
            label: what the progress bar says.

        Raises:
            RuntimeError: if the engine was closed, before or meanwhile.
        """
        if not dialogues:
            return []
        with tqdm(total=len(dialogues), desc=label, disable=not self._progress) as bar:
            try:
                return self._wait(self._converse(dialogues, bar))
            except CancelledError:
                raise RuntimeError("the judge engine was closed while it was asked") from None

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the judge engine is closed; open another one")
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _shut_down(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        aclose = getattr(self._judge, "aclose", None)
        if aclose is not None:
            await aclose()

    async def _converse(self, dialogues: Sequence[Dialogue[T]], bar: tqdm[Any]) -> list[T]:
        counts: Counter[str] = Counter()

        async def hold(dialogue: Dialogue[T]) -> T:
            result = await self._hold(dialogue, counts)
            bar.set_postfix(counts, refresh=False)
            bar.update()
            return result

        tasks = [asyncio.ensure_future(hold(dialogue)) for dialogue in dialogues]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            # Nobody wants the other answers any more: don't go on paying for them.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _hold(self, dialogue: Dialogue[T], counts: Counter[str]) -> T:
        try:
            request = next(dialogue)
            while True:
                verdict = await self._ask(request)
                counts["failed" if verdict.error else "cached" if verdict.cached else "asked"] += 1
                request = dialogue.send(verdict)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _ask(self, request: JudgeRequest) -> Verdict:
        key = request.key
        pending = self._answers.get(key)
        known = pending is not None
        if pending is None:
            pending = _Pending(asyncio.ensure_future(self._answer(request)))
            self._answers[key] = pending
        pending.waiting += 1
        try:
            verdict = await asyncio.shield(pending.task)
        except asyncio.CancelledError:
            if pending.waiting == 1:
                pending.task.cancel()
                self._answers.pop(key, None)
            raise
        finally:
            pending.waiting -= 1
        if verdict.error:
            self._answers.pop(key, None)
        return replace(verdict, cached=True, attempts=0, usage=None) if known else verdict

    async def _answer(self, request: JudgeRequest) -> Verdict:
        verdict = Verdict(None, attempts=0)
        asked = request
        for _ in range(1 + ASKED_AGAIN):
            reply, calls, error = await self._call(asked)
            attempts = verdict.attempts + calls
            if reply is None:
                return replace(verdict, attempts=attempts, error=error)
            value, fault = _read(request, reply)
            usage = _total(verdict.usage, reply.usage)
            verdict = Verdict(reply.text, value, attempts=attempts, usage=usage, error=fault)
            if value is not None:
                return verdict
            asked = request.asked_again(reply.text)
        return verdict

    async def _call(self, request: JudgeRequest) -> tuple[Reply | None, int, str | None]:
        """The reply, the number of calls, and why there is no reply."""
        last: TransientError | None = None
        for attempt in range(1, CALLS + 1):
            try:
                async with self._slots:
                    if self.fatal:
                        return None, attempt - 1, self.fatal
                    reply = await self._judge.ask(request)
                self._unreachable = 0
                return reply, attempt, None
            except TransientError as failure:
                last = failure
                if attempt < CALLS:
                    await asyncio.sleep(_pause(attempt, failure.retry_after))
            except FatalJudgeError as failure:
                self.fatal = str(failure)
                return None, attempt, self.fatal
            except RefusedError as failure:
                return None, attempt, str(failure)
            except Exception as failure:  # the boundary: one request's failure ends no run
                return None, attempt, f"{type(failure).__name__}: {failure}"
        self._note_exhausted(last)
        return None, CALLS, f"{last} (after {CALLS} calls)"

    def _note_exhausted(self, failure: TransientError | None) -> None:
        unreachable = failure is not None and failure.unreachable
        self._unreachable = self._unreachable + 1 if unreachable else 0
        if self._unreachable >= UNREACHABLE and not self.fatal:
            self.fatal = f"the judge can't be reached: {failure}"


def _read(request: JudgeRequest, reply: Reply) -> tuple[float | str | None, str | None]:
    """The value of a reply, or why it has none."""
    wanted = f"the judge's reply can't be read as {_wanted(request)}"
    if not reply.complete:
        return None, f"{wanted}: it was cut off"
    parse = request.parse or (parse_score if request.kind in SCORED else _whole)
    try:
        value = parse(reply.text)
    except Exception as failure:  # a parser's fault is this reply's, not the run's
        return None, f"{wanted}: {type(failure).__name__}: {failure}"
    return value, wanted if value is None else None


def _single(request: JudgeRequest) -> Dialogue[Verdict]:
    verdict = yield request
    return verdict


def _whole(reply: str) -> str | None:
    return reply.strip() or None


def _wanted(request: JudgeRequest) -> str:
    return {"transform": "steps", "answer": "an answer"}.get(request.kind, "a score from 0 to 1")


def _total(first: Usage | None, second: Usage | None) -> Usage | None:
    if first is None or second is None:
        return first or second
    return first + second


def _pause(attempt: int, retry_after: float | None) -> float:
    backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
    jittered = backoff * random.uniform(0.5, 1.0)
    return max(jittered, min(retry_after or 0.0, LONGEST_PAUSE))

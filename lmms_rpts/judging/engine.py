"""Asking a judge many things at once: bounded, retried, each question only once."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Coroutine, Generator, Sequence
from concurrent.futures import Future
from dataclasses import replace
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
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._answers: dict[str, asyncio.Task[Verdict]] = {}
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
        """End the engine's thread and the judge's connections; the engine can't be used again."""
        if self._loop.is_closed():
            return
        aclose = getattr(self._judge, "aclose", None)
        if aclose is not None:
            self._wait(aclose())
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
        """
        if not dialogues:
            return []
        with tqdm(total=len(dialogues), desc=label, disable=not self._progress) as bar:
            return self._wait(self._converse(dialogues, bar))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _converse(self, dialogues: Sequence[Dialogue[T]], bar: tqdm[Any]) -> list[T]:
        counts: Counter[str] = Counter()

        async def hold(dialogue: Dialogue[T]) -> T:
            result = await self._hold(dialogue, counts)
            bar.set_postfix(counts, refresh=False)
            bar.update()
            return result

        return list(await asyncio.gather(*map(hold, dialogues)))

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
        known = self._answers.get(key)
        if known is not None:
            verdict = await asyncio.shield(known)
            return replace(verdict, cached=True, attempts=0, usage=None)
        task = self._answers[key] = asyncio.ensure_future(self._answer(request))
        verdict = await asyncio.shield(task)
        if verdict.error:
            self._answers.pop(key, None)
        return verdict

    async def _answer(self, request: JudgeRequest) -> Verdict:
        parse = request.parse or (parse_score if request.kind in SCORED else _whole)
        verdict = Verdict(None, attempts=0)
        asked = request
        for _ in range(1 + ASKED_AGAIN):
            reply, calls, error = await self._call(asked)
            attempts = verdict.attempts + calls
            if reply is None:
                return replace(verdict, attempts=attempts, error=error)
            value = parse(reply.text)
            usage = _total(verdict.usage, reply.usage)
            verdict = Verdict(reply.text, value, attempts=attempts, usage=usage)
            if value is not None:
                return verdict
            asked = request.asked_again(reply.text)
        return replace(verdict, error=f"the judge's reply can't be read as {_wanted(request)}")

    async def _call(self, request: JudgeRequest) -> tuple[Reply | None, int, str | None]:
        """The reply, the number of calls, and why there is no reply."""
        error = ""
        for attempt in range(1, CALLS + 1):
            if self.fatal:
                return None, attempt - 1, self.fatal
            try:
                async with self._slots:
                    if self.fatal:
                        return None, attempt - 1, self.fatal
                    reply = await self._judge.ask(request)
                self._unreachable = 0
                return reply, attempt, None
            except TransientError as failure:
                error = str(failure)
                self._note_failure(failure)
                if attempt < CALLS:
                    await asyncio.sleep(_pause(attempt, failure.retry_after))
            except FatalJudgeError as failure:
                self.fatal = str(failure)
                return None, attempt, self.fatal
            except RefusedError as failure:
                return None, attempt, str(failure)
            except Exception as failure:  # the boundary: one request's failure ends no run
                return None, attempt, f"{type(failure).__name__}: {failure}"
        return None, CALLS, f"{error} (after {CALLS} calls)"

    def _note_failure(self, failure: TransientError) -> None:
        self._unreachable = self._unreachable + 1 if failure.unreachable else 0
        if self._unreachable >= UNREACHABLE * CALLS:
            self.fatal = f"the judge can't be reached: {failure}"


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

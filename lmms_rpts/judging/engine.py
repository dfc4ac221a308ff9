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
from statistics import fmean, median, pstdev
from typing import TypeVar

from loguru import logger

from lmms_rpts.base.settings import Jury
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.cache import open_cache
from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.concurrency import StopSignal
from lmms_rpts.judging.progress import NO_BOARD, Board, Progress
from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.judging.types import Judge, JudgeRequest, Member, Opinion, Usage, Verdict

T = TypeVar("T")

Dialogue = Generator[JudgeRequest, Verdict, T]
"""A conversation with a judge as a pure generator: it yields requests, receives their verdicts and
returns its result. The engine runs many conversations concurrently."""

# Number of different step requests with equal scores from which on a warning is logged.
ONE_SCORE = 30


class JudgeEngine:
    """Runs requests against one judge or several; use it as a context manager.

    All methods are synchronous and may be called from any thread, even while an event loop runs:
    the calls are made in a separate loop, in a thread of the engine.

    Several judges, or samples of a judge, give one score: a mean of all replies, since the mean of
    some would be a different measure, or a median of more than half of them. Texts (steps, answers)
    have no mean: the first judge that can write text writes them.

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
        self._progress = progress
        self._board = board
        self._samples = samples
        self._jury = jury
        self._stop_signal = StopSignal()
        self._cache = (
            open_cache(cache_dir) if cache_dir and any(each.kept for each in members) else None
        )
        self._clients = [
            JudgeClient(member, concurrency, self.budget, self._stop_signal, self._cache)
            for member in members
        ]
        writers = [client for client in self._clients if client.member.writes]
        self._writer = (writers or self._clients)[0]
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
        return self._stop_signal.reason

    def __enter__(self) -> JudgeEngine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all requests, the engine's thread and the judges' connections, permanently."""
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
        for client in self._clients:
            aclose = getattr(client.member.judge, "aclose", None)
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
                    verdict = await self._ask(request, urgency=len(verdicts))
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

    async def _ask(self, request: JudgeRequest, urgency: int) -> Verdict:
        """The joint verdict of all judges and samples; an error if too many give no score."""
        asked = [(client, sample) for client in self._clients for sample in range(self._samples)]
        if request.kind not in SCORED or len(asked) == 1:
            return await self._writer.ask(request, urgency)
        verdicts = await asyncio.gather(
            *(client.ask(replace(request, sample=sample), urgency) for client, sample in asked)
        )
        scores = [each.value if isinstance(each.value, float) else None for each in verdicts]
        opinions = tuple(
            Opinion(client.member.name, sample, score, each.text, each.error)
            for (client, sample), score, each in zip(asked, scores, verdicts, strict=True)
        )
        usages = [verdict.usage for verdict in verdicts if verdict.usage is not None]
        joined = Verdict(
            text=None,
            cached=all(verdict.cached for verdict in verdicts),
            identical=all(verdict.identical for verdict in verdicts),
            attempts=sum(verdict.attempts for verdict in verdicts),
            usage=sum(usages, Usage()) if usages else None,
            opinions=opinions,
        )
        found = [score for score in scores if score is not None]
        quorum = len(scores) if self._jury == "mean" else len(scores) // 2 + 1
        if len(found) >= quorum:
            value = median(found) if self._jury == "median" else fmean(found)
            return replace(joined, value=value, spread=pstdev(found))
        failed = next(opinion for opinion in opinions if opinion.score is None)
        # An error that stopped all of them already names its judge.
        common = len({opinion.error for opinion in opinions}) == 1
        who = "" if common else f"{failed.judge}: "
        missing = f"{len(scores) - len(found)} of {len(scores)} replies have no score"
        return replace(joined, error=f"{missing}; {who}{failed.error}")


def _single(request: JudgeRequest) -> Dialogue[Verdict]:
    verdict = yield request
    return verdict

"""Client of one judge: cache, budget, limit, call, retries, value.

A request joins an equal one that is under way. Else its reply is looked up in the cache; if there
is none, the request waits for a slot, the call is counted in the budget and made, and its reply is
stored before it is read. If a reply cannot be read, the request is repeated in another form.
``Client._after`` alone decides what follows a failed call.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter, defaultdict
from contextlib import aclosing, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from loguru import logger

from lmms_rpts.base.escaping import shorten, storable
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.budget import Budget, BudgetError
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.limit import LONGEST_PATIENCE, Limit, now
from lmms_rpts.judging.parsers import read_reply
from lmms_rpts.judging.registry import find_judge, open_budget
from lmms_rpts.judging.request_kinds import KINDS, SCORED
from lmms_rpts.judging.types import (
    Backend,
    FatalJudgeError,
    Judge,
    NotAskedError,
    RefusedError,
    Reply,
    Request,
    TransientError,
    Verdict,
)

T = TypeVar("T")

# Maximum number of calls for one request that fail while others are answered; of those that are
# told to come later.
MOST_CALLS, MOST_LATER = 5, 20
# Number of retries of a request whose reply cannot be parsed.
ASKED_AGAIN = 2
# Seconds between the calls of one request, and of all requests while none is answered.
FIRST_PAUSE, LONGEST_PAUSE, LONGEST_HOLD = 0.5, 30.0, 5.0
# Seconds without any answer after which judging ends, and the longest Retry-After that is kept.
PATIENCE = 300.0
# Number of calls and requests in vain, before any success, that end judging; and of failed calls
# in a row after which the server is considered to be out of order.
IN_VAIN = 20
# Number of different steps with equal scores from which on a warning is logged.
ONE_SCORE = 30
SAME = (
    "The judge {} gave all {} different steps the same score, {:g}: measure whether it tells sound "
    "steps from wrong ones with 'lmms-rpts validate'"
)
SLOW = (
    "The judge {} is slow: a call exceeded the time limit of {:g} s, with {} calls at a time. More "
    "time is given, and fewer calls are made at a time. If this goes on, set LMMS_RPTS_CONCURRENCY "
    "(now {}) to what the server processes at a time, or raise LMMS_RPTS_TIMEOUT"
)
SILENT = "The judge {} answers no call ({}): waiting up to {:.0f} s"

unit: ContextVar[int] = ContextVar("unit", default=0)
"""The number of the unit of work that a request belongs to: earlier ones come first, so that an
interrupted run has complete ones."""


class Client:
    """Asks one judge, in one event loop.

    Attributes:
        stopped: why judging ended before its end; None: it did not.
        concurrency: the number of calls under way at a time.
        outcomes: the number of verdicts that were asked for, cached, or failed.
    """

    def __init__(
        self,
        name: str,
        judge: Judge,
        backend: Backend,
        settings: Settings,
        budget: Budget | None = None,
        sees: bool = False,
    ) -> None:
        self.name, self.judge, self.sees = name, judge, sees
        self.writes, self.comparable = backend.writes, backend.comparable
        self.budget = budget or open_budget(settings)
        self.concurrency = settings.concurrency
        self.stopped: str | None = None
        self._settings, self._kept = settings, backend.kept
        self.outcomes: Counter[str] = Counter()
        self._scores: Counter[float] = Counter()  # of different steps
        if not self._kept:
            return
        from lmms_rpts.judging.cache import open_cache

        self._identity = {"judge": name, **getattr(judge, "identity", {})}
        self._cache = open_cache(settings.cache)
        self._time_limit: float = getattr(judge, "time_limit", math.inf)
        self._limit = Limit(settings.concurrency, self._time_limit)
        # A call that took too long is repeated once with twice the time.
        twice = 2.5 * self._time_limit if self._time_limit < math.inf else 0.0
        self._patience = max(PATIENCE, twice)
        self._under_way: dict[str, asyncio.Task[Verdict]] = {}
        self._first: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._decoding = asyncio.Semaphore(2)
        self._ended = asyncio.Event()
        # Failures before the first success, without and with images; None after it.
        self._failures: dict[bool, int | None] = {False: 0, True: 0}
        # Failed calls since the last answer, and when the first of them began
        self._in_vain, self._failing_since, self._held_until = 0, -1.0, -1.0
        self._warned = False

    async def aclose(self) -> None:
        """Close the judge and the cache; warn of what is odd about all scores."""
        if self._kept:
            self._cache.close()
        if aclose := getattr(self.judge, "aclose", None):
            # A connection that does not close must not cost any replies.
            with suppress(Exception):
                await asyncio.wait_for(aclose(), 10.0)
        if len(self._scores) == 1 and (number := self._scores.total()) >= ONE_SCORE:
            logger.warning(SAME, self.name, number, *self._scores)

    async def ask(self, request: Request) -> Verdict:
        """The verdict on a request; equal requests share one call."""
        if not self._kept:
            try:
                reply = await self.judge.ask(request)
            except RefusedError as error:
                return self._told(request, str(error))
            return self._told(request, None, value=reply.value, reply=reply.text)
        if request.images and not self.sees:
            return self._told(request, f"{self.name} does not support images")
        if not self._settings.judge_reason and KINDS[request.kind].has_verdict:
            request = replace(request, reasoned=False)
        try:
            if request.images:  # decoding must delay neither running calls nor the next one
                async with self._decoding:
                    key = await asyncio.to_thread(request.key, self._identity)
            else:
                key = request.key(self._identity)
        except ImageError as error:
            return self._told(request, str(error))
        if key in self._under_way:
            return (await self._under_way[key]).model_copy(update={"cached": True})
        task = self._under_way[key] = asyncio.ensure_future(self._verdict(request, key))
        try:
            return await task
        finally:
            del self._under_way[key]

    def _told(self, request: Request, error: str | None, **fields: Any) -> Verdict:
        kind, version = request.kind, request.prompts.version(request.kind)
        verdict = Verdict(kind=kind, prompt_version=version, error=error, **fields)
        self.outcomes["failed" if error else "cached" if verdict.cached else "asked"] += 1
        if kind in SCORED and verdict.score is not None:
            self._scores[verdict.score] += 1
        return verdict

    async def _verdict(self, request: Request, key: str) -> Verdict:
        """The judge's verdict; asked in other forms while it cannot be parsed."""
        asked, reply, value, error, calls = request, None, None, None, 0
        tokens: tuple[int, int] | None = None
        for attempt in range(1 + ASKED_AGAIN):
            if reply is not None:
                asked = asked.asked_again(reply)
                key = asked.key(self._identity)
            try:
                known = self._cache.find(key)
                reply = known or await self._reply(asked, key)
            except NotAskedError as failure:
                self.stopped = error = str(failure)
                break
            except RefusedError as failure:
                error = str(failure)
                self._count(request, f"the first {IN_VAIN} requests were refused: {error}")
                break
            calls += known is None
            if reply.usage is not None:
                used, (read, made) = reply.usage, tokens or (0, 0)
                tokens = (read + used.input_tokens, made + used.output_tokens)
            value, error = read_reply(asked, reply)
            if value is not None:
                self._failures[bool(request.images)] = None
                break
            # A judge that cannot rewrite may still score.
            if attempt == ASKED_AGAIN and KINDS[request.kind].has_verdict:
                self._count(
                    request,
                    f"{self.name}: no reply to the first {IN_VAIN} requests could be read, for "
                    f"example {shorten(reply.text or reply.note, 200)!r}; use a larger model as "
                    "the judge, or find the cause with 'lmms-rpts doctor'",
                )
        cached = reply is not None and not calls
        self.budget.found += cached
        text = None if reply is None else reply.text
        return self._told(request, error, value=value, reply=text, tokens=tokens, cached=cached)

    async def _reply(self, request: Request, key: str) -> Reply:
        """The judge's reply, after retries; a RefusedError if it gives none."""
        tries: Counter[bool] = Counter()  # failed calls: told to come later, and others
        while True:
            # With a budget, calls of a kind run alone until one tells the usage of the others.
            new = self.budget.is_new(self.name, request.kind)
            alone = self._first[request.kind] if new else nullcontext()
            async with alone, self._limit.slot((unit.get(), -request.attempt)) as begun:
                try:
                    return await self._call(request, key, begun, tries[False])
                except RefusedError:
                    raise
                except Exception as failure:  # a failed request does not end the run
                    pause = self._after(failure, request, tries, begun)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._ended.wait(), pause)

    async def _call(self, request: Request, key: str, begun: float, failed: int) -> Reply:
        while now() < self._held_until and not self._ended.is_set():
            await asyncio.sleep(self._held_until - now())
        if self._ended.is_set():
            raise RefusedError(self.stopped)
        patience = min(LONGEST_PATIENCE, max(self._limit.patience, 2.0**failed))
        with self.budget.call(self.name, self._settings.unit_price, request) as replies:
            reply = await self.judge.ask(replace(request, patience=patience))
            # Characters that no file can hold are replaced: a later run reads the same.
            reply = replace(reply, text=storable(reply.text))
            replies.append(reply)
        self._cache.store(key, self.name, request.kind, reply)
        self._limit.answered(begun)
        self._in_vain, self._warned = 0, False
        return reply

    def _after(
        self, failure: Exception, request: Request, tries: Counter[bool], begun: float
    ) -> float:
        """Seconds before the failed call is repeated; a RefusedError if it is not.

        While others are answered, a call is repeated a few times. While none is answered, it is
        repeated until PATIENCE is over; then judging ends. Before the first answer, failures other
        than being told to come later end it after IN_VAIN calls.
        """
        if isinstance(failure, FatalJudgeError | BudgetError):
            raise RefusedError(self._stop(str(failure)))
        if not isinstance(failure, TransientError):
            raise RefusedError(f"{type(failure).__name__}: {failure}")
        self._failing_since = self._failing_since if self._in_vain else begun
        self._in_vain += 1
        out, silent = self._in_vain >= IN_VAIN, now() - self._failing_since
        later = failure.kind == "throttled" or failure.retry_after is not None
        if failure.kind == "timed out":
            if self._limit.timed_out(begun) and not self.budget.slow:
                self.budget.slow = True
                figures = (self._time_limit, self._limit.active, self._settings.concurrency)
                logger.warning(SLOW, self.name, *figures)
        elif later or out:
            self._limit.throttled(begun)
        if not later:
            self._count(request, f"the first {IN_VAIN} calls failed: {failure}")
        if silent > self._patience:
            self._stop(f"no answer for {silent:,.0f} s: {failure}")
        if (wait := failure.retry_after or 0.0) > PATIENCE and self._in_vain >= MOST_CALLS:
            said = f"{failure}; the server asks to wait {wait:,.0f} s: run the same command again"
            self._stop(f"{said} after that; replies are cached")
        if self._ended.is_set():
            raise RefusedError(self.stopped)
        tries[later] += 1
        if tries[later] >= (MOST_LATER if later else MOST_CALLS) and not out:
            raise RefusedError(f"{failure} (after {tries.total()} calls)")
        # While others are answered, the server is not to blame for several refusals of one request.
        attempt = min(tries.total(), self._in_vain if later else 20)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)
        pause = max(pause, wait if wait <= PATIENCE else LONGEST_PAUSE)
        if out:  # the others wait, too
            self._held_until = max(self._held_until, now() + min(pause, LONGEST_HOLD))
            if silent > LONGEST_HOLD and not self._warned:
                self._warned = True
                logger.warning(SILENT, self.name, failure, self._patience)
        return pause

    def _count(self, request: Request, reason: str) -> None:
        """Count a failure before the first success; end judging after IN_VAIN of them."""
        count = self._failures[bool(request.images)]
        if count is None:
            return
        self._failures[bool(request.images)] = count + 1
        if count + 1 >= IN_VAIN:
            hint = "; choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"
            self._stop(reason + hint * bool(request.images))

    def _stop(self, reason: str) -> str:
        """End judging; returns the reason, which is the first one if there are several."""
        if not self._ended.is_set():
            self.stopped = self.budget.stopped = reason
            self._ended.set()
            self._limit.release()
        return str(self.stopped)


def open_client(
    judge: str, settings: Settings, budget: Budget | None = None, *, requests: Path | None = None
) -> aclosing[Client]:
    """The client of the judge named in ``judge``, as in LMMS_RPTS_JUDGE; a context manager.

    A JudgeConfigurationError says what to set. ``budget``: None: a new one with the limits of the
    settings; ``requests``: a file, to which requests are written instead of being asked.
    """
    chosen = find_judge(judge, settings, asks=requests is None)
    answering = chosen.backend.open(chosen.model, settings)
    if requests is not None:
        from lmms_rpts.judging.request_files import RequestWriter

        answering = RequestWriter(chosen.name, answering, requests)
    client = Client(chosen.name, answering, chosen.backend, settings, budget, chosen.sees)
    return aclosing(client)

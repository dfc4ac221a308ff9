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
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.limit import Limit, now
from lmms_rpts.judging.parsers import read_reply
from lmms_rpts.judging.registry import ChosenJudge, find_judge, open_budget
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.judging.types import (
    FatalJudgeError,
    Judge,
    NotAskedError,
    RefusedError,
    Reply,
    Request,
    TransientError,
    Usage,
    Verdict,
)

# Maximum number of calls for one request that fail while others are answered; of those that are
# told to come later.
MOST_CALLS, MOST_LATER = 5, 20
# Retries, in other forms, of requests for a verdict and for a text, if no reply can be parsed.
ASKED_AGAIN = {True: 2, False: 1}
# Seconds between the calls of one request, and of all requests while none is answered.
FIRST_PAUSE, LONGEST_PAUSE, LONGEST_HOLD = 0.5, 30.0, 5.0
# Seconds without any answer after which judging ends, and the longest Retry-After that is kept.
PATIENCE = 300.0
# Number of calls and requests in vain, before any success, that end judging; and of failed calls
# in a row after which the server is considered to be out of order.
IN_VAIN = 20
SLOW = (
    "The judge {} is slow: set LMMS_RPTS_CONCURRENCY (now {}) to what the server processes at a "
    "time, or raise LMMS_RPTS_TIMEOUT (now {:g} s)"
)
BLIND = "; choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"
SILENT = "The judge {} answers no call ({}): waiting up to {:.0f} s"

unit: ContextVar[int] = ContextVar("unit", default=0)
"""The number of the unit of work that a request belongs to: earlier ones come first, so that an
interrupted run has complete ones."""


class Client:
    """Asks one judge, in one event loop.

    Attributes:
        stopped: why judging ended before its end; None: it did not.
        concurrency: the number of calls under way at a time.
        outcomes: the number of verdicts that were asked for, cached, failed, or unreadable.
    """

    def __init__(
        self, chosen: ChosenJudge, judge: Judge, settings: Settings, budget: Budget | None = None
    ) -> None:
        self.name, self.sees, self.judge = chosen.name, chosen.sees, judge
        self.budget = budget or open_budget(settings)
        self.concurrency = settings.concurrency
        self.stopped: str | None = None
        self.outcomes: Counter[str] = Counter()
        self._settings, self._free = settings, chosen.backend.free
        self.writes = not self._free
        if self._free:
            return
        from lmms_rpts.judging.cache import open_cache

        self._identity = {"judge": self.name, **getattr(judge, "identity", {})}
        self._cache = open_cache(settings.cache)
        # Within a budget, the first reply tells what the others will use. Else few calls: a server
        # with few slots must not begin with a long queue.
        first = 8 if self.budget.max_tokens is self.budget.max_cost is None else 1
        self._limit = Limit(self.concurrency, getattr(judge, "time_limit", math.inf), first)
        # A call that took too long is repeated once with twice the time.
        self._patience = max(PATIENCE, 2.5 * settings.timeout)
        self._under_way: dict[str, asyncio.Task[Verdict]] = {}
        self._ended = asyncio.Event()
        # Failures before the first success, by sort of request; from then on they are none
        self._failures = defaultdict[tuple[bool, bool], float](float)
        # Answers; failed calls since the last one, and when the first of them began
        self._answers, self._in_vain, self._silent_since = 0, 0, 0.0

    async def aclose(self) -> None:
        """Close the judge and the cache."""
        self._cache.close()
        if aclose := getattr(self.judge, "aclose", None):
            # A connection that does not close must not cost any replies.
            with suppress(Exception):
                await asyncio.wait_for(aclose(), 10.0)

    async def ask(self, request: Request) -> Verdict:
        """The verdict on a request; equal requests share one call."""
        if request.images and not self.sees:
            return self._told(request, f"{self.name} does not support images")
        if self._free:
            try:
                reply = await self.judge.ask(request)
            except RefusedError as error:
                return self._told(request, str(error))
            return self._told(request, None, value=reply.value, reply=reply.text)
        if not self._settings.judge_reason and KINDS[request.kind].has_verdict:
            request = replace(request, reasoned=False)
        try:
            for image in request.images:  # in a thread: decoding must not delay running calls
                await asyncio.to_thread(getattr, image, "digest")
        except ImageError as error:
            return self._told(request, str(error))
        key = request.key(self._identity)
        if key in self._under_way:
            return (await self._under_way[key]).model_copy(update={"cached": True})
        task = self._under_way[key] = asyncio.ensure_future(self._verdict(request))
        try:
            return await task
        finally:
            del self._under_way[key]

    def _told(self, request: Request, error: str | None, **fields: Any) -> Verdict:
        kind, version = request.kind, request.prompts.version(request.kind)
        verdict = Verdict(kind=kind, prompt_version=version, error=error, **fields)
        missing = "unreadable" if verdict.reply else "failed"
        self.outcomes[missing if error else "cached" if verdict.cached else "asked"] += 1
        return verdict

    async def _verdict(self, request: Request) -> Verdict:
        """The judge's verdict; asked in other forms while it cannot be parsed."""
        asked, replies, calls, value, error = request, list[Reply](), 0, None, None
        most = ASKED_AGAIN[KINDS[request.kind].has_verdict]
        try:
            while value is None and len(replies) <= most:
                asked = request.again(len(replies)) if replies else request
                key = asked.key(self._identity)
                known = self._cache.find(key)
                replies.append(known or await self._reply(asked, key))
                calls += known is None
                value, error = read_reply(asked, replies[-1])
        except NotAskedError as failure:
            self.stopped = error = str(failure)
        except RefusedError as failure:
            error = str(failure)
            self._failed(request, error)
        else:
            if value is None:
                example = f"for example {shorten(replies[-1].text, 200)!r}: use a larger model"
                self._failed(request, f"{error}; {example} (replies are cached)")
            elif calls:  # another server may have given a cached reply
                self._failures[_sort(request)] = -math.inf
        text = replies[-1].text if replies else None
        used = sum((each.usage or Usage() for each in replies), Usage())
        tokens = astuple(used) if used != Usage() else None
        cached = bool(replies) and not calls
        self.budget.found += cached
        return self._told(request, error, value=value, reply=text, tokens=tokens, cached=cached)

    async def _reply(self, request: Request, key: str) -> Reply:
        """The judge's reply, after retries, stored; a RefusedError if it gives none."""
        tries: Counter[bool] = Counter()  # failed calls: told to come later, and others
        answered = 0  # before the first of them
        while True:
            # New ones come before those that failed: many of these must not keep out all others.
            order = (int(tries[False] > 0), unit.get(), -request.attempt)
            async with self._limit.slot(order) as begun:
                if self._ended.is_set():
                    raise RefusedError(self.stopped)
                try:
                    with self.budget.call(self._settings.unit_price, request) as replies:
                        reply = await self.judge.ask(
                            replace(request, patience=self._limit.patience)
                        )
                        replies.append(reply)
                except RefusedError:
                    raise
                except Exception as failure:  # a failed request does not end the run
                    answered = answered if tries else self._answers
                    pause = self._after(failure, request, tries, begun, self._answers > answered)
                    held = min(pause, LONGEST_HOLD) * (self._in_vain >= IN_VAIN)
                    await self._wait(held)  # and so do the requests in the queue
                else:
                    self._cache.store(key, self.name, request.kind, reply)
                    self._limit.answered(begun)
                    self._answers, self._in_vain = self._answers + 1, 0
                    return reply
            await self._wait(pause - held)

    def _after(
        self,
        failure: Exception,
        request: Request,
        tries: Counter[bool],
        begun: float,
        others_answered: bool,
    ) -> float:
        """Seconds before the failed call is repeated; a RefusedError if it is not.

        While others are answered, a call is repeated a few times. While none is answered, it is
        repeated until PATIENCE is over; then judging ends. Before the first answer, failures other
        than being told to come later end it after IN_VAIN calls.
        """
        if isinstance(failure, FatalJudgeError):
            raise RefusedError(self._stop(str(failure)))
        if not isinstance(failure, TransientError):
            raise RefusedError(f"{type(failure).__name__}: {failure}")
        self._silent_since = self._silent_since if self._in_vain else begun
        self._in_vain += 1
        out, silent = self._in_vain >= IN_VAIN, now() - self._silent_since
        later, wait = failure.kind == "throttled", failure.retry_after or 0.0
        if failure.kind == "timed out":
            if self._limit.timed_out(begun):
                logger.warning(SLOW, self.name, self.concurrency, self._settings.timeout)
        elif later or out:
            self._limit.throttled(begun)
        if not later:
            self._failed(request, str(failure))
        if silent > self._patience or (wait > PATIENCE and self._in_vain >= MOST_CALLS):
            said = f"; the server asks to wait {wait:,.0f} s: run the same command again after that"
            self._stop(f"no answer for {silent:,.0f} s: {failure}{said * (wait > PATIENCE)}")
        if self._ended.is_set():
            raise RefusedError(self.stopped)
        if self._in_vain == IN_VAIN:
            logger.warning(SILENT, self.name, failure, self._patience)
        tries[later] += 1
        most = MOST_LATER if later else MOST_CALLS
        if tries[later] >= most and (others_answered or not out):
            raise RefusedError(f"{failure} (after {tries.total()} calls)")
        # While others are answered, the server is not to blame for several refusals of one request.
        attempt = min(tries.total(), self._in_vain if later else 20)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)
        return max(pause, wait if wait <= PATIENCE else LONGEST_PAUSE)

    async def _wait(self, seconds: float) -> None:
        """Wait, but not after the end of judging."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)

    def _failed(self, request: Request, error: str) -> None:
        """Count a failure before the first success; end judging after IN_VAIN of them."""
        sort = _sort(request)
        self._failures[sort] += 1
        if self._failures[sort] >= IN_VAIN:
            hint = BLIND * bool(request.images)
            self._stop(f"the first {IN_VAIN} calls or requests failed: {error}{hint}")

    def _stop(self, reason: str) -> str:
        """End judging; returns the reason, which is the first one if there are several."""
        if not self._ended.is_set():
            self.stopped = self.budget.stopped = reason
            self._ended.set()
        return str(self.stopped)


def _sort(request: Request) -> tuple[bool, bool]:
    """Whether a request has images, and whether it asks for a verdict: judges may lack either."""
    return bool(request.images), KINDS[request.kind].has_verdict


def open_client(
    judge: str, settings: Settings, budget: Budget | None = None, *, requests: Path | None = None
) -> AbstractAsyncContextManager[Client]:
    """The client of the judge named in ``judge``, as in LMMS_RPTS_JUDGE; a context manager.

    A JudgeConfigurationError says what to set. ``budget``: None: a new one with the limits of the
    settings; ``requests``: a file, to which requests are written instead of being asked.
    """
    chosen = find_judge(judge, settings, asks=requests is None)
    answering = chosen.backend.open(chosen.model, settings)
    if requests is not None:
        from lmms_rpts.judging.request_files import RequestWriter

        answering = RequestWriter(chosen.name, answering, requests)
    client = Client(chosen, answering, settings, budget)
    return nullcontext(client) if chosen.backend.free else aclosing(client)

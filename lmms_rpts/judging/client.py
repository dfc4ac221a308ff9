"""Client of one judge: equal requests, cache, budget, concurrency, retries.

A request joins an equal one, if there is one. Else its reply is looked up in the cache. If there is
none, the request waits for a slot, and the call is counted in the budget and made. ``MOST_CALLS``
says how often a failed call is repeated. If a reply cannot be read, the request is repeated in
another form.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from loguru import logger

from lmms_rpts.base.escaping import shorten, storable
from lmms_rpts.base.settings import Price
from lmms_rpts.judging.budget import Budget, BudgetError, guess_usage
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.concurrency import LONGEST_PATIENCE, AdaptiveLimit, StopSignal
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.parsers import PARSER_VERSION, read_reply
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import (
    FatalJudgeError,
    Judge,
    JudgeRequest,
    NotAskedError,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
    digest,
)

CALLS, THROTTLED = 5, 20
# Maximum number of calls for one request that fail in this way.
MOST_CALLS = {
    "failed": CALLS,
    "throttled": THROTTLED,
    # Each retry may take twice as long: a server that is merely slow worked on it in vain.
    "timed out": 3,
    "out": math.inf,  # the server is gone or starting; the run stops after PATIENCE
    "put off": CALLS,  # the server asks to wait longer than PATIENCE; the run stops
    "refused": 1,
    "fatal": 1,  # the run stops
}

# Number of throttled calls of one request that do not lengthen its pauses while other requests
# are answered: with 30% random refusals, pauses of 16 s doubled the time of a run.
BY_CHANCE = 4

# Number of retries of a request whose reply cannot be parsed.
ASKED_AGAIN = 2

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# Maximum Retry-After in seconds. A server that keeps asking for more ends the run, which can be
# continued later.
PATIENCE = 300.0

# Number of requests without one readable reply, or consecutive ones without a connection, after
# which the run is stopped.
UNREADABLE = UNREACHABLE = 20


@dataclass(slots=True)
class _Tries:
    """Counters of the calls and failures of one request."""

    calls: int = 0
    timed_out: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    usage: Usage | None = None

    def add(self, usage: Usage | None) -> None:
        """Add the tokens of a call, if they are known."""
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage


class JudgeClient:
    """Asks one judge; belongs to one event loop. See ``JudgeEngine`` for the arguments."""

    def __init__(
        self,
        judge: Judge,
        concurrency: int,
        budget: Budget,
        stop_signal: StopSignal,
        cache: AnswerCache | None,
        *,
        name: str,
        price: Price | None,
        kept: bool,
        sees: bool,
    ) -> None:
        self.name, self._judge = name, judge
        self._price, self._kept, self._sees = price, kept, sees
        self._most = concurrency
        self._time_limit: float = getattr(judge, "time_limit", math.inf)
        self._limit = AdaptiveLimit(concurrency, self._time_limit)
        self._budget = budget
        self._stop_signal = stop_signal
        stop_signal.limit = self._limit
        self._cache = cache
        self._identity = {"judge": name, **getattr(judge, "identity", {})}
        self._answers: dict[str, asyncio.Task[Verdict]] = {}
        self._first: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._unreadable: set[str] | None = set()  # keys of requests; None: a reply was readable
        self._decoding = asyncio.Semaphore(2)
        self._unreachable = 0
        self._in_vain = 0
        self._last_answer: float | None = None
        self._begun = 0.0

    async def ask(self, request: JudgeRequest, urgency: int = 0) -> Verdict:
        """The verdict on a request; equal requests share one verdict."""
        if request.images and not self._sees:
            return Verdict(None, attempts=0, error=f"{self.name} does not support images")
        try:
            if request.images:
                # Decoding must not delay running calls, nor the next call wait for all images.
                async with self._decoding:
                    key = await asyncio.to_thread(lambda: request.key)
            else:
                key = request.key
        except ImageError as error:
            return Verdict(None, attempts=0, error=str(error))
        task = self._answers.get(key)
        if task is not None:
            same = await task
            return replace(same, cached=True, identical=not same.cached, attempts=0)
        task = self._answers[key] = asyncio.ensure_future(self._answer(request, urgency))
        verdict = None
        try:
            verdict = await task
        finally:
            if verdict is None or verdict.error:
                del self._answers[key]  # it is asked again
        self._check_readable(request, key, verdict)
        return verdict

    def _check_readable(self, request: JudgeRequest, key: str, verdict: Verdict) -> None:
        """Stop the run if no verdict can be read; a judge that cannot rewrite may still score."""
        if self._unreadable is None or not request_kinds()[request.kind].has_verdict:
            return
        if verdict.value is not None:
            self._unreadable = None
        elif verdict.text is not None:
            self._unreadable.add(key)  # once, even if the request is made again
            if len(self._unreadable) >= UNREADABLE:
                self._stop_signal.stop(
                    f"{self.name}: no reply to the first {UNREADABLE} requests could be "
                    f"read, for example {shorten(verdict.text, 200)!r}; use a larger model as the "
                    "judge, or find the cause with 'lmms-rpts doctor'"
                )

    async def _answer(self, request: JudgeRequest, urgency: int) -> Verdict:
        if self._cache is None:
            return await self._ask_judge(request, urgency)
        verdict = await self._ask_judge(request, urgency)
        if verdict.cached:
            self._budget.found += 1
        elif verdict.error is None and verdict.text is not None:
            key = cache_key(self._identity, request)
            self._cache.store(key, self.name, request, verdict.text, verdict.usage)
        return verdict

    async def _ask_judge(self, request: JudgeRequest, urgency: int) -> Verdict:
        """The judge's verdict, after retries; asked in other forms while it cannot be parsed.

        Only batches leave replies in the cache that cannot be parsed: each form has its own.
        """
        verdict, asked, again, tries = Verdict(None), request, 0, _Tries()
        while True:
            try:
                reply = self._cached(asked, tries)
                reply = reply or await self._call_in_turn(asked, tries, urgency)
            except NotAskedError as failure:
                return Verdict(None, attempts=0, error=str(failure))
            except Exception as failure:  # the boundary: a failed request does not end the run
                error = self._give_up(failure, tries)
                if error is not None:
                    return replace(verdict, attempts=tries.calls, usage=tries.usage, error=error)
                await self._stop_signal.pause(self._pause(failure, tries))
            else:
                value, fault = read_reply(asked, reply)
                verdict = Verdict(
                    reply.text, value, not tries.calls, tries.calls, tries.usage, fault
                )
                again += 1
                before, asked = asked, request.asked_again(reply, again)
                # Without sampling, an equal request would get the same reply.
                same = asked == before and not self._identity.get("temperature")
                if value is not None or again > ASKED_AGAIN or same:
                    return verdict
                tries.failures.clear()
            urgency += 1

    def _cached(self, request: JudgeRequest, tries: _Tries) -> Reply | None:
        if self._cache is None or tries.calls:
            return None
        reply = self._cache.find(cache_key(self._identity, request))
        tries.add(reply.usage if reply else None)
        return reply

    async def _call_in_turn(self, request: JudgeRequest, tries: _Tries, urgency: int) -> Reply:
        # With a budget, calls of a kind run alone until one tells the usage of the others.
        kind = (self.name, request.kind)
        if self._kept and self._budget.is_new(*kind):
            async with self._first[request.kind]:
                if self._budget.is_new(*kind):
                    return await self._call_once(request, tries, urgency)
        return await self._call_once(request, tries, urgency)

    async def _call_once(self, request: JudgeRequest, tries: _Tries, urgency: int) -> Reply:
        booked = reply = usage = None
        async with self._limit.slot(urgency) as slot:
            if self._stop_signal.reason:
                raise FatalJudgeError(self._stop_signal.reason)
            try:
                if self._kept:
                    booked = self._budget.begin(self.name, self._price, request)
                patience = min(LONGEST_PATIENCE, max(self._limit.patience, 2.0**tries.timed_out))
                request = replace(request, patience=patience)
                tries.calls += 1
                self._begun = self._begun or slot.begun
                reply = await self._judge.ask(request)
                usage = reply.usage
            except asyncio.CancelledError as failure:
                # A client may raise it for other reasons, which Python 3.10 cannot tell apart.
                if getattr(asyncio.current_task(), "cancelling", lambda: 1)():
                    raise
                self._in_vain += 1
                raise TransientError("the judge's client cancelled the call") from failure
            except NotAskedError:
                booked = None  # its usage stays expected: a budget bounds what is asked in a batch
                raise
            except TransientError as failure:
                self._in_vain += 1
                if failure.kind == "timed out":
                    tries.timed_out += 1
                    if self._limit.timed_out(slot):
                        self._warn_of_slowness()
                elif self._way(failure) in ("throttled", "put off", "out"):
                    wait = failure.retry_after or 0.0
                    self._limit.throttled(slot, wait if wait <= PATIENCE else 0.0)
                raise
            finally:
                tries.add(usage)
                if booked is not None:
                    guess = guess_usage(request, reply) if reply and not usage else None
                    self._budget.end(booked, usage or guess, guess is not None)
            self._last_answer = asyncio.get_running_loop().time()
            self._limit.answered(slot)
            self._unreachable = self._in_vain = 0
        # Characters that no file can hold are replaced, so that a later run reads the same text.
        return replace(reply, text=storable(reply.text))

    def _warn_of_slowness(self) -> None:
        if self._budget.slow:
            return
        self._budget.slow = True
        logger.warning(
            "The judge {} is slow: a call exceeded the time limit of {:g} s, with {} calls at a "
            "time. It is repeated with more time, and fewer calls are made at a time. If this "
            "goes on, set LMMS_RPTS_CONCURRENCY (now {}) to the number of calls that the server "
            "processes at a time, or raise LMMS_RPTS_TIMEOUT.",
            *(self.name, self._time_limit, self._limit.active, self._most),
        )

    def _way(self, failure: Exception) -> str:
        """The way in which a call failed, as in ``MOST_CALLS``."""
        if isinstance(failure, FatalJudgeError | BudgetError):
            return "fatal"
        if not isinstance(failure, TransientError):
            return "refused"
        if (failure.retry_after or 0.0) > PATIENCE:
            return "put off"
        # With few calls at a time, a server that is started again would use up all calls of a
        # request before many have failed.
        gone = failure.kind == "unreachable" or self._in_vain >= UNREACHABLE
        if failure.kind == "starting" or (self._last_answer is not None and gone):
            return "out"
        if failure.kind == "throttled" or failure.retry_after is not None:
            return "throttled"
        return "timed out" if failure.kind == "timed out" else "failed"

    def _give_up(self, failure: Exception, tries: _Tries) -> str | None:
        """Why the request is not repeated after ``failure``; None if it is."""
        way, stop = self._way(failure), self._stop_signal.stop
        tries.failures[way] += 1
        if way == "out":
            silent = asyncio.get_running_loop().time() - (self._last_answer or self._begun)
            if silent <= PATIENCE or tries.timed_out == 1:  # then it gets more time first
                return None
            return stop(f"no answer for {silent:,.0f} s: {failure}")
        if tries.failures[way] < MOST_CALLS[way]:
            return None
        if way == "fatal":
            return stop(str(failure))
        if not isinstance(failure, TransientError):
            known = isinstance(failure, RefusedError)
            return str(failure) if known else f"{type(failure).__name__}: {failure}"
        if way == "put off":
            return stop(
                f"{failure}; the server asks to wait {failure.retry_after:,.0f} s: run the same "
                "command again after that; replies are cached"
            )
        if way == "timed out" and self._last_answer is None:
            return stop(
                f"{failure}, even with {LONGEST_PATIENCE * self._time_limit:,g} s "
                "(LMMS_RPTS_TIMEOUT), and no other call was answered: check the server"
            )
        self._unreachable = self._unreachable + 1 if failure.kind == "unreachable" else 0
        if self._unreachable >= UNREACHABLE:
            stop(f"cannot reach the judge: {failure}")
        return f"{failure} (after {tries.failures.total()} calls)"

    def _pause(self, failure: Exception, tries: _Tries) -> float:
        """Seconds before the next call: as the server asks, or exponential backoff with jitter."""
        wait = getattr(failure, "retry_after", None) or 0.0
        attempt = tries.failures.total()
        if tries.failures["throttled"] and self._in_vain < attempt:  # others were answered
            attempt = max(1, attempt - BY_CHANCE)
        backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 20))
        return max(backoff * random.uniform(0.5, 1.0), wait if wait <= PATIENCE else LONGEST_PAUSE)


def cache_key(identity: Mapping[str, object], request: JudgeRequest) -> str:
    """The key under which the reply to a request is cached; ``identity``: of the judge."""
    return digest([identity, request.key, PARSER_VERSION])

"""Requests of an OpenAI-compatible judge by batch files, or by the Batch API of a server.

They are gathered and answered together, hours later or in a later run. The judge and its replies
are those of ``openai:MODEL``.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from loguru import logger

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.backends.pool import OPENAI
from lmms_rpts.judging.backends.server import Answer, Server, Transport, read_fault, shown
from lmms_rpts.judging.batches import MOST_BYTES, BatchStore, append, asked_as, split
from lmms_rpts.judging.cache import CacheError
from lmms_rpts.judging.progress import open_bar
from lmms_rpts.judging.types import (
    FatalJudgeError,
    JudgeRequest,
    NotAnsweredYetError,
    TransientError,
    digest,
)

T = TypeVar("T")

# Seconds without a new request after which those gathered are sent.
QUIET = 3.0
# Seconds between two looks at a batch; and for which a server may fail, before and after sending.
FIRST_LOOK, LONGEST_LOOK = 2.0, 60.0
PATIENCE, LONG_PATIENCE = 60.0, 1800.0

_OVER = ("completed", "failed", "expired", "cancelled")
# The name of our token in a batch's metadata
_MARK = "lmms_rpts"


class BatchTransport:
    """Answers requests from the results of batches; the others wait for the next batch.

    With ``settings.requests``, they are written to a file in that folder, and refused for now. Else
    they are sent once no new one has come for ``QUIET`` seconds.
    """

    gathers = True

    def __init__(self, judge: str, settings: Settings) -> None:
        self._judge, self._settings = judge, settings
        self._run = settings.requests.name if settings.requests else uuid4().hex
        self._own = tempfile.TemporaryDirectory(prefix="lmms-rpts-")
        # A file for each judge: all requests of a batch have the same model.
        file = f"{re.sub('[^A-Za-z0-9.-]', '_', judge)}.jsonl"
        self._gathered = (settings.requests or Path(self._own.name)) / file
        self._store = BatchStore(settings.cache or Path())
        self._server = BatchServer(settings, self._store)
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._batches: dict[str, asyncio.Task[None]] = {}

    async def post(self, request: JudgeRequest, content: bytes, limit: float) -> Answer:
        """The answer, once there is one."""
        try:
            name, new, token = self._store.note(request, content, self._judge, self._run)
            if answer := self._store.answer(name):
                return answer
            if self._settings.requests:
                if new and not token:
                    append(self._gathered, name, content)
                raise NotAnsweredYetError("not answered yet: it waits for the results of a batch")
            done = self._waiting[name] = asyncio.get_running_loop().create_future()
            if not token:
                self._gather(name, content)
            elif token not in self._batches or self._batches[token].done():  # of an earlier run
                names = [name for name, _ in self._store.members(token)]
                self._batches[token] = asyncio.ensure_future(self._finish(token, None, names))
            del content  # images are large, and answers take hours
            await done
            answer = self._store.answer(name)
        except (CacheError, OSError) as error:
            raise FatalJudgeError(str(error)) from None
        if answer is None:
            raise TransientError("its batch ended without an answer", kind="expired")
        return answer

    async def aclose(self) -> None:
        """Close the connections; batches go on at the server."""
        if self._timer:
            self._timer.cancel()
        self._own.cleanup()
        await self._server.aclose()
        # Results that came before an end by force or by an error are not in the cache yet.
        ends = self._waiting.values()
        whole = all(each.done() and not each.cancelled() and not each.exception() for each in ends)
        if whole and not self._settings.requests:
            self._store.forget(self._run)
        self._store.close()

    def _gather(self, name: str, content: bytes) -> None:
        append(self._gathered, name, content)
        if self._timer:
            self._timer.cancel()
        wait = QUIET if self._gathered.stat().st_size < MOST_BYTES else 0.0
        self._timer = asyncio.get_running_loop().call_later(wait, self._send)

    def _send(self) -> None:
        first = self._gathered.with_name(f"{uuid4().hex}.jsonl")
        try:
            files = split(self._gathered, first, self._settings.batch_requests)
            self._gathered.unlink()
        except OSError as error:
            return self._wake([*self._waiting], FatalJudgeError(f"cannot send a batch: {error}"))
        for path, names in files.items():
            token = f"{self._server.prefix}{uuid4().hex}"
            self._batches[token] = asyncio.ensure_future(self._finish(token, path, names))

    async def _finish(self, token: str, path: Path | None, names: Sequence[str]) -> None:
        failure = None
        try:
            await self._server.finish(token, path, names)
        except FatalJudgeError as error:
            failure = error
        except Exception as error:  # such as a page of HTML in place of a batch
            failure = FatalJudgeError(f"the server's Batch API: {type(error).__name__}: {error}")
        self._wake(names, failure)

    def _wake(self, names: Sequence[str], failure: Exception | None) -> None:
        for done in filter(None, map(self._waiting.get, names)):
            if not done.done():
                done.set_exception(failure) if failure else done.set_result(None)


class ResultsFirst:
    """A `Transport` that uses results of batches which no run has used, and then another one.

    Each result is used once: a reply that is worthless, as one that broke off, is asked for again.
    """

    def __init__(self, judge: str, folder: Path, then: Transport) -> None:
        self._judge, self._store, self._then = judge, BatchStore(folder), then
        self._left: dict[tuple[str, str], str] | None = None  # not read yet

    async def post(self, request: JudgeRequest, content: bytes, limit: float) -> Answer:
        with suppress(CacheError):  # it was reported, and ends no run
            if self._left is None and request.cached_as:
                self._left = {}
                self._left = self._store.replies(self._judge)
            name = self._left.pop(asked_as(request, content), "") if self._left else ""
            if name and (answer := self._store.answer(name)):
                return answer
        return await self._then.post(request, content, limit)

    async def aclose(self) -> None:
        """Close the connections and the file."""
        self._store.close()
        await self._then.aclose()


class BatchServer:
    """The Files and Batches endpoints of a server; ``store`` has the state of its batches.

    ``prefix``: beginning of our tokens of all batches at this server.
    """

    def __init__(self, settings: Settings, store: BatchStore) -> None:
        import openai

        self._store, self._url = store, (settings.openai_urls or (OPENAI,))[0]
        self.prefix = digest(self._url)[:16]
        self._secrets = Server(self._url, settings).secrets
        self._shown = settings.rank == 0
        self._client = openai.AsyncOpenAI(
            api_key=settings.openai_key or "none",
            base_url=self._url,
            default_headers=settings.openai_headers,
            max_retries=0,  # it would send a batch again if only the answer was lost
            timeout=max(settings.timeout, 600.0),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def check(self) -> None:
        """Raise an error if the server has no such endpoints; costs nothing."""
        try:
            await self._steadily(lambda again: self._client.batches.list(limit=1), 0.0)
        finally:
            await self.aclose()

    async def finish(
        self, token: str, path: Path | None, names: Sequence[str], wait: bool = True
    ) -> str:
        """Send a batch unless it was sent, wait for its end if that is wanted, store its results.

        Returns its name and state; empty if it was never sent, so that its requests are open. A
        FatalJudgeError tells that the server refused it, or does not answer. ``path``: its file;
        None: it was sent before, or a process was killed on the way.
        """
        if path:
            self._store.begin(names, token)  # on disk before anything is sent
        name = next((batch.partition(" ")[2] for _, batch in self._store.members(token)), "")
        if not name:
            name = await self._steadily(lambda again: self._sent(token, path, again), PATIENCE)
        if not name:
            self._store.end(token)
            return ""
        if path:
            path.unlink()  # with images, files are large
        self._store.begin(names, f"{token} {name}")
        try:
            batch = await self._ended(name, wait)
        except FatalJudgeError as error:
            if "(404)" in str(error):  # servers delete old batches
                self._store.end(token)
            raise
        status, counts = batch.status.lower(), batch.request_counts
        if status not in _OVER:
            done = f", {counts.completed:,} of {counts.total:,} answered" if counts else ""
            return f"{name}: {status}{done}"
        taken: Counter[str] = Counter()
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            taken += await self._steadily(partial(self._results, file))
        self._store.end(token)
        if status == "failed":
            faults = batch.errors.data or [] if batch.errors else []
            reason = shown("; ".join(each.message or "" for each in faults[:3]), self._secrets)
            reason = reason or "no reason is given"
            raise FatalJudgeError(f"the server refused the batch {name}: {reason}")
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in taken.items())
        said = shown(f"{name}: {status}; {outcomes or 'no results'}", self._secrets)
        logger.info("Batch {}", said)
        return said

    async def _ended(self, name: str, wait: bool) -> Any:
        """The batch at its end, or now."""
        pause = FIRST_LOOK
        with open_bar(self._shown and wait, desc=f"Batch {name}", unit=" requests") as bar:
            on_terminal = getattr(bar, "mininterval", 30.0) < 1.0
            while True:
                batch = await self._steadily(lambda again: self._client.batches.retrieve(name))
                if counts := batch.request_counts:
                    bar.total = counts.total
                    bar.set_postfix_str(f"{batch.status}, {counts.failed:,} failed", on_terminal)
                    bar.update(counts.completed + counts.failed - bar.n)
                if not wait or batch.status.lower() in _OVER:
                    return batch
                await asyncio.sleep(pause)
                pause = min(LONGEST_LOOK, 1.3 * pause)

    async def _results(self, file: str, again: bool) -> Counter[str]:
        # By way of a file: it may be large, and a line of its text does not end at U+2028.
        with tempfile.TemporaryFile() as lines:
            async with self._client.files.with_streaming_response.content(file) as response:
                async for piece in response.iter_bytes():
                    lines.write(piece)
            lines.seek(0)
            return self._store.take(lines)

    async def _sent(self, token: str, path: Path | None, again: bool) -> str:
        """The server's name of a batch, which is sent unless it is there; empty: it has no file.

        The token finds a batch or file whose sending was interrupted before the answer came.
        """
        file, filename = "", f"lmms-rpts-{token}.jsonl"
        if again or path is None:
            async for batch in self._client.batches.list(limit=100):
                if (batch.metadata or {}).get(_MARK) == token:
                    return batch.id
            async for each in self._client.files.list(purpose="batch"):
                file = each.id if each.filename == filename else file
        if not file and path is not None:
            with path.open("rb") as content:
                sent = await self._client.files.create(file=(filename, content), purpose="batch")
            file = sent.id
        if not file:
            return ""
        batch = await self._client.batches.create(
            completion_window="24h",
            endpoint="/v1/chat/completions",
            input_file_id=file,
            metadata={_MARK: token},
        )
        return batch.id

    async def _steadily(
        self, call: Callable[[bool], Awaitable[T]], patience: float = LONG_PATIENCE
    ) -> T:
        """The result of a call, which is repeated while its failures may pass."""
        import openai

        pause, started, again = 0.5, time.monotonic(), False
        while True:
            failure: Exception
            try:
                return await call(again)
            except openai.APIStatusError as error:
                answer = error.response
                fault = read_fault(
                    answer.status_code, answer.headers, answer.content, self._secrets
                )
                kind = fault.kind()
                # All requests of a batch have the others: no request is refused alone.
                failure = fault.error(kind if kind in ("throttled", "transient") else "fatal")
            except (CacheError, OSError):
                raise
            except Exception as error:  # also of the libraries below openai, in the middle of files
                kinds = {kind.__name__ for kind in type(error).__mro__}
                reason = shown(f"{type(error).__name__}: {error.__cause__ or error}", self._secrets)
                failure = FatalJudgeError(f"the server's Batch API: {reason}")
                if kinds & {"APIConnectionError", "TransportError"}:
                    failure = TransientError(f"no answer from {self._url}: {reason}")
            if not isinstance(failure, TransientError) or time.monotonic() - started > patience:
                raise FatalJudgeError(str(failure)) from None
            await asyncio.sleep(max(pause, min(failure.retry_after or 0.0, LONGEST_LOOK)))
            pause, again = min(LONGEST_LOOK, 2 * pause), True

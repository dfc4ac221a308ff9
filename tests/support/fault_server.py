"""A judge server that fails on purpose, deterministically, and logs every call.

As a separate process: ``python -m tests.support.fault_server --log FILE [--faulty] [--seed N]
[--latency S] [--port N]`` prints its URL, then serves until killed. In a test: ``with serving(log,
faulty=True) as server``.

The outcome of a call depends on its body and on the number of earlier calls with this body; a
refusal depends on the question alone. So do scores: an answer after a reminder equals the answer of
a run without faults.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import math
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tests.support.waiting import LONGEST

SHARES = {"throttled": 0.10, "failed": 0.05, "dropped": 0.02, "hung": 0.02, "unusable": 0.03}
REFUSED = 0.01
RETRY_AFTER = 0.2

ANSWERED = "answered"
PASSING = {"throttled", "failed", "dropped", "hung"}
"""Faults after which a call must be retried."""

_LONGEST_HANG = 60.0
_SETTLED = "/settled"
_POLL = 0.005
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
_PHRASES = {200: "OK", 400: "Bad Request", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass(frozen=True)
class Call:
    """One line of the log.

    Attributes:
        body: digest of the request's body.
        question: digest of the chat, without the messages after an unreadable reply.
        reminded: whether the request repeats the question after an unreadable reply.
        before: number of earlier calls with the same body.
        outcome: ``answered``, ``unusable``, ``refused`` or one of PASSING.
    """

    body: str
    question: str
    reminded: bool
    before: int
    outcome: str


class Served:
    """A server in a separate process, as used by a test.

    Attributes:
        url: base URL, ending in ``/v1``.
        pid: process id of the server.
    """

    def __init__(self, url: str, pid: int, log: Path) -> None:
        self.url, self.pid, self._log = url, pid, log

    def count(self) -> int:
        """The number of calls so far."""
        return self._log.read_bytes().count(b"\n")

    def calls(self, since: int = 0) -> list[Call]:
        """The calls in order of arrival, without the first ``since``."""
        lines = self._log.read_bytes().split(b"\n")[since:-1]  # the last line may be incomplete
        return [Call(**json.loads(line)) for line in lines]

    def hold_after(self, calls: int) -> None:
        """Holds back the answers to all calls after the first ``calls``.

        A run that a test kills then cannot end before, however slow the machine.
        """
        draft = _limit_beside(self._log).with_suffix(".draft")
        draft.write_text(str(calls), encoding="utf-8")
        draft.replace(_limit_beside(self._log))

    def answer_all(self) -> None:
        """Answers all calls again."""
        _limit_beside(self._log).unlink()

    def settle(self) -> None:
        """Waits for the end of all connections: calls of a killed client may still be read."""
        directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        directly.open(f"{self.url}{_SETTLED}", b"", LONGEST).close()


def _limit_beside(log: Path) -> Path:
    return log.with_name(f"{log.name}.limit")


@contextlib.contextmanager
def serving(
    log: Path, *, faulty: bool = False, seed: int = 0, latency: float = 0.0
) -> Iterator[Served]:
    """Runs the server while the ``with`` block lasts."""
    log.touch()
    options = ["--log", str(log), "--seed", str(seed), "--latency", str(latency)]
    with subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *options, *(["--faulty"] if faulty else [])],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url, "the server did not start"
            yield Served(url, process.pid, log)
            assert process.poll() is None, "the server has ended"
        finally:
            process.kill()


def outcome_of(body: str, question: str, before: int, seed: int) -> str:
    """The outcome of a call to a faulty server."""
    if _fraction(f"refused {seed} {question}") < REFUSED:
        return "refused"
    drawn = _fraction(f"{seed} {body} {before}")
    for name, share in SHARES.items():
        drawn -= share
        if drawn < 0:
            return name
    return ANSWERED


def question_of(messages: Sequence[Mapping[str, str]]) -> str:
    """The digest of a chat, without the messages after an unreadable reply."""
    return _digest([dict(message) for message in messages[:2]])


def score_of(question: str) -> str:
    """The score of a question, with one decimal."""
    return f"{int(question[:12], 16) % 11 / 10:.1f}"


def _fraction(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass
class _Server:
    log: TextIO
    faulty: bool
    seed: int
    latency: float
    seen: Counter[str] = field(default_factory=Counter)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the calls of one connection until either side closes it."""
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._answer(reader, writer):
                await writer.drain()
        self.connections -= 1
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one call; returns whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        content = await reader.readexactly(length)
        if _SETTLED in head.split("\r\n")[0]:
            while self.connections > 1:
                await asyncio.sleep(_POLL)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return True
        call = self._write_down(json.loads(content))
        while self.seen.total() > self._limit():
            if reader.at_eof() or writer.is_closing():
                return False
            await asyncio.sleep(_POLL)
        if call.outcome == "hung":
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(reader.read(1), _LONGEST_HANG)
            return False
        if call.outcome == "dropped":
            return False
        if self.latency:
            await asyncio.sleep(self.latency)
        status, headers, content = _reply(call)
        payload = json.dumps(content).encode()
        writer.write(
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: application/json\r\n"
            f"{headers}Content-Length: {len(payload)}\r\n\r\n".encode()
            + payload
        )
        return True

    def _limit(self) -> float:
        with contextlib.suppress(FileNotFoundError):
            return float(_limit_beside(Path(self.log.name)).read_text(encoding="utf-8"))
        return math.inf

    def _write_down(self, body: dict[str, Any]) -> Call:
        digest, question = _digest(body), question_of(body["messages"])
        before = self.seen[digest]
        self.seen[digest] += 1
        outcome = outcome_of(digest, question, before, self.seed) if self.faulty else ANSWERED
        call = Call(digest, question, len(body["messages"]) > 2, before, outcome)
        # One write per line, always appended: a reader hardly ever sees half a line.
        self.log.write(json.dumps(vars(call)) + "\n")
        self.log.flush()
        return call


def _reply(call: Call) -> tuple[int, str, object]:
    """Status, headers and JSON."""
    if call.outcome == "throttled":
        return 429, f"Retry-After: {RETRY_AFTER}\r\n", _error("slow down")
    if call.outcome == "failed":
        return 500, "", _error("out of order")
    text, finish = f"A reason.\nScore: {score_of(call.question)}", "stop"
    if call.outcome == "unusable":
        # Always different, so that each reminder has a new body.
        text = f"Hard to say ({call.body[:16].translate(_LETTERS)})."
    if call.outcome == "refused":
        text, finish = "", "content_filter"
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant"}}
    choice["message"] = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return (
        *(200, ""),
        {"id": "1", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage},
    )


def _error(message: str) -> object:
    return {"error": {"message": message, "type": "error", "code": None}}


async def _main() -> None:
    parser = argparse.ArgumentParser(description="A fake judge that fails on purpose.")
    parser.add_argument("--log", required=True, help="file for one line of JSON per call")
    parser.add_argument("--faulty", action="store_true", help="fail in all known ways")
    parser.add_argument("--seed", type=int, default=0, help="seed of the failures")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per reply")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    with open(options.log, "a", encoding="utf-8") as log:
        server = _Server(log, options.faulty, options.seed, options.latency)
        listening = await asyncio.start_server(
            server.serve, "127.0.0.1", options.port, backlog=256, limit=2**22
        )
        port = listening.sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}/v1", flush=True)
        await listening.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main())

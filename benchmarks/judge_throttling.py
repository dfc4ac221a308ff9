"""Speed of the judge engine with servers that refuse calls with 429, relative to the optimum.

Asks local servers, each in its own process, with the engine and the HTTP client of a run:

- random: every tenth call is refused, even at a low concurrency; the bound is the clean run
  (there are 1.11 times as many calls);
- hard: the ninth concurrent call is refused at once; the bound is calls x latency / 8;
- bucket: more than 20 calls a second are refused, with Retry-After; the bound is calls / 20.

Prints the wall-clock time of each, its ratio to the bound, and the share of calls refused.

Run: ``python -m benchmarks.judge_throttling`` (about two minutes; no data needed)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Request
from lmms_rpts.scoring.work import ordered, run_async

AT_ONCE, RATE = 8, 20.0
SHARE = 0.1


class Clean:
    """Answers every call after ``latency`` seconds."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.active = 0

    def refusal(self) -> float | None:
        """Seconds of Retry-After if the next call is refused, 0 without; None if it isn't."""
        return None


class Random(Clean):
    """Refuses calls at random, after ``latency`` seconds."""

    def __init__(self, latency: float) -> None:
        super().__init__(latency)
        self._luck = random.Random(0)

    def refusal(self) -> float | None:
        return 0.2 if self._luck.random() < SHARE else None


class Hard(Clean):
    """Refuses calls above a maximum concurrency."""

    def refusal(self) -> float | None:
        return 0.0 if self.active >= AT_ONCE else None


class Bucket(Clean):
    """Refuses calls above a maximum rate; a burst of one second's calls is allowed."""

    def __init__(self, latency: float) -> None:
        super().__init__(latency)
        self._tokens, self._filled = RATE, time.monotonic()

    def refusal(self) -> float | None:
        now = time.monotonic()
        self._tokens = min(RATE, self._tokens + (now - self._filled) * RATE)
        self._filled = now
        if self._tokens < 1:
            return (1 - self._tokens) / RATE
        self._tokens -= 1
        return None


SERVERS = {"clean": Clean, "random": Random, "hard": Hard, "bucket": Bucket}


@contextmanager
def serving(kind: str, latency: float) -> Iterator[tuple[str, Any, Any]]:
    """A server in its own process: its URL, its calls and its refusals so far."""
    calls, refused = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(
        target=_serve, args=(theirs, kind, latency, calls, refused), daemon=True
    )
    process.start()
    try:
        yield ours.recv(), calls, refused
    finally:
        process.kill()


def _serve(
    ready: Connection,
    kind: str,
    latency: float,
    calls: Synchronized[int],
    refused: Synchronized[int],
) -> None:
    server = SERVERS[kind](latency)

    async def respond() -> bytes:
        calls.value += 1
        wait = server.refusal()
        if wait is not None:
            refused.value += 1
            if kind == "random":
                await asyncio.sleep(latency)
            said = f"retry-after: {wait:.3f}\r\n" if wait else ""
            return _response("429 Too Many Requests", said, {"error": {"message": "slow down"}})
        server.active += 1
        await asyncio.sleep(latency)
        server.active -= 1
        message = {"role": "assistant", "content": json.dumps({"reason": "any", "score": 0.5})}
        usage = {"prompt_tokens": 400, "completion_tokens": 20}
        choice = {"message": message, "finish_reason": "stop"}
        return _response("200 OK", "", {"choices": [choice], "usage": usage})

    asyncio.run(_listen(ready, respond))


async def _listen(ready: Connection, respond: Callable[[], Any]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(await respond())
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
    ready.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    await server.serve_forever()


def _response(status: str, headers: str, content: object) -> bytes:
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def ask(kind: str, count: int, concurrency: int, latency: float) -> tuple[float, float]:
    """Seconds that ``count`` questions take, and the share of calls that was refused."""
    with serving(kind, latency) as (url, calls, refused):
        os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        settings = load_settings().model_copy(update={"concurrency": concurrency, "cache": None})

        async def work() -> tuple[float, list[str]]:
            async with open_client("openai:m", settings) as judge:
                await judge.ask(_question(-1))  # warm up: imports and connections
                before = time.perf_counter()
                asked = (judge.ask(_question(number)) for number in range(count))
                verdicts = ordered(asked, judge, total=count, label="", shown=False)
                failed = [verdict.error async for verdict in verdicts if verdict.error]
                return time.perf_counter() - before, failed

        seconds, failed = run_async(work())
        if failed:
            print(f"{kind}: {len(failed)} questions were not answered: {failed[0]}")
        return seconds, refused.value / calls.value


PROMPTS = Prompts()


def _question(number: int) -> Request:
    return PROMPTS.request("image", "en", facts=["a fact"], conclusion=f"question {number}")


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("--latency", type=float, default=0.5)
    options.add_argument("--concurrency", type=int, default=32)
    options.add_argument(
        "--calls", type=int, default=1000, help="number of calls; half of them for hard and bucket"
    )
    parsed = options.parse_args()
    calls, latency = parsed.calls, parsed.latency
    half = max(1, calls // 2)
    print(f"{parsed.concurrency} at a time, {latency} s each")
    print(f"{'server':>8} {'questions':>9} {'seconds':>8} {'bound':>7} {'ratio':>7} {'429':>6}")
    clean = 0.0
    for kind, count in (("clean", calls), ("random", calls), ("hard", half), ("bucket", half)):
        seconds, share = ask(kind, count, parsed.concurrency, latency)
        clean = clean or seconds
        bound = {
            "clean": count * latency / parsed.concurrency,
            "random": clean,
            "hard": count * latency / AT_ONCE,
            "bucket": max(latency, (count - RATE) / RATE),
        }[kind]
        ratio = seconds / bound
        print(f"{kind:>8} {count:>9} {seconds:>8.2f} {bound:>7.2f} x{ratio:>6.2f} {share:>6.1%}")


if __name__ == "__main__":
    main()

"""Speed of the judge engine, relative to the bound set by the server's latency.

Scores the gold reasonings of RPTS-Eval against a local server that takes 200 ms for each answer.
For several concurrencies, it prints the wall-clock time as a ratio to the bound: the larger of
calls x latency / concurrency and the longest chain of dependent calls of one instance. It also
prints the speedup over sequential calls with the same client, and the time and number of calls of
a second run with all answers in the cache.

Run: ``python -m benchmarks.judge_throughput`` (data: ../shared/reference or LMMS_RPTS_REFERENCE)
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.reasoning import parse_chain, plan_steps, repair_chain
from lmms_rpts.scoring.steps import judge_step
from lmms_rpts.scoring.work import ordered, run_async
from tests.support.reference import find_reference

LANGUAGE: Literal["en"] = "en"


@contextmanager
def serving(latency: float, slots: int = 10_000) -> Iterator[tuple[str, Any]]:
    """A server in its own process: its URL and the number of calls so far.

    It answers ``slots`` calls at a time; the others wait in its queue.
    """
    calls = multiprocessing.Value("q", 0)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(
        target=_serve, args=(theirs, calls, latency, slots), daemon=True
    )
    process.start()
    try:
        yield ours.recv(), calls
    finally:
        process.kill()


def _serve(ready: Connection, calls: Synchronized[int], latency: float, slots: int) -> None:
    free = asyncio.Semaphore(slots)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                name = b"content-length:"
                length = next(
                    int(line[len(name) :])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(name)
                )
                body = await reader.readexactly(length)
                with calls:
                    calls.value += 1
                async with free:
                    await asyncio.sleep(latency)
                writer.write(_response(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
        ready.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        await server.serve_forever()

    asyncio.run(serve())


def _response(body: bytes) -> bytes:
    """A score derived from the question, so that some steps get a second question."""
    asked = json.dumps(json.loads(body)["messages"], sort_keys=True).encode()
    score = int(hashlib.sha256(asked).hexdigest(), 16) % 11 / 10
    said = json.dumps({"reason": "drawn", "score": score})
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}
    known = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    content = json.dumps({**known, "choices": [choice], "usage": usage}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


@dataclass(frozen=True)
class Outcome:
    """One run: seconds, calls, maximum number of questions about one step, and the scores."""

    seconds: float
    calls: int
    longest: int
    scores: list[float | None]


def score(plans: list[Any], calls: Any, concurrency: int, cache: Path | None) -> Outcome:
    """Score all planned steps."""
    options: Any = SimpleNamespace(prompts=Prompts())
    question: Any = SimpleNamespace(language=LANGUAGE, images=None)
    settings = load_settings().model_copy(update={"concurrency": concurrency, "cache": cache})

    async def work() -> list[Any]:
        async with open_client("openai:m", settings) as judge:
            steps = (judge_step(query, question, judge, options) for query in plans)
            return [step async for step in ordered(steps, judge, total=0, label="", shown=False)]

    before = calls.value
    start = time.perf_counter()
    steps = run_async(work())
    took = time.perf_counter() - start
    longest = max(len(verdicts) for _, verdicts, _ in steps)
    return Outcome(took, calls.value - before, longest, [value for value, _, _ in steps])


def plan(limit: int | None = None) -> list[Any]:
    """The questions about the gold reasonings, or about the first ``limit`` of them."""
    docs = json.loads(find_reference("rpts_eval", f"texts_{LANGUAGE}.json").read_text())[:limit]
    plans = []
    for doc in docs:
        chain = parse_chain(doc["reasoning"], LANGUAGE)
        images = len(doc["visual_clue"])
        chain = repair_chain(chain, doc["textual_clue"], lambda a, b: False, n_images=images)
        plans += plan_steps(chain, doc)
    print(f"{len(docs)} chains, {len(plans)} steps")
    return plans


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--latency", type=float, default=0.2)
    options.add_argument("--concurrency", type=int, nargs="+", default=[1, 8, 32, 64])
    options.add_argument("--limit", type=int, help="number of chains")
    parsed = options.parse_args()
    latency, plans = parsed.latency, plan(parsed.limit)
    columns = ("at a time", "calls", "seconds", "to bound", "to serial", "again")
    print("{:>9} {:>6} {:>8} {:>9} {:>10} {:>14}".format(*columns))
    serial = None
    with serving(latency) as (url, calls), tempfile.TemporaryDirectory() as folder:
        os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        score(plans[:100], calls, 32, None)  # imports and connections are not what is measured
        for concurrency in parsed.concurrency:
            cache = Path(folder) / str(concurrency)
            done = score(plans, calls, concurrency, cache)
            again = score(plans, calls, concurrency, cache)
            assert again.scores == done.scores
            serial = serial or (done.seconds if concurrency == 1 else done.calls * latency)
            bound = max(done.calls * latency / concurrency, done.longest * latency)
            print(
                f"{concurrency:>9} {done.calls:>6} {done.seconds:>8.2f} "
                f"x{done.seconds / bound:>8.2f} x{serial / done.seconds:>9.1f} "
                f"{again.seconds:>6.2f} s, {again.calls} calls"
            )


if __name__ == "__main__":
    main()

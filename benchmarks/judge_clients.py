"""The judge engine beside other clients of the same server.

Sends the first questions about the gold steps of RPTS-Eval to a local server that takes 200 ms
for each answer, with 32 and 64 calls at a time:

- engine: the judge engine as in a run (requests with a JSON schema, replies read and checked);
- AsyncOpenAI: openai's client with a semaphore, as most scripts have it;
- lmms-eval: its own judge client (``lmms_eval.llm_judge``, provider ``async_openai``);
- inspect_ai: its model API, if ``--inspect`` names a Python that has it.

The bound is calls x latency / calls at a time. Each client runs three times, in turn, and the best
run counts; processor time is that of the client alone.

Run: ``python -m benchmarks.judge_clients`` (data: ../shared/reference or LMMS_RPTS_REFERENCE)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.judge_throughput import plan, serving
from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Request
from lmms_rpts.reasoning import FixedScore
from lmms_rpts.scoring.work import ordered, run_async

REPEATS = 3

# Run by another Python: messages as JSON on standard input; prints seconds and processor seconds.
INSPECT = """
import asyncio, json, logging, sys, time
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
url, most = sys.argv[1], int(sys.argv[2])
made = {"system": ChatMessageSystem, "user": ChatMessageUser}
chats = [[made[m["role"]](content=m["content"]) for m in chat] for chat in json.load(sys.stdin)]
config = GenerateConfig(max_connections=most, max_tokens=512, temperature=0.0)
model = get_model("openai/m", base_url=url, api_key="none", config=config, responses_api=False)
async def main():
    await asyncio.gather(*(model.generate(chat) for chat in chats[:64]))
    wall, own = time.perf_counter(), time.process_time()
    said = await asyncio.gather(*(model.generate(chat) for chat in chats))
    assert all(reply.completion for reply in said)
    print(time.perf_counter() - wall, time.process_time() - own)
asyncio.run(main())
"""

Client = Callable[[list[Request], str, int], tuple[float, float]]


def engine(requests: list[Request], url: str, most: int) -> tuple[float, float]:
    """Seconds and processor seconds of the judge engine."""
    os.environ["OPENAI_BASE_URL"] = url
    settings = load_settings().model_copy(update={"concurrency": most, "cache": None})

    async def work() -> tuple[float, float]:
        async with open_client("openai:m", settings) as judge:
            warm = (replace(requests[0], chat=chat) for chat in WARM)
            await asyncio.gather(*map(judge.ask, warm))
            wall, own = time.perf_counter(), time.process_time()
            asked = (judge.ask(request) for request in requests)
            verdicts = [it async for it in ordered(asked, judge, total=0, label="", shown=False)]
            took = time.perf_counter() - wall, time.process_time() - own
            assert not [verdict for verdict in verdicts if verdict.value is None]
            assert judge.budget.calls == len(requests) + len(WARM)
            return took

    return run_async(work())


def async_openai(requests: list[Request], url: str, most: int) -> tuple[float, float]:
    """The same of openai's client with a semaphore."""
    from openai import AsyncOpenAI

    async def work() -> tuple[float, float]:
        free = asyncio.Semaphore(most)
        async with AsyncOpenAI(base_url=url, api_key="none") as client:

            async def ask(chat: Any) -> str:
                async with free:
                    said = await client.chat.completions.create(
                        model="m", messages=chat, max_tokens=512, temperature=0.0
                    )
                return str(said.choices[0].message.content)

            return await _timed(ask, [request.messages for request in requests])

    return asyncio.run(work())


def lmms_eval(requests: list[Request], url: str, most: int) -> tuple[float, float]:
    """The same of lmms-eval's own client of judges."""
    from lmms_eval.llm_judge import Request, ServerConfig
    from lmms_eval.llm_judge.providers.async_openai import AsyncOpenAIProvider

    os.environ |= {"OPENAI_API_URL": url, "OPENAI_API_KEY": "none"}
    try:

        async def work() -> tuple[float, float]:
            config = ServerConfig(model_name="m", max_tokens=512, max_concurrent=most)
            client = AsyncOpenAIProvider(config)

            async def ask(chat: Any) -> str:
                return (await client.evaluate_async(Request(messages=list(chat)))).content

            took = await _timed(ask, [request.messages for request in requests])
            await client.async_client.close()
            return took

        return asyncio.run(work())
    finally:
        del os.environ["OPENAI_API_URL"]


def inspect_ai(python: str) -> Client:
    """The same of inspect_ai, in its own Python."""

    def client(requests: list[Request], url: str, most: int) -> tuple[float, float]:
        chats = json.dumps([list(request.messages) for request in requests])
        command = [python, "-c", INSPECT, url, str(most)]
        done = subprocess.run(command, input=chats, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        seconds, processor = done.stdout.split()[-2:]
        return float(seconds), float(processor)

    return client


async def _timed(ask: Callable[[Any], Any], chats: Sequence[Any]) -> tuple[float, float]:
    await asyncio.gather(*(ask(chat) for chat in WARM))
    wall, own = time.perf_counter(), time.process_time()
    said = await asyncio.gather(*(ask(chat) for chat in chats))
    assert all(said)
    return time.perf_counter() - wall, time.process_time() - own


WARM = [[{"role": "user", "content": f"Warm up {number}: is it so?"}] for number in range(64)]


def first_questions(limit: int | None) -> list[Request]:
    """The first question about each gold step, each once."""
    prompts, found = Prompts(), {}
    fields: dict[str, Any]
    for query in plan(limit):
        if isinstance(query, FixedScore):
            continue
        if query.kind == "image":
            fields = {"facts": query.rounds[0]}
        else:
            fields = {"context": query.context, "premises": query.rounds[0]}
        request = prompts.request(query.kind, "en", conclusion=query.conclusion, **fields)
        found[request.key({})] = request
    return list(found.values())


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("--latency", type=float, default=0.2)
    options.add_argument("--concurrency", type=int, nargs="+", default=[32, 64])
    options.add_argument("--inspect", metavar="PYTHON", help="a Python with inspect_ai")
    options.add_argument("--limit", type=int, help="number of chains")
    parsed = options.parse_args()
    os.environ["OPENAI_API_KEY"] = "none"
    requests = first_questions(parsed.limit)
    clients: dict[str, Client] = {"engine": engine, "AsyncOpenAI": async_openai}
    clients["lmms-eval"] = lmms_eval
    if parsed.inspect:
        clients["inspect_ai"] = inspect_ai(parsed.inspect)
    print(f"{len(requests)} questions, {parsed.latency:g} s each")
    columns = ("at a time", "client", "seconds", "to bound", "ms of processor a call")
    print("{:>9} {:>12} {:>8} {:>9} {:>23}".format(*columns))
    with serving(parsed.latency) as (url, _):
        for most in parsed.concurrency:
            bound = len(requests) * parsed.latency / most
            runs: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
            for _ in range(REPEATS):
                for name, client in clients.items():
                    runs[name].append(client(requests, url, most))
            for name, took in runs.items():
                wall, own = min(each for each, _ in took), min(each for _, each in took)
                print(
                    f"{most:>9} {name:>12} {wall:>8.2f} x{wall / bound:>8.2f} "
                    f"{1000 * own / len(requests):>23.2f}"
                )


if __name__ == "__main__":
    main()

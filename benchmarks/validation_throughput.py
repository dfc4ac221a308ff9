"""Time of ``lmms-rpts validate`` for a set as large as ProcessBench, also after ``kill -9``.

Made-up chains in ProcessBench's layout are sent to a local server that takes 50 ms for each answer.
Prints the command's wall-clock time as a ratio to the bound (questions x latency / concurrency);
then the same with an empty cache, killed halfway and run again, with the number of questions that
were sent twice; last, a run with all answers in the cache.

Seen in November 2026 on two cores, shared with the server, with 16,500 requests and 32 at a time:
1.55 times the bound of 25.8 s, 8.8 s of it without calls (reading, building requests, metrics);
after ``kill -9`` the rest and the 32 requests in progress; from the cache no call.

Run: ``python -m benchmarks.validation_throughput``
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.judge_throughput import serving

STEPS = 5
CONCURRENCY = 32


def write_set(path: Path, questions: int) -> None:
    """Chains without errors, of five steps each, for this number of questions."""
    rows = [
        {
            "id": f"made-{at}",
            "generator": "none",
            "problem": f"A made-up problem, number {at}: what is {at} and {at} and one?",
            "steps": [f"Step {k} of {at}: {at} and {k} make {at + k}." for k in range(STEPS)],
            "final_answer_correct": True,
            "label": -1 if at % 2 else STEPS - 1,
        }
        for at in range(questions // STEPS)
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")


def command(data: Path) -> list[str]:
    """The command line of ``lmms-rpts validate``, run by this Python."""
    options = ["--judge", "openai:m", "--data", f"made={data}", "--all"]
    return [sys.executable, "-c", "from lmms_rpts.cli import app; app()", "validate", *options]


def timed(data: Path, environment: dict[str, str], calls: Any) -> tuple[float, int]:
    """Seconds and calls of one complete run."""
    before, start = calls.value, time.perf_counter()
    subprocess.run(command(data), env=environment, check=True, capture_output=True)
    return time.perf_counter() - start, calls.value - before


def killed(data: Path, environment: dict[str, str], calls: Any, after: int) -> int:
    """Number of calls of a run that is killed after ``after`` calls."""
    before = calls.value
    process = subprocess.Popen(
        command(data),
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while calls.value - before < after and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return int(calls.value - before)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--questions", type=int, default=16_500)
    options.add_argument("--latency", type=float, default=0.05)
    given = options.parse_args()
    bound = given.questions * given.latency / CONCURRENCY
    with serving(given.latency) as (url, calls), tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "made.json"
        write_set(data, given.questions)
        environment = os.environ | {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        environment["LMMS_RPTS_CONCURRENCY"] = str(CONCURRENCY)

        def cache(name: str) -> dict[str, str]:
            return environment | {"LMMS_RPTS_CACHE": str(Path(folder) / name)}

        seconds, made = timed(data, cache("whole"), calls)
        print(f"{given.questions:,} questions, {CONCURRENCY} at a time, {given.latency:g} s each")
        print(f"whole run: {seconds:.1f} s, x{seconds / bound:.2f} of the bound; {made:,} calls")
        first = killed(data, cache("killed"), calls, given.questions // 2)
        rest, second = timed(data, cache("killed"), calls)
        twice = first + second - given.questions
        print(
            f"killed after {first:,} calls, then {second:,} in {rest:.1f} s: {twice:,} questions "
            f"sent twice (at most {CONCURRENCY} were in progress)"
        )
        again, none = timed(data, cache("whole"), calls)
        print(f"again, all in the cache: {again:.1f} s, {none:,} calls")


if __name__ == "__main__":
    main()

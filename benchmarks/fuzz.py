"""Fuzzed responses through the filters of RPTS-Eval: exceptions, time, memory.

Each response is generated from a seed, in one of three ways:

- a typical answer, changed at random: letters are replaced by others that match when case is
  ignored, digits by digits of other scripts, and combining marks, invisible characters, lone
  surrogates and repeated parts are inserted;
- random words that the rules recognise;
- random characters.

Each response is passed to ``rpts_transform``, ``rpts_score`` (judge: lexical) and
``rpts_aggregate``. ``benchmarks/grading.py`` fuzzes the grading of answers.

Prints the exceptions (responses left unscored because our code failed), the slowest responses, and
the memory of the process over time. The exit status is 1 if there was an exception, if a response
took over a second of processor time, or if memory grew by over 64 MB after the first tenth.

Run: python -m benchmarks.fuzz [--count 50000] [--seed 1]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loguru import logger
from tqdm import tqdm

from benchmarks.fuzz_responses import make_response
from lmms_rpts.filters.rpts import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.scoring.reading import FAULT

BATCH = 25
LONGEST_SECONDS = 1.0
MOST_GROWTH = 64 * 2**20
DEMO = Path(__file__).parents[1] / "lmms_rpts" / "demo"


class Pipeline:
    """The filters and the documents of the demo."""

    def __init__(self) -> None:
        self._instances = json.loads((DEMO / "instances.json").read_text(encoding="utf-8"))
        self._filters = (
            TransformFilter(judge="lexical"),
            ScoreFilter("lexical"),
            AggregateFilter(),
        )

    def run(self, responses: Sequence[str], source: random.Random) -> list[str]:
        """The reasons recorded for the responses on which our code failed."""
        docs = source.choices(self._instances, k=len(responses))
        resps: Any = [[response] for response in responses]
        for each in self._filters:
            resps = each.apply(resps, docs)
        reasons = [json.loads(record)["reason"] or "" for record in resps]
        return [reason for reason in reasons if FAULT in reason]


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress the filters' progress bars and logs, which would appear for each batch."""
    logger.remove()
    shown = sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stderr = nowhere
        try:
            yield
        finally:
            sys.stderr = shown


def memory() -> int:
    """Memory of this process in bytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Run the benchmark described in the module docstring."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--count", type=int, default=50_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    source, pipeline = random.Random(chosen.seed), Pipeline()
    faults: Counter[str] = Counter()
    slowest: list[tuple[float, str]] = []
    held: list[int] = []
    batches = range(0, chosen.count, BATCH)
    bar = tqdm(batches, unit="batch", file=sys.stderr)
    for number, _ in enumerate(bar):
        responses = [make_response(source) for _ in range(BATCH)]
        state = source.getstate()
        with _quietly():
            took, found = _timed(pipeline, responses, source)
            faults.update(found)
            if took > LONGEST_SECONDS:  # find the slow one: run each response alone
                for response in responses:
                    source.setstate(state)
                    slowest.append((_timed(pipeline, [response], source)[0], response))
        slowest = sorted(slowest, reverse=True)[:5]
        if number % max(1, len(batches) // 10) == 0:
            held.append(memory())
    return _report(len(batches) * BATCH, faults, slowest, held)


def _timed(
    pipeline: Pipeline, responses: Sequence[str], source: random.Random
) -> tuple[float, list[str]]:
    started = time.process_time()
    found = pipeline.run(responses, source)
    return time.process_time() - started, found


def _report(
    count: int, faults: Counter[str], slowest: Sequence[tuple[float, str]], held: Sequence[int]
) -> int:
    print(f"{count:,} responses, each through the three filters")
    print(f"exceptions: {sum(faults.values())}")
    for reason, many in faults.most_common(20):
        print(f"  {many} x {reason!a}")
    for took, response in slowest:
        print(f"{took:6.2f} s, {len(response):,} characters: {response[:100]!a}")
    print("memory, MB: " + ", ".join(f"{each / 2**20:.0f}" for each in held))
    settled = held[1:] or held
    grown = settled[-1] - settled[0] > MOST_GROWTH
    slow = any(took > LONGEST_SECONDS for took, _ in slowest)
    return int(bool(faults) or grown or slow)


if __name__ == "__main__":
    sys.exit(main())

"""Processor time and memory of ``lmms-rpts score`` with the lexical judge, by number of responses.

Writes each response of the demo as often as needed, scores them in a process of its own, and prints
time and memory as ratios to the smallest number of responses.

Run: ``python -m benchmarks.score_responses``
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import lmms_rpts

DEMO = Path(lmms_rpts.__file__).parent / "demo" / "responses" / "careful.jsonl"
_MEASURED = """
import resource, sys
from lmms_rpts.cli import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    status = end.code
used = resource.getrusage(resource.RUSAGE_SELF)
print("measured", status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def measure(count: int, folder: Path) -> tuple[float, float]:
    """Seconds of the processor, and MiB at the peak, for so many responses."""
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    file = folder / f"{count}.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for at in range(count):
            row = rows[at % len(rows)]
            out.write(json.dumps(row | {"response": f"{row['response']}\n"}) + "\n")
    words = ["score", str(file), "--judge", "lexical", "-o", str(folder / f"out-{count}")]
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *words],
        env={**os.environ, "LMMS_RPTS_CACHE": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    _, status, seconds, memory = done.stdout.splitlines()[-1].split()
    assert status in ("0", "None"), done.stdout + done.stderr
    return float(seconds), float(memory)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", type=int, nargs="*", default=[14, 416, 5_000, 20_000])
    counts = parser.parse_args().counts
    with tempfile.TemporaryDirectory() as folder:
        first: tuple[float, float] | None = None
        print("responses  seconds  MiB  seconds per 1,000 above the first  MiB above the first")
        for count in counts:
            seconds, memory = measure(count, Path(folder))
            first = first or (seconds, memory)
            more = (seconds - first[0]) / max(1, count - counts[0]) * 1000
            print(
                f"{count:9,}  {seconds:7.1f}  {memory:4.0f}  {more:7.2f}  {memory - first[1]:6.0f}"
            )
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()

"""Processor time of ``lmms-rpts summarize`` and ``compare`` on 10 runs of 416 responses.

Gate: `summarize` of all ten takes at most 3 s of processor time, start included. The bound is a
process that starts the command and parses the same lines as JSON.

Run: python -m benchmarks.summaries
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report_size import write_responses

RUNS = 10
_PARSE = """
import json, pathlib, sys
import lmms_rpts.cli
for folder in sys.argv[1:]:
    for path in pathlib.Path(folder).rglob("*.jsonl"):
        for line in path.open(encoding="utf-8"):
            json.loads(json.loads(line)["filtered_resps"])
"""


def main() -> None:
    """Write the runs and measure the commands."""
    with tempfile.TemporaryDirectory() as folder:
        places = [str(Path(folder) / f"model-{at}") for at in range(RUNS)]
        for at, place in enumerate(places):
            write_responses(Path(place), f"model-{at}")
        bound = _seconds([sys.executable, "-c", _PARSE, *places])
        print(f"{'start, and lines as JSON':34}{bound:6.2f} s of processor time")
        for name, arguments in (
            ("summarize, 10 runs", ["summarize", *places]),
            ("summarize --by task --all, 10 runs", ["summarize", *places, "--by", "task", "--all"]),
            ("compare, 2 runs", ["compare", *places[:2]]),
        ):
            command = [sys.executable, "-c", "from lmms_rpts.cli import app; app()", *arguments]
            seconds = _seconds(command)
            print(f"{name:34}{seconds:6.2f} s, {seconds / bound:.1f} times the first")


def _seconds(command: list[str]) -> float:
    """The processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()

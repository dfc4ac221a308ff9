"""Processor time of the analysis commands, on small saved runs and on runs of 416 responses.

The small runs are those of tests/fixtures/saved_runs; the large ones those of
``benchmarks.report_size`` (LMMS_RPTS_REFERENCE or ../shared/reference), without images. Each
command starts in a new process; the table has the smallest sum of user and system time.

Run: python -m benchmarks.command_times [--repeats 5] [COMMAND ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report_size import MODELS, write_responses
from tests.support.saved_runs import SAVED

_START = "from lmms_rpts.cli import app; app()"
_COMMANDS = (
    "--version",
    "summarize --help",
    "summarize SMALL",
    "compare SMALL OTHER",
    "sweep SMALL",
    "export SMALL -o FOLDER/small.jsonl",
    "export SMALL -o FOLDER/small.csv",
    "report SMALL -o FOLDER/small.html",
    "rate SMALL -o FOLDER/sheet.html",
    "agreement SMALL OTHER",
    "tree SMALL --id 0 -o FOLDER/tree.svg",
    "summarize GRADED",
    "cache info --folder FOLDER",
    "summarize LARGE",
    "compare LARGE LARGE2",
    "sweep LARGE",
    "export LARGE -o FOLDER/large.jsonl",
    "export LARGE -o FOLDER/large.csv",
    "report LARGE -o FOLDER/large.html --no-images",
)


def main() -> None:
    """Print the times of the commands."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("commands", nargs="*", help="names of commands; default: all")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        places = {
            "SMALL": str(SAVED / "careful"),
            "OTHER": str(SAVED / "lucky"),
            "GRADED": str(SAVED / "rome"),
            "LARGE": str(work / MODELS[0]),
            "LARGE2": str(work / MODELS[1]),
        }
        for model in MODELS:
            write_responses(work / model, model)
        print(f"{'command':50}{'processor s':>12}")
        for command in _COMMANDS:
            if chosen.commands and command.split()[0] not in chosen.commands:
                continue
            given = [places.get(each, each).replace("FOLDER", folder) for each in command.split()]
            _seconds(given)  # writes the byte code
            took = min(_seconds(given) for _ in range(chosen.repeats))
            print(f"{command:50}{took:12.2f}", flush=True)


def _seconds(arguments: list[str]) -> float:
    """User and system time of a command, in seconds."""
    variables = {**os.environ, "LMMS_RPTS_CACHE": "off"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", _START, *arguments], env=variables, check=True, capture_output=True
    )
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


if __name__ == "__main__":
    main()

"""The benchmark scripts run. Their figures are not checked."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.support.fork_server import ROOT
from tests.support.lmms import run
from tests.support.reference import reference
from tests.support.tables import table


@pytest.mark.slow
@table(
    "command, shown",
    ("judge_throughput --limit 4 --concurrency 4", "0 calls"),
    ("judge_throttling --calls 32 --latency 0.05", "429"),
    ("interval_coverage --samples 5", "60 to 98% at 1"),
    ("fuzz --count 30", "exceptions: 0"),
    ("grading --fuzz 100 --disagreements --undecided", "exceptions: 0"),
)
def test_a_benchmark_runs(command: str, shown: str) -> None:
    reference("rpts_eval")
    reference("cmmath")
    name, *options = shlex.split(command)
    done = run([sys.executable, "-m", f"benchmarks.{name}", *options], cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert shown in done.stdout

"""The benchmarks still run; what they measure is for people to read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lmms import clean_environment
from tests.support.reference import reference

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("judge_throughput", "--limit", "8", "--concurrency", "4"), "0 calls"),
        (("judge_validity", "--limit", "6"), "inference"),
        (("cmmath_grading", "--disagreements", "--undecided"), "grades per second"),
    ],
)
def test_a_benchmark_runs(arguments: tuple[str, ...], told: str) -> None:
    reference("rpts_eval")
    reference("cmmath")
    name, *options = arguments
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert told in done.stdout

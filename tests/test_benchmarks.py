"""The benchmark scripts run. Their figures are not checked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.lmms import run
from tests.support.reference import reference

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("judge_throughput", "--limit", "8", "--concurrency", "4"), "0 calls"),
        (("judge_throttling", "--calls", "64", "--latency", "0.05"), "429"),
        (("judge_validity", "--limit", "6"), "inference"),
        (("interval_coverage", "--samples", "20"), "guarded"),
        (("gaming", "--limit", "16", "--language", "en"), "superiority"),
        (("fuzz", "--count", "100"), "exceptions: 0"),
        (("cmmath_grading", "--disagreements", "--undecided"), "grades per second"),
    ],
)
def test_a_benchmark_runs(arguments: tuple[str, ...], told: str) -> None:
    reference("rpts_eval")
    reference("cmmath")
    name, *options = arguments
    done = run([sys.executable, "-m", f"benchmarks.{name}", *options], cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert told in done.stdout


def test_benchmarks_need_the_installed_package_alone() -> None:
    """All modules import without the packages that only tests need."""
    names = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
    assert "judge_validity" in names
    missing = ("pytest", "hypothesis", "playwright", "axe_playwright_python", "decord", "build")
    code = (
        f"import importlib, sys\nsys.modules.update(dict.fromkeys({missing}))\n"
        f"for name in {names}:\n    importlib.import_module(f'benchmarks.{{name}}')\n"
    )
    done = run([sys.executable, "-c", code], cwd=ROOT, importing=True)
    assert done.returncode == 0, done.stdout

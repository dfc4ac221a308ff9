"""Runs sorted by benchmark, for the report and commands that read one run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lmms_rpts.analysis.frames import benchmark_of
from lmms_rpts.analysis.frames import read_runs as read_runs
from lmms_rpts.runs import reading
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.registry import BENCHMARKS

AllRuns = dict[str, tuple[Run, ...]]
"""Runs by the name of their benchmark, those of RPTS first."""


def sort_runs(runs: Iterable[Run]) -> AllRuns:
    """Sort runs by their benchmark; raises RunError for records of an unknown type."""
    found: dict[str, list[Run]] = {name: [] for name in BENCHMARKS}
    for run in runs:
        found[benchmark_of([run]).name].append(run)
    return {name: tuple(own) for name, own in found.items() if own}


def read_run(path: str | Path) -> Run:
    """Read the only run in ``path`` that RPTS scored."""
    runs = reading.read_runs([path], {RptsRecord.SCHEMA: RptsRecord})
    if len(runs) > 1:
        named = "".join(f"\n  {run.files[0]}" for run in runs)
        raise RunError(f"{path} contains {len(runs)} runs; pass one of:{named}")
    return runs[0]

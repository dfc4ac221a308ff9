"""Runs of all benchmarks, as commands and scripts read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from lmms_rpts.runs import reading
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.rounds import differing_coverage, rounds_of
from lmms_rpts.runs.run import Run, join_rounds
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.registry import BENCHMARKS

AllRuns = dict[str, tuple[Run, ...]]
"""Runs by the name of their benchmark, those of RPTS first."""


def read_runs(paths: str | Path | Iterable[str | Path]) -> list[Run]:
    """Read the runs of all benchmarks in folders that lmms-eval wrote, or in samples files.

    ``LABEL=PATH`` names a run. Parts of one run are joined, rounds of a model are numbered.

    Raises:
        RunError: with the file, the line and the remedy, if something cannot be read.
    """
    benchmarks = BENCHMARKS.values()
    records = {each.record.SCHEMA: each.record for each in benchmarks}
    return reading.read_runs(paths, records, [each.foreign for each in benchmarks if each.foreign])


def read_all_runs(paths: Iterable[str | Path]) -> AllRuns:
    """Read the runs of all benchmarks at these paths, by the name of the benchmark."""
    return sort_runs(read_runs(paths))


def sort_runs(runs: Iterable[Run]) -> AllRuns:
    """Sort runs by their benchmark; raises RunError as ``benchmark_of_runs``."""
    found: dict[str, list[Run]] = {name: [] for name in BENCHMARKS}
    for run in runs:
        found[benchmark_of_runs([run]).name].append(run)
    return {name: tuple(own) for name, own in found.items() if own}


def benchmark_of_runs(runs: Iterable[Run]) -> Benchmark:
    """The benchmark of all of these runs, by the type of their records.

    Raises:
        RunError: if they have none, several, or records of an unknown type.
    """
    kinds = {type(record) for run in runs for record in run.responses[:1]}
    found = [each for each in BENCHMARKS.values() if each.record in kinds]
    if len(found) != 1 or len(kinds) != 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "none"
        raise RunError(f"The runs should be of one benchmark; types of their records: {names}")
    return found[0]


def read_run(path: str | Path) -> Run:
    """Read the only run in ``path`` that RPTS scored."""
    runs = reading.read_runs([path], {RptsRecord.SCHEMA: RptsRecord})
    if len(runs) > 1:
        raise RunError(f"{path} contains {len(runs)} runs; pass one of:{_listed(runs)}")
    return runs[0]


def read_rounds(path: str | Path, runs: Sequence[Run]) -> tuple[Run, list[str]]:
    """The rounds of the only model in ``path`` as one run, and their labels.

    Each response of a round is one more response to its document.
    """
    models = rounds_of(runs)
    if len(models) > 1:
        keys = {run.label: {each.instance.key for each in run.responses} for run in runs}
        gaps = "".join(
            f" (if they are rounds: {each}; a row with a null response fills a gap)"
            for each in differing_coverage("rounds", keys, "documents")
        )
        raise RunError(
            f"{path} contains runs of several models, or rounds with other settings or documents: "
            f"{', '.join(models)}{gaps}. Pass one of:{_listed(runs)}"
        )
    ((name, rounds),) = models.items()
    return join_rounds(rounds, name), [run.label for run in rounds]


def _listed(runs: Sequence[Run]) -> str:
    return "".join(f"\n  {run.files[0]}" for run in runs)

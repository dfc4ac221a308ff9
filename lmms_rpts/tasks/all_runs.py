"""Runs of all benchmarks, sorted into those that RPTS scored and those with graded answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.runs.reading import Foreign, holds_only, read_runs_of, split_label, types_in
from lmms_rpts.runs.record import Record
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.benchmark import Benchmark, benchmarks, record_types
from lmms_rpts.tasks.rpts_eval.runs import Run, read_runs

if TYPE_CHECKING:
    from lmms_rpts.tasks.grade_types import Grading


@dataclass(frozen=True)
class AllRuns:
    """Runs sorted by the type of their records.

    Attributes:
        rpts: runs that RPTS scored.
        graded: runs with graded answers, by benchmark name.
    """

    rpts: tuple[Run, ...] = ()
    graded: Mapping[str, tuple[AnyRun, ...]] = field(default_factory=dict)

    @property
    def by_benchmark(self) -> dict[str, tuple[AnyRun, ...]]:
        """The runs by benchmark name, those of RPTS first."""
        return {**({"rpts": self.rpts} if self.rpts else {}), **self.graded}

    @property
    def every(self) -> tuple[AnyRun, ...]:
        """All runs."""
        return tuple(run for runs in self.by_benchmark.values() for run in runs)


def read_all_runs(paths: Sequence[str | Path]) -> AllRuns:
    """Read the runs of RPTS and of graded benchmarks at these paths.

    A folder may contain both. Each path must contain at least one run.

    Raises:
        RunError: if a file can't be read; the message has the file, the line and the remedy.
    """
    if holds_only(paths, RptsRecord):  # the types of other records are not imported
        return AllRuns(tuple(read_runs(paths)))
    graded = {name: each for name, each in benchmarks().items() if each.grades}
    types = {name: _record_of(each) for name, each in graded.items()}
    scored: list[str | Path] = []
    places: dict[str, list[str | Path]] = {name: [] for name in graded}
    for path in paths:
        there = types_in([path], [RptsRecord, *types.values()])
        own = [name for name, record in types.items() if record in there]
        own += [name for name in graded if name not in own and _holds_foreign(graded[name], path)]
        for name in own:
            places[name].append(path)
        if RptsRecord in there:
            scored.append(path)
        elif not own:
            _refuse(path, graded.values())
    found = {
        name: tuple(read_runs_of(types[name], chosen, record_types, foreign_of(graded[name])))
        for name, chosen in places.items()
        if chosen
    }
    # Without a path, the error of the reader says what to pass.
    return AllRuns(tuple(read_runs(scored)) if scored or not found else (), found)


def sort_runs(runs: Iterable[AnyRun]) -> AllRuns:
    """Sort runs by the type of their records.

    Raises:
        RunError: for a run with records of an unknown type, or without any.
    """
    types = {_record_of(each): name for name, each in benchmarks().items() if each.grades}
    scored: list[Any] = []
    graded: dict[str, list[AnyRun]] = {name: [] for name in types.values()}
    for run in runs:
        kind = type(run.responses[0]) if run.responses else None
        if kind is RptsRecord:
            scored.append(run)
        elif kind in types:
            graded[types[kind]].append(run)
        else:
            what = "no responses" if kind is None else f"records of the unknown type {kind}"
            raise RunError(f"The run {run.label} contains {what}")
    return AllRuns(tuple(scored), {name: tuple(each) for name, each in graded.items() if each})


def grading_of(name: str) -> Grading:
    """How runs of a benchmark are summarized, those that RPTS scored as well."""
    place = benchmarks()[name].grades or "lmms_rpts.tasks.rpts_eval.summary:GRADING"
    grading: Grading = resolve_name(place)
    return grading


def foreign_of(benchmark: Benchmark) -> Foreign | None:
    """The reader of a benchmark's third-party results; None if there is none."""
    return None if benchmark.foreign is None else resolve_name(benchmark.foreign)


def _record_of(benchmark: Benchmark) -> type[Record]:
    record: type[Record] = resolve_name(str(benchmark.record))
    return record


def _holds_foreign(benchmark: Benchmark, path: str | Path) -> bool:
    reader = foreign_of(benchmark)
    return reader is not None and reader(split_label(path)[1]) is not None


def _refuse(path: str | Path, graded: Iterable[Benchmark]) -> None:
    """Raise for a path without records of this package.

    Raises:
        RunError: always; without samples, the reader's own error.
    """
    place = split_label(path)[1]
    if not place.is_dir() or not any("_samples_" in each.name for each in place.rglob("*.jsonl")):
        read_runs([path])
    titles = ", ".join(each.title for each in graded)
    raise RunError(
        f"{place} contains samples, but neither RPTS scores nor graded answers of {titles}. Score "
        "them with lmms-rpts score, or pass a run that used lmms-rpts filters (--log_samples)"
    )

"""Runs of all benchmarks, by their names, and the functions for which these are all alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from lmms_rpts.runs.reading import Foreign, holds_only, read_runs_of, split_label, types_in
from lmms_rpts.runs.record import Record
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.samples import SAMPLES, RunError
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.graded import GradeSummary, summarize_grades
from lmms_rpts.tasks.registry import BENCHMARKS
from lmms_rpts.tasks.rpts_eval import runs as rpts
from lmms_rpts.tasks.rpts_eval.relations import label_runs

if TYPE_CHECKING:
    from lmms_rpts.tasks.grade_types import Grading


class AllRuns(dict[str, tuple[AnyRun, ...]]):
    """Runs by the name of their benchmark, those of RPTS first."""

    @property
    def every(self) -> tuple[AnyRun, ...]:
        """All runs."""
        return tuple(chain.from_iterable(self.values()))


def read_runs(paths: str | Path | Iterable[str | Path]) -> list[AnyRun]:
    """Read the runs of all benchmarks in folders that lmms-eval wrote, or in samples files.

    ``LABEL=PATH`` names a run. Parts of one run are joined, rounds of a model are numbered.

    Raises:
        RunError: with the file, the line and the remedy, if something cannot be read.
    """
    listed = [paths] if isinstance(paths, str | Path) else [*paths]
    return list(read_all_runs(listed).every)


def summarize(
    runs: Sequence[AnyRun], by: Sequence[str] = (), task: str | None = None
) -> GradeSummary:
    """Summarize runs of one benchmark side by side: see ``summarize_grades``."""
    return summarize_grades(shared_grading(runs), runs, by, task)


def read_all_runs(paths: Sequence[str | Path]) -> AllRuns:
    """Read the runs of all benchmarks at these paths.

    A folder may contain several. Each path must contain at least one run.
    """
    if holds_only(paths, RptsRecord):  # the types of other records are not imported
        return AllRuns(rpts=tuple(rpts.read_runs(paths)))
    known = {name: each for name, each in BENCHMARKS.items() if each.grades}
    types = {name: _record_of(each) for name, each in known.items()}
    places: dict[str, list[str | Path]] = {name: [] for name in known}
    for path in paths:
        there, place = types_in([path], types.values()), split_label(path)[1]
        own = [
            name
            for name, each in known.items()
            if types[name] in there or ((reader := foreign_of(each)) and reader(place))
        ]
        if not own:
            _refuse(place, known.values())
        for name in own:
            places[name].append(path)
    found: dict[str, tuple[AnyRun, ...]] = {
        name: tuple(read_runs_of(types[name], chosen, foreign_of(known[name])))
        for name, chosen in places.items()
        if chosen
    }
    if "rpts" in found:
        found["rpts"] = tuple(label_runs(found["rpts"]))
    # Without a path, the error of the reader says what to pass.
    return AllRuns(found or {"rpts": tuple(rpts.read_runs(paths))})


def sort_runs(runs: Iterable[AnyRun]) -> AllRuns:
    """Sort runs by the type of their records.

    Raises:
        RunError: for a run with records of an unknown type, or without any.
    """
    types = {_record_of(each): name for name, each in BENCHMARKS.items() if each.grades}
    found = AllRuns(dict.fromkeys(types.values(), ()))
    for run in runs:
        kind = type(run.responses[0]) if run.responses else None
        if kind not in types:
            what = "no responses" if kind is None else f"records of the unknown type {kind}"
            raise RunError(f"The run {run.label} contains {what}")
        found[types[kind]] += (run,)
    return AllRuns({name: each for name, each in found.items() if each})


def shared_grading(runs: Iterable[AnyRun]) -> Grading:
    """How the benchmark of these runs is summarized.

    Raises:
        RunError: if they are of several benchmarks, or of none.
    """
    found = sort_runs(runs)
    if len(found) != 1:
        several = f"The runs are of several benchmarks: {', '.join(found)}"
        raise RunError(several if found else "No run to summarize")
    return grading_of(*found)


def grading_of(name: str) -> Grading:
    """How runs of a benchmark are summarized, those that RPTS scored as well."""
    grading: Grading = resolve_name(str(BENCHMARKS[name].grades))
    return grading


def foreign_of(benchmark: Benchmark) -> Foreign | None:
    """The reader of a benchmark's third-party results; None if there is none."""
    return None if benchmark.foreign is None else resolve_name(benchmark.foreign)


def _record_of(benchmark: Benchmark) -> type[Record]:
    record: type[Record] = resolve_name(str(benchmark.record))
    return record


def _refuse(place: Path, known: Iterable[Benchmark]) -> None:
    """Raise for a place without records of this package; without samples, the reader's error."""
    if not place.is_dir() or not any(SAMPLES in each.name for each in place.rglob("*.jsonl")):
        rpts.read_runs([place])
    titles = ", ".join(each.title for each in known if each.name != "rpts")
    raise RunError(
        f"{place} contains samples, but neither RPTS scores nor graded answers of {titles}. Score "
        "them with lmms-rpts score, or pass a run that used lmms-rpts filters (--log_samples)"
    )

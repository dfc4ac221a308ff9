"""The table of benchmarks, and what commands ask of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.settings import SettingError, Settings, Table
from lmms_rpts.judging.request_kinds import add_request_kinds
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.cmmath.benchmark import BENCHMARK as CMMATH
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval.benchmark import BENCHMARK as REFORM_EVAL
from lmms_rpts.tasks.rome.benchmark import BENCHMARK as ROME
from lmms_rpts.tasks.rpts_eval.benchmark import BENCHMARK as RPTS_EVAL

if TYPE_CHECKING:
    from lmms_rpts.runs.record import Record

BENCHMARKS: Mapping[str, Benchmark] = {
    each.name: each for each in (RPTS_EVAL, ROME, CMMATH, REFORM_EVAL)
}
"""All benchmarks by name."""
SETTINGS_TABLES: tuple[type[Table], ...] = (
    Settings,
    *(each.settings for each in BENCHMARKS.values() if each.settings),
)
"""The classes of all settings: those of this package, then those of each benchmark."""
SCORED = {task: each for each in BENCHMARKS.values() for task in each.scored}
"""The tasks and groups that RPTS scores, with their benchmarks."""
ANSWERED = {task: b for b in BENCHMARKS.values() for task in (*b.scored, *b.answered)}
"""Those, and the tasks and groups whose answers a benchmark grades."""

for _each in BENCHMARKS.values():
    add_request_kinds(_each.request_kinds)


class BenchmarkError(SettingError):
    """An unknown benchmark."""


def configuration() -> dict[str, Any]:
    """All settings as JSON, as the file would hold them; no secrets."""
    tables = {table.TABLE: table.load().model_dump(mode="json") for table in SETTINGS_TABLES}
    return tables.pop("") | tables


def get_benchmark(name: str) -> Benchmark:
    """The benchmark of this name.

    Raises:
        BenchmarkError: if it is unknown; the message names the nearest one, or all.
    """
    known = BENCHMARKS
    if name not in known:
        hint = did_you_mean(name, known) or f" Known benchmarks: {', '.join(known)}"
        raise BenchmarkError(f"Unknown benchmark {name!r}.{hint}")
    return known[name]


def benchmark_of(task: str) -> Benchmark | None:
    """The benchmark that a task or group belongs to by its name; None for third-party tasks."""
    return next((each for each in BENCHMARKS.values() if task.startswith(each.name)), None)


def filter_names() -> set[str]:
    """lmms-eval's names of the filters of all benchmarks; imports none of them."""
    return {name for each in BENCHMARKS.values() for name in each.filters}


def all_filters() -> dict[str, Any]:
    """The filter classes of all benchmarks, by lmms-eval's names."""
    places = [each.filters for each in BENCHMARKS.values()]
    return {name: resolve_name(place) for names in places for name, place in names.items()}


def record_types() -> list[type[Record]]:
    """The types of the records of all benchmarks."""
    return [resolve_name(each.record) for each in BENCHMARKS.values() if each.record]


def record_schema() -> dict[str, Any]:
    """The JSON schema of the records of all benchmarks."""
    from pydantic import TypeAdapter

    return TypeAdapter(reduce(or_, record_types())).json_schema(mode="serialization")


# --- documents, for commands that need no model --------------------------------------------------


def read_documents(task: str) -> Mapping[str, list[dict[str, Any]]]:
    """The documents of a task or group without their images, by their task."""
    known = ANSWERED
    if task not in known:
        hint = did_you_mean(task, known)
        raise DataError(f"Unknown task {task!r}.{hint} Known tasks: {', '.join(known)}")
    found: Mapping[str, list[dict[str, Any]]] = resolve_name(str(known[task].documents))(task)
    if not found:
        checks = known[task].data_checks()
        faults = [f"{each.said}. {each.remedy}" for each in checks if each.remedy]
        raise DataError(f"No question of {task} can be used: {'; '.join(faults)}")
    return found


def images_folder(task: str) -> Path | None:
    """The folder of the images of a task on this machine; None if there is none.

    The setting for the data comes first, then the cache of the Hub. Nothing is downloaded.
    """
    benchmark = SCORED.get(task) or _graded(task)
    if benchmark is None or benchmark.images is None:
        return None
    folder: Path | None = resolve_name(str(benchmark.images))(task)
    return folder


def _graded(task: str) -> Benchmark | None:
    """The benchmark that grades the answers to a task."""
    found = benchmark_of(task)
    return found if found is not None and found.grades else None

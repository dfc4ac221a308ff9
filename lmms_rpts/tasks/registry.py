"""The table of benchmarks, and what commands ask of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.settings import SettingError, Settings, Table, refuse_unknown
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.cmmath.task import BENCHMARK as CMMATH
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval.task import BENCHMARK as REFORM_EVAL
from lmms_rpts.tasks.rome.task import BENCHMARK as ROME
from lmms_rpts.tasks.rpts_eval.task import BENCHMARK as RPTS_EVAL

BENCHMARKS: Mapping[str, Benchmark] = {
    each.name: each for each in (RPTS_EVAL, ROME, CMMATH, REFORM_EVAL)
}
"""All benchmarks by name."""
TASKS: Mapping[str, Benchmark] = {
    name: each for each in BENCHMARKS.values() for name in (*each.tasks, *each.groups)
}
"""All tasks and groups, with their benchmarks."""
SETTINGS_TABLES: tuple[type[Table], ...] = (
    Settings,
    *(each.settings for each in BENCHMARKS.values()),
)
"""The classes of all settings: those of this package, then those of each benchmark."""
RPTS_FILTERS = ("rpts_transform", "rpts_score", "rpts_aggregate")

for _each in BENCHMARKS.values():
    KINDS.update((kind.name, kind) for kind in _each.judge)


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
    if name not in BENCHMARKS:
        hint = did_you_mean(name, BENCHMARKS) or f" Known benchmarks: {', '.join(BENCHMARKS)}"
        raise BenchmarkError(f"Unknown benchmark {name!r}.{hint}")
    return BENCHMARKS[name]


def benchmark_of(task: str) -> Benchmark | None:
    """The benchmark that a task or group belongs to by its name; None for third-party tasks."""
    return next((each for each in BENCHMARKS.values() if task.startswith(each.name)), None)


def data_of(dataset_path: object) -> Benchmark | None:
    """The benchmark whose data a task file names; None for other data."""
    return next((each for each in BENCHMARKS.values() if each.dataset == dataset_path), None)


OWN_DATASET = "lmms_rpts/own"
"""``dataset_path`` of own tasks."""


def data_sets() -> set[str]:
    """Each ``dataset_path`` whose documents this package makes."""
    return {OWN_DATASET, *(each.dataset for each in BENCHMARKS.values())}


def filter_names() -> set[str]:
    """lmms-eval's names of the filters of this package; imports none of them."""
    return {*RPTS_FILTERS, *(name for each in BENCHMARKS.values() for name in each.filters)}


def check_tasks(names: Iterable[str]) -> None:
    """Check the requirements of these tasks before a model is loaded.

    lmms-eval retries a failing data set for a minute and hides the reason; here it is reported
    immediately. Third-party tasks are ignored.
    """
    for name in names:
        if name in TASKS:
            refuse_unknown(SETTINGS_TABLES)
            for member in TASKS[name].groups.get(name, (name,)):
                TASKS[name].check(member)


# --- questions, for commands that need no model --------------------------------------------------


def read_questions(task: str) -> Mapping[str, tuple[Any, ...]]:
    """The questions of a task or group by their task; of a group, of those tasks that have any.

    Raises:
        DataError: if the task is unknown, or there is no question.
    """
    if task not in TASKS:
        known = ", ".join(TASKS)
        raise DataError(f"Unknown task {task!r}.{did_you_mean(task, TASKS)} Known tasks: {known}")
    benchmark = TASKS[task]
    members = benchmark.groups.get(task, (task,))
    read = {each: benchmark.load(benchmark.tasks[each]).questions for each in members}
    found = {each: questions for each, questions in read.items() if questions}
    if not found:
        benchmark.check(members[0])
        raise DataError(f"There is no question of {task}: see {benchmark.data_variable}")
    return found


def images_folder(task: str) -> Path | None:
    """The folder of the images of a task on this machine; None if there is none.

    The setting for the data comes first, then the cache of the Hub. Nothing is downloaded.
    """
    benchmark = TASKS.get(task) or benchmark_of(task)
    return benchmark.images(benchmark.tasks.get(task, "")) if benchmark else None

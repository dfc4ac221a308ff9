"""The Benchmark description, and the table of benchmarks.

Anything slow to import is given as ``package.module:name``, and is imported on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import or_
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.settings import SettingError, Settings, Table, refuse_unknown
from lmms_rpts.judging.request_kinds import KINDS, RequestKind

if TYPE_CHECKING:
    from lmms_rpts.runs.record import Record
    from lmms_rpts.scoring.scorer import Scorer
    from lmms_rpts.tasks.data import Check

_OURS = (
    "lmms_rpts.tasks.rpts_eval.benchmark:BENCHMARK",
    "lmms_rpts.tasks.rome.benchmark:BENCHMARK",
    "lmms_rpts.tasks.cmmath.benchmark:BENCHMARK",
    "lmms_rpts.tasks.reform_eval.benchmark:BENCHMARK",
)


class BenchmarkError(SettingError):
    """An unknown benchmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: prefix of the names of its tasks.
        title: its name in messages and tables.
        folder: the folder of its task files, for lmms-eval's index.
        settings: its settings, whose ``TABLE`` is its name. None: it has none.
        checks: the checks before a task or group runs, by its name: functions that raise DataError,
            JudgeConfigurationError or SettingError. None: no checks.
        examine: checks of its data for ``lmms-rpts doctor``; must not make large downloads.
        filters: lmms-eval filters, by their names in YAML files.
        scorer: returns the `Scorer` of a task, given its name, the settings and the judge if the
            settings name none.
        record: the type of its records; None: it has none of its own.
        grades: a `Grading`: how ``lmms-rpts summarize`` summarizes runs with such records.
        answers: an `AnswerGrader` of free-form answers, which ``lmms-rpts validate`` measures.
        foreign: reads third-party results, as ``runs.reading.Foreign``.
        request_kinds: its kinds of judge requests, in addition to those of RPTS.
        scored: its tasks and groups that RPTS scores, with the tasks of a group; ``lmms-rpts
            score`` accepts responses to them.
        answered: its tasks and groups whose answers it grades itself, as ``scored``, for
            ``lmms-rpts score``.
        documents: returns the documents of one of ``scored`` or ``answered``, without images, by
            task.
        images: returns the folder of a task's images on this machine, or None; no downloads.
        picture: returns the Pillow image of an instance whose record names no image, or None; its
            arguments are the instance and the folder of ``--images``, else of ``images``, or None.
            No downloads.
    """

    name: str
    title: str
    folder: Path
    settings: type[Table] | None = None
    checks: str | None = None
    examine: str | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    scorer: str | None = None
    record: str | None = None
    grades: str | None = None
    answers: str | None = None
    foreign: str | None = None
    request_kinds: tuple[RequestKind, ...] = ()
    scored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    documents: str | None = None
    images: str | None = None
    picture: str | None = None

    @property
    def data_variable(self) -> str:
        """The variable with the path of its data; empty if there is none."""
        if self.settings is None or "path" not in self.settings.model_fields:
            return ""
        return self.settings.variables("path")[0]

    def task_checks(self) -> Mapping[str, Callable[[], None]]:
        """The checks by task and group."""
        return {} if self.checks is None else dict(resolve_name(self.checks))

    def scorer_of(self, task: str, settings: Settings, judge: str | None = None) -> Scorer:
        """How responses to a task are scored; ``judge``: if the settings name none."""
        scorer: Scorer = resolve_name(str(self.scorer))(task, settings, judge)
        return scorer

    def data_checks(self) -> list[Check]:
        """The results of the checks of its data."""
        return [] if self.examine is None else list(resolve_name(self.examine)())


@cache
def benchmarks() -> Mapping[str, Benchmark]:
    """All benchmarks by name; read once."""
    found: dict[str, Benchmark] = {}
    for place in _OURS:
        benchmark: Benchmark = resolve_name(place)
        KINDS.update((each.name, each) for each in benchmark.request_kinds)
        found[benchmark.name] = benchmark
    return found


def refuse_unknown_settings() -> None:
    """Refuse misspelt LMMS_RPTS_* variables, and misspelt settings and tables of the file."""
    refuse_unknown([table.TABLE for table in settings_tables() if table.TABLE])


def settings_tables() -> list[type[Table]]:
    """The classes of all settings: those of this package, then those of each benchmark."""
    return [Settings, *(each.settings for each in benchmarks().values() if each.settings)]


def configuration() -> dict[str, Any]:
    """All settings as JSON, as the file would hold them; no secrets."""
    tables = {table.TABLE: table.load().model_dump(mode="json") for table in settings_tables()}
    return tables.pop("") | tables


def get_benchmark(name: str) -> Benchmark:
    """The benchmark of this name.

    Raises:
        BenchmarkError: if it is unknown; the message names the nearest one, or all.
    """
    known = benchmarks()
    if name not in known:
        hint = did_you_mean(name, known) or f" Known benchmarks: {', '.join(known)}"
        raise BenchmarkError(f"Unknown benchmark {name!r}.{hint}")
    return known[name]


def benchmark_of(task: str) -> Benchmark | None:
    """The benchmark that a task or group belongs to by its name; None for third-party tasks."""
    return next((each for each in benchmarks().values() if task.startswith(each.name)), None)


def filter_names() -> set[str]:
    """lmms-eval's names of the filters of all benchmarks; imports none of them."""
    return {name for each in benchmarks().values() for name in each.filters}


def all_filters() -> dict[str, Any]:
    """The filter classes of all benchmarks, by lmms-eval's names."""
    places = [each.filters for each in benchmarks().values()]
    return {name: resolve_name(place) for names in places for name, place in names.items()}


def record_types() -> list[type[Record]]:
    """The types of the records of all benchmarks."""
    return [resolve_name(each.record) for each in benchmarks().values() if each.record]


def record_schema() -> dict[str, Any]:
    """The JSON schema of the records of all benchmarks."""
    from pydantic import TypeAdapter

    return TypeAdapter(reduce(or_, record_types())).json_schema(mode="serialization")


# --- documents, for commands that need no model --------------------------------------------------


def scored_tasks() -> dict[str, Benchmark]:
    """The tasks and groups that RPTS scores, with their benchmarks."""
    return {task: each for each in benchmarks().values() for task in each.scored}


def answered_tasks() -> dict[str, Benchmark]:
    """The tasks and groups of ``scored_tasks``, and those whose answers a benchmark grades."""
    every = benchmarks().values()
    return {task: each for each in every for task in (*each.scored, *each.answered)}


def read_documents(task: str) -> Mapping[str, list[dict[str, Any]]]:
    """The documents of a task or group without their images, by their task."""
    from lmms_rpts.tasks.data import DataError

    known = answered_tasks()
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
    benchmark = scored_tasks().get(task) or _graded(task)
    if benchmark is None or benchmark.images is None:
        return None
    folder: Path | None = resolve_name(str(benchmark.images))(task)
    return folder


def _graded(task: str) -> Benchmark | None:
    """The benchmark that grades the answers to a task."""
    found = benchmark_of(task)
    return found if found is not None and found.grades else None

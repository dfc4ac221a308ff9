"""The Benchmark description, and the only registry of benchmarks.

Another package adds a benchmark through an entry point of the group ``lmms_rpts.benchmarks``, whose
value is a `Benchmark`. Anything slow to import is given as ``package.module:name``, and is imported
on first access.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from importlib.metadata import entry_points
from operator import or_
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.settings import SettingError, Settings, Table, refuse_unknown
from lmms_rpts.judging.request_kinds import RequestKind, add_request_kinds

if TYPE_CHECKING:
    from lmms_rpts.runs.record import Record
    from lmms_rpts.tasks.data import Check

GROUP = "lmms_rpts.benchmarks"
_OURS = (
    "lmms_rpts.tasks.rpts_eval.benchmark:BENCHMARK",
    "lmms_rpts.tasks.rome.benchmark:BENCHMARK",
    "lmms_rpts.tasks.cmmath.benchmark:BENCHMARK",
    "lmms_rpts.tasks.reform_eval.benchmark:BENCHMARK",
)


class BenchmarkError(SettingError):
    """An unknown benchmark, or two with the same name; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: prefix of the names of its tasks.
        title: its name in messages and tables.
        folder: the folder of its task files, for lmms-eval's index.
        built: its tasks and groups without a file, a mapping from each name to a function that
            builds its configuration; called with ``full=False`` it returns only what is known
            without settings and data.
        settings: its settings, whose ``TABLE`` is its name. None: it has none.
        checks: the checks before a task or group runs, by its name: functions that raise DataError,
            JudgeConfigurationError or SettingError. None: no checks.
        examine: checks of its data for ``lmms-rpts doctor``; must not make large downloads.
        filters: lmms-eval filters, by their names in YAML files.
        verifiers: lmms-eval verifiers, by their types.
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
            arguments are the instance and the folder of ``--images``, else of ``images`` or of the
            run's results, or None. No downloads.
        unforeseeable: why the judge requests of a run of these tasks cannot be estimated, for
            ``lmms-rpts estimate``; empty if they can.
    """

    name: str
    title: str
    folder: Path
    built: str | None = None
    settings: type[Table] | None = None
    checks: str | None = None
    examine: str | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    verifiers: Mapping[str, str] = field(default_factory=dict)
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
    unforeseeable: str = ""

    def __post_init__(self) -> None:
        if self.scored and not (self.documents and self.images):
            raise BenchmarkError(f"{self.name!r} sets scored: set documents and images as well")
        if self.grades and not self.record:
            raise BenchmarkError(f"{self.name!r} sets grades: set record as well")

    @property
    def data_variable(self) -> str:
        """The variable with the path of its data; empty if there is none."""
        if self.settings is None or "path" not in self.settings.model_fields:
            return ""
        return self.settings.variables("path")[0]

    def task_checks(self) -> Mapping[str, Callable[[], None]]:
        """The checks by task and group."""
        return {} if self.checks is None else dict(resolve_name(self.checks))

    def built_tasks(self) -> Mapping[str, Callable[..., dict[str, Any]]]:
        """The functions that build the configurations of its tasks and groups without a file."""
        return {} if self.built is None else dict(resolve_name(self.built))

    def data_checks(self) -> list[Check]:
        """The results of the checks of its data."""
        return [] if self.examine is None else list(resolve_name(self.examine)())


def benchmarks() -> Mapping[str, Benchmark]:
    """All benchmarks by name: the built-in ones, then those of other packages."""
    return registry()[0]


def broken_benchmarks() -> tuple[str, ...]:
    """Why benchmarks of other packages cannot be used, one sentence each."""
    return registry()[1]


@cache
def registry() -> tuple[Mapping[str, Benchmark], tuple[str, ...]]:
    """All benchmarks, and why others cannot be used; read once."""
    found: dict[str, Benchmark] = {}
    broken: list[str] = []
    for place in _OURS:
        _add(found, resolve_name(place))
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded = point.load()
        except Exception as error:  # an error of another package must not affect the rest
            broken.append(f"The benchmark {point.name} ({point.value}) cannot be used: {error}")
            from loguru import logger

            logger.error("{}", broken[-1])
            continue
        if not isinstance(loaded, Benchmark):
            raise BenchmarkError(
                f"The entry point {point.name} = {point.value} ({GROUP}) should name a Benchmark, "
                f"not {type(loaded).__name__}"
            )
        _add(found, loaded)
    for each in found.values():
        try:
            add_request_kinds(each.request_kinds)
        except ValueError as error:
            raise BenchmarkError(f"The benchmark {each.name!r}: {error}: rename it") from None
    return found, tuple(broken)


def refuse_unknown_settings() -> None:
    """Refuse misspelt LMMS_RPTS_* variables, and misspelt settings and tables of the file."""
    refuse_unknown([table.TABLE for table in settings_tables()])


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
    return _classes(each.filters for each in benchmarks().values())


def filter_class(name: str) -> Any:
    """The class of a filter."""
    known = {each: place for one in benchmarks().values() for each, place in one.filters.items()}
    if name not in known:
        raise BenchmarkError(f"Unknown filter {name!r}.{did_you_mean(name, known)}")
    return resolve_name(known[name])


def all_verifiers() -> dict[str, Any]:
    """The verifier classes of all benchmarks, except those whose module is partially imported."""
    base = sys.modules.get("lmms_rpts.tasks.verifiers")
    if base is not None and not hasattr(base, "RulesVerifier"):
        return {}  # their base is being imported: they are added after it
    return _classes((each.verifiers for each in benchmarks().values()), partial=True)


def record_types() -> list[type[Record]]:
    """The types of the records of all benchmarks."""
    return [resolve_name(each.record) for each in benchmarks().values() if each.record]


def record_schema() -> dict[str, Any]:
    """The JSON schema of the records of all benchmarks."""
    from pydantic import TypeAdapter

    return TypeAdapter(reduce(or_, record_types())).json_schema(mode="serialization")


def _classes(places: Iterable[Mapping[str, str]], partial: bool = False) -> dict[str, Any]:
    found = {}
    for names in places:
        for name, place in names.items():
            module, _, attribute = place.partition(":")
            loaded = resolve_name(module)
            if not partial or hasattr(loaded, attribute):
                found[name] = getattr(loaded, attribute)
    return found


def _add(found: dict[str, Benchmark], added: Benchmark) -> None:
    for other in found.values():
        if other.name.startswith(added.name) or added.name.startswith(other.name):
            raise BenchmarkError(
                f"The benchmarks {other.name!r} and {added.name!r} both have tasks whose names "
                f"begin with {max(other.name, added.name, key=len)!r}: rename one"
            )
        for what in ("filters", "verifiers"):
            twice = {*getattr(other, what)} & {*getattr(added, what)}
            if twice:
                raise BenchmarkError(
                    f"The benchmarks {other.name!r} and {added.name!r} both have {what} named "
                    f"{', '.join(sorted(twice))}: rename one"
                )
    if added.settings and added.name != added.settings.TABLE:
        raise BenchmarkError(f"The benchmark {added.name!r}: set TABLE of its settings to its name")
    found[added.name] = added


def verifier_modules() -> list[str]:
    """The modules of the benchmarks' verifiers; none if a benchmark is broken."""
    try:
        places = [place for each in benchmarks().values() for place in each.verifiers.values()]
    except Exception as error:  # another package's benchmark must not break lmms-eval
        from loguru import logger

        logger.error("lmms_rpts: Cannot list the benchmarks: {}", error)
        return []
    return [place.partition(":")[0] for place in places]


# --- documents, for commands that need no model --------------------------------------------------


def scored_tasks() -> dict[str, Benchmark]:
    """The tasks and groups that RPTS scores, with their benchmarks."""
    return {task: each for each in benchmarks().values() for task in each.scored}


def answered_tasks() -> dict[str, Benchmark]:
    """The tasks and groups of ``scored_tasks``, and those whose answers a benchmark grades."""
    graded = {task: each for each in benchmarks().values() for task in each.answered}
    return scored_tasks() | graded


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

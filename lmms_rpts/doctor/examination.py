"""The stages of the checks, in order.

Nothing here imports lmms-eval or torch: where one of them is broken, a subprocess detects it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lmms_rpts.doctor import installation
from lmms_rpts.doctor.checks import Stage
from lmms_rpts.doctor.judge import check_judges, silent
from lmms_rpts.doctor.validity import check_validity
from lmms_rpts.settings import FILE, SettingError, Settings, config_file, load_settings
from lmms_rpts.tasks.benchmark import (
    Benchmark,
    benchmarks,
    broken_benchmarks,
    refuse_unknown_settings,
    settings_tables,
)
from lmms_rpts.tasks.data_checks import Check, problem


def plan(
    *,
    offline: bool = False,
    load: bool = False,
    quick: bool = False,
    tell: Callable[[str], None] = silent,
) -> list[Stage]:
    """The stages of the checks; runs none of them.

    Args:
        offline: make no calls to judges.
        load: also ask judges that must be loaded into this process.
        quick: skip slow checks: those that import torch and lmms-eval.
        tell: called with a note on each judge before it is asked.
    """
    judges = partial(check_judges, offline=offline, load=load, tell=tell)
    return [
        Stage("installation", "checking installed packages", installation.check_packages),
        Stage("torch", "detecting devices with torch", lambda: installation.check_torch(quick)),
        Stage("plugin", "looking for the entry point", installation.check_entry_point),
        Stage("tasks", "listing lmms-eval's tasks", lambda: installation.check_tasks(quick)),
        Stage("settings", "reading the settings", check_settings),
        _stage("judge", "asking the judge", judges),
        _stage("validity", "reading the judge's validity", check_validity),
        *_data_stages(),
        _stage("cached replies", "counting cached replies", check_kept_answers),
    ]


def plan_own_tasks(
    folder: Path,
    *,
    offline: bool = False,
    load: bool = False,
    tell: Callable[[str], None] = silent,
) -> list[Stage]:
    """The stages for the tasks in a folder, and for the judge if one is chosen.

    Args:
        folder: folder as passed to ``--include_path``.
        offline: make no calls to judges.
        load: also ask judges that must be loaded into this process.
        tell: called with a note on each judge before it is asked.
    """

    def judges(settings: Settings) -> Sequence[Check]:
        asked = partial(check_judges, offline=offline, load=load, tell=tell)
        return asked(settings) if settings.judge else []

    def tasks() -> Sequence[Check]:
        from lmms_rpts.tasks.own.files import examine_folder

        return examine_folder(folder)

    return [
        Stage("own tasks", "checking tasks, data and images", tasks),
        _stage("judge", "asking the judge", judges),
    ]


def check_settings() -> list[Check]:
    """Whether the settings are valid, and where each one that is set comes from."""
    try:
        refuse_unknown_settings()
        found: list[str] = []
        for table in settings_tables():
            table.load()
            given = table.given()
            found += [
                f"\n{table.TABLE and table.TABLE + '.'}{name} = {given[name][0]} ({given[name][1]})"
                for name in table.settings()
                if name in given
            ]
    except SettingError as error:
        return [problem("settings", error)]
    order = f"options come before variables, {config_file() or FILE} and defaults"
    return [Check("settings", "ok", f"{order}; set:{''.join(found) or ' nothing'}")]


def _data_stages() -> list[Stage]:
    """A stage for the data of each benchmark."""
    try:
        known = benchmarks().values()
    except SettingError as error:
        fault = problem("benchmarks", error)
        return [Stage("benchmarks", "listing benchmarks", lambda: [fault])]
    doing = "checking data and images"
    broken = [
        problem("benchmarks", each, "fix that package, or uninstall it")
        for each in broken_benchmarks()
    ]
    stages = [Stage("benchmarks", "listing benchmarks", lambda: broken)] if broken else []
    return [*stages, *(_stage(each.title, doing, partial(_examine, each)) for each in known)]


def _examine(benchmark: Benchmark, settings: Settings) -> Sequence[Check]:
    try:
        if benchmark.settings:
            benchmark.settings.load()
    except SettingError:
        return [Check(benchmark.title, "not checked", "fix the settings first")]
    return benchmark.data_checks()


def check_kept_answers(settings: Settings) -> list[Check]:
    """Whether the cache of judges' answers is writable, and how many answers it has."""
    from lmms_rpts.judging.cache import FILE, CacheError, DamagedError, count_answers

    name, folder = "cached replies", settings.cache
    if folder is None:
        said = "LMMS_RPTS_CACHE is off: an interrupted run pays for its replies again"
        return [Check(name, "ok", said)]
    fault = _unwritable(folder)
    if fault:
        remedy = "get write permission there, or set LMMS_RPTS_CACHE to another folder"
        return [problem(name, f"cannot cache replies in {folder}: {fault}", remedy)]
    if not (folder / FILE).exists():
        return [Check(name, "ok", f"none yet, in {folder}")]
    try:
        return [Check(name, "ok", f"{count_answers(folder):,} in {folder}")]
    except DamagedError as error:
        return [Check(name, "ok", str(error))]  # the next run begins a new file
    except CacheError as error:
        remedy = f"move {folder / FILE}, or set LMMS_RPTS_CACHE to another folder"
        return [problem(name, error, remedy)]


def _stage(name: str, doing: str, work: Callable[[Settings], Sequence[Check]]) -> Stage:
    """A stage that needs the settings."""

    def checks() -> Sequence[Check]:
        try:
            settings = load_settings()
        except SettingError:
            return [Check(name, "not checked", "fix the settings first")]
        return work(settings)

    return Stage(name, doing, checks)


def _unwritable(folder: Path) -> str | None:
    """Why no file can be written to a folder, or to the parent in which it would be created."""
    there = next(each for each in (folder, *folder.absolute().parents) if _exists(each))
    if not there.is_dir():
        return f"{there} is not a folder"
    try:
        with tempfile.TemporaryFile(dir=there):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _exists(path: Path) -> bool:
    """Whether a path exists; also False below a file, or without permission."""
    with contextlib.suppress(OSError):
        return path.exists()
    return False

"""The stages of the checks, in order, and those of settings, data and cache.

Nothing here imports lmms-eval or torch: where one of them is broken, a subprocess detects it.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import (
    EntryPoint,
    PackageNotFoundError,
    distribution,
    entry_points,
    metadata,
    requires,
    version,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import listed, visible
from lmms_rpts.base.masking import mask
from lmms_rpts.base.settings import (
    FILE,
    SettingError,
    load_settings,
    read_file,
    refuse_unknown,
    secrets,
)
from lmms_rpts.commands.doctor.judge import check_judges
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import Check, data_fault, problem
from lmms_rpts.tasks.registry import BENCHMARKS, SETTINGS_TABLES

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@dataclass(frozen=True, slots=True)
class Stage:
    """Checks that run together; ``doing`` is the text shown while they run."""

    name: str
    doing: str
    work: Callable[[], Sequence[Check]]

    def perform(self) -> list[Check]:
        """The checks, without secrets; one that crashes is a problem."""
        try:
            checks = list(self.work())
        except SettingError:  # the stage of the settings reports it
            checks = [Check(self.name, "not checked", "fix the settings first")]
        except Exception as error:  # the boundary: the other stages must still run
            checks = [
                problem(
                    self.name,
                    f"this check failed: {type(error).__name__}: {error}",
                    "fix the named cause; if it is a bug of lmms-rpts, report it",
                )
            ]
        return [
            replace(each, said=_shown(each.said), remedy=each.remedy and _shown(each.remedy))
            for each in checks
        ]


def _shown(text: str) -> str:
    """``text`` without secrets, and without terminal control characters."""
    return "\n".join(map(visible, mask(text, secrets()).split("\n")))


def plan(
    folder: Path | None = None,
    *,
    judge: str | None = None,
    offline: bool = False,
    load: bool = False,
    quick: bool = False,
    notify: Callable[[str], None] = lambda note: None,
) -> list[Stage]:
    """The stages of the checks; runs none of them."""
    judging = Stage(
        "judge",
        "asking the judge",
        lambda: check_judges(
            load_settings(),
            offline=offline,
            load=load,
            notify=lambda note: notify(_shown(note)),
            needed=folder is None,
        ),
    )
    if folder is not None:
        from lmms_rpts.host.own_tasks import examine_folder  # it needs lmms-eval

        own = partial(examine_folder, folder)
        return [Stage("own tasks", "checking tasks, data and images", own), judging]
    return [
        Stage("installation", "checking installed packages", check_packages),
        Stage("torch", "detecting devices with torch", lambda: check_torch(quick)),
        Stage("plugin", "looking for the entry point", check_entry_point),
        Stage("tasks", "listing lmms-eval's tasks", lambda: check_tasks(quick)),
        Stage("settings", "reading the settings", partial(check_settings, judge)),
        judging,
        *_data_stages(),
        Stage("cached replies", "counting cached replies", _check_cache),
    ]


def check_settings(judge: str | None = None) -> list[Check]:
    """Whether the settings are valid, and where each one that is set comes from."""
    try:
        refuse_unknown(SETTINGS_TABLES)
        found = [f"\njudge = {judge} (--judge)"] if judge else []
        for table in SETTINGS_TABLES:
            values = table.load().model_dump(mode="json", exclude_unset=True)
            start = table.TABLE and f"{table.TABLE}."
            found += [
                f"\n{start}{name} = {value} ({table.origin(name)})"
                for name, value in values.items()
                if not (judge and name == "judge")
            ]
    except SettingError as error:
        return [problem("settings", error)]
    order = f"options come before variables, {read_file()[0] or FILE} and defaults"
    return [Check("settings", "ok", f"{order}; set:{''.join(found) or ' nothing'}")]


def _data_stages() -> Iterator[Stage]:
    """A stage for the data of each benchmark."""
    for each in BENCHMARKS.values():
        yield Stage(each.title, "checking data and images", partial(_examine, each))


_FAULTS_SHOWN = 3
"""Parts of a benchmark's data of which the faults are shown; of the others, only the names."""


def _examine(benchmark: Benchmark) -> Sequence[Check]:
    """The data that the setting of a benchmark names, and its grader; downloads nothing.

    Of a benchmark that is not set up, nothing is said; the main one is downloaded.
    """
    load_settings()
    place, name = getattr(benchmark.settings.load(), "path", None), benchmark.title
    if place is None:
        said = f"{benchmark.data_variable} is not set: the first run downloads {benchmark.dataset}"
        return [Check(name, "not checked", said)] if benchmark.scored else []
    found, faults = dict[str, int](), dict[str, UserError]()
    tasks = max(benchmark.groups.values(), key=len)  # without the demo, and tasks asked apart
    for part, task in {benchmark.tasks[task]: task for task in tasks}.items():
        try:
            questions = benchmark.load(part)
            questions.check()  # also here: a benchmark may check images once a process
            if not benchmark.scored:  # the judge of steps has a stage of its own
                benchmark.check(task)
            found[part] = len(questions.questions)
        except UserError as error:
            faults[part] = error
    if not any(found.values()) and faults:
        return [data_fault(name, next(iter(faults.values())))]
    said = ", ".join(f"{part}: {count:,}" for part, count in found.items() if count)
    said = f"all images; questions: {said} ({benchmark.data_variable}={place})"
    checks = [Check(name, "ok", said)]
    wrong = [(f"{name}, {part}", each) for part, each in faults.items()]
    checks += [data_fault(*each) for each in wrong[:_FAULTS_SHOWN]]
    if more := [*faults][_FAULTS_SHOWN:]:
        checks.append(problem(name, f"also: {', '.join(more)}", "as for the ones before"))
    return checks


def _check_cache() -> list[Check]:
    """Whether the cache of judges' answers can be read and written."""
    from lmms_rpts.judging.cache import FILE, AnswerCache

    name, folder = "cached replies", load_settings().cache
    if folder is None:
        said = "LMMS_RPTS_CACHE is off: an interrupted run pays for its replies again"
        return [Check(name, "ok", said)]
    # The folder, or the parent in which it would be created. os.path: also False below a file.
    there = next(each for each in (folder, *folder.absolute().parents) if os.path.exists(each))
    if not there.is_dir() or not os.access(there, os.W_OK):
        fault = "cannot be written" if there.is_dir() else "is not a folder"
        remedy = "get write permission there, or set LMMS_RPTS_CACHE to another folder"
        return [problem(name, f"cannot cache replies in {folder}: {there} {fault}", remedy)]
    if not (folder / FILE).exists():
        return [Check(name, "ok", f"none yet, in {folder}")]
    try:
        AnswerCache(folder).close()
        return [Check(name, "ok", f"in {folder}")]
    except UserError as error:
        return [problem(name, error)]


# --- Python, packages, lmms-eval -----------------------------------------------------------------


OURS, THEIRS = "lmms-rpts", "lmms-eval"
# Shown with their versions even if these fit; of all others, only the problems are.
_TOLD = (THEIRS, "transformers", "datasets", "openai")
_GROUP, _NAME, _VALUE = "lmms_eval.models", "lmms_rpts", "lmms_rpts.plugin:manifests"
_TASK, _BENCHMARK = "rpts_eval_en", "rpts_eval"
_INSTALL = "pip install --force-reinstall --no-deps {} (in a checkout: pip install .)"
_SKIPPED = "skipped by --quick"

# Time limit in seconds; on a slow network drive the first import takes minutes.
TORCH_LIMIT, TASKS_LIMIT = 180.0, 300.0

# Packages print while they are imported: only the line with this mark is the result.
_MARK = "lmms-rpts doctor: "
# As in an installed command, nothing is imported from the working folder.
_BEGIN = "import json, sys; sys.path[:] = [each for each in sys.path if each]\n"
_TORCH = """
import torch
cuda = torch.cuda.is_available()
devices = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())] if cuda else []
mps = getattr(torch.backends, "mps", None)
devices += ["Apple GPU (MPS)"] if mps is not None and mps.is_available() else []
found = {"version": torch.__version__, "devices": devices, "cuda": torch.version.cuda}
"""
_TASKS = """
import lmms_eval.models
from lmms_eval.tasks import TaskManager
from lmms_rpts.tasks.registry import benchmark_of
found = [name for name in TaskManager().all_tasks if benchmark_of(name)]
"""


class ProbeError(Exception):
    """Raised if a subprocess returned no result; the message gives the reason."""


def check_packages(installed: Callable[[str], str] = version) -> list[Check]:
    """Check Python and the packages against the requirements of lmms-rpts."""
    from packaging.specifiers import SpecifierSet

    try:
        own, wanted = installed(OURS), metadata(OURS)["Requires-Python"] or ""
    except PackageNotFoundError:
        fault = f"importable, but not installed for {sys.executable}"
        remedy = "pip install lmms-rpts (in a checkout: pip install .), in that environment"
        return [problem(OURS, fault, remedy)]
    python = platform.python_version()
    said = f"{python} ({sys.executable})"
    fits = SpecifierSet(wanted).contains(python, prereleases=True)
    first = Check("Python", "ok", said) if fits else problem("Python", said, f"use Python {wanted}")
    checks = [first, Check(OURS, "ok", own)]
    for need in _needs():
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            found = installed(need.name)
        except PackageNotFoundError:
            checks.append(problem(need.name, "not installed", f"pip install '{need}'"))
            continue
        if not need.specifier.contains(found, prereleases=True):
            fault = f"{found} is installed, but {OURS} needs {need.specifier}"
            checks.append(problem(need.name, fault, f"pip install '{need}'"))
        elif need.name in _TOLD:
            bound = f" (supported: {need.specifier})" if need.name == THEIRS else ""
            checks.append(Check(need.name, "ok", f"{found}{bound}"))
    return checks


def _needs() -> list[Requirement]:
    from packaging.requirements import Requirement

    return list(map(Requirement, requires(OURS) or ()))


def check_torch(quick: bool = False) -> list[Check]:
    """Whether torch can be imported, and which devices it detects."""
    if quick:
        return [Check("torch", "not checked", _SKIPPED)]
    try:
        found = _ask_python(_TORCH, TORCH_LIMIT)
    except ProbeError as error:
        remedy = "install torch for your system as described on https://pytorch.org"
        return [problem("torch", f"cannot be imported: {error}", remedy)]
    devices = ", ".join(found["devices"])
    built = f"built for CUDA {found['cuda']}, but finds no GPU" if found["cuda"] else "no CUDA"
    return [Check("torch", "ok", f"{found['version']}; {devices or f'CPU only ({built})'}")]


def check_entry_point(
    find: Callable[[], list[EntryPoint]] = lambda: list(entry_points(group=_GROUP)),
) -> list[Check]:
    """Whether lmms-rpts is registered where lmms-eval looks for plugins."""
    name = "plugin"
    found = {each.value for each in find() if each.name == _NAME}
    if _VALUE in found:
        return [Check(name, "ok", f"registered with lmms-eval ({_GROUP}: {_NAME})")]
    fault = f"the entry point {_GROUP}: {_NAME} is not registered: lmms-eval can't find lmms-rpts"
    if found:
        fault = f"the entry point {_NAME} is from an old installation: {', '.join(sorted(found))}"
    return [problem(name, fault, _INSTALL.format(OURS))]


def check_tasks(quick: bool = False) -> list[Check]:
    """Whether a new lmms-eval process finds the tasks of this package."""
    name = "tasks"
    stray = _stray_command()
    if stray:
        return [stray]
    if quick:
        return [Check(name, "not checked", _SKIPPED)]
    wanted = next((str(need) for need in _needs() if need.name == THEIRS), THEIRS)
    try:
        found = _ask_python(_TASKS, TASKS_LIMIT)
    except ProbeError as error:
        remedy = f"pip install --force-reinstall '{wanted}', then run this again"
        return [problem(name, f"cannot start lmms-eval: {error}", remedy)]
    if _TASK not in found:
        names = ", ".join(found) or "no tasks of lmms-rpts"
        fault = f"lmms-eval does not find {_TASK}; it finds {names}"
        remedy = f"pip install '{wanted}', and {_INSTALL.format(OURS)}"
        return [problem(name, fault, remedy)]
    first = sorted(found, key=lambda each: (not each.startswith(_BENCHMARK), each))
    return [Check(name, "ok", f"lmms-eval finds {len(found)} tasks: {listed(first)}")]


def _stray_command() -> Check | None:
    """A problem if the command lmms-eval belongs to another environment."""
    called = shutil.which(THEIRS)
    try:
        own = [file for file in distribution(THEIRS).files or () if file.stem == THEIRS]
    except PackageNotFoundError:
        return None
    paths = [Path(str(file.locate())).resolve() for file in own]
    if called is None or not paths or Path(called).resolve() in paths:
        return None
    return problem(
        "tasks",
        f"the command lmms-eval is {called}, from another environment than {sys.executable}",
        f"activate this environment first, or call {paths[0]}",
    )


def _ask_python(code: str, seconds: float) -> Any:
    """The value of ``found`` after ``code``, run in a new Python process."""
    end = f"\nprint({_MARK!r} + json.dumps(found), flush=True)"
    try:
        done = subprocess.run(  # noqa: S603 - our own code, no shell
            [sys.executable, "-c", _BEGIN + code + end],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProbeError(f"it took over {seconds:g} s") from None
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return json.loads(line.removeprefix(_MARK))
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    ours = [line for line in said if "lmms_rpts cannot extend" in line]
    reason = (ours or said or ["no output"])[-1]
    raise ProbeError(f"{reason} (status {done.returncode})")

"""``lmms-rpts doctor``: check the installation, settings, data, cache and judge before a run."""

from __future__ import annotations

import asyncio
import json
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from pathlib import Path
from typing import Any

import typer
from PIL import Image, ImageDraw
from rich.console import Console
from rich.text import Text

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import count, listed, visible
from lmms_rpts.base.masking import mask
from lmms_rpts.base.settings import (
    FILE,
    SettingError,
    load_settings,
    read_file,
    refuse_unknown,
    secrets,
    set_variables,
)
from lmms_rpts.commands.common import IncludePath, Judge, complain
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import choices, find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError, Request, Verdict
from lmms_rpts.runs.work import run_async
from lmms_rpts.stats.figures import usage_text
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import Check, data_fault, problem
from lmms_rpts.tasks.registry import BENCHMARKS, SETTINGS_TABLES

_STYLES = {"ok": "green", "problem": "bold red", "not checked": "yellow"}
_STATE, _NAME = 13, 14  # widths of columns


def doctor(judge: Judge = None, include_path: IncludePath = None) -> None:
    """Check the installation, the settings, the data and the judge, and show how to fix problems.

    The judge is asked two short questions, and two more about an image if it will be shown images.
    The model of an hf: judge is loaded for them, which can take minutes. With --include_path, only
    your own tasks, their data and images, and the judge are checked. Exits with 1 if there is a
    problem.
    """
    console, waiting, problems = Console(highlight=False, soft_wrap=True), Console(stderr=True), 0
    if judge:
        set_variables(LMMS_RPTS_JUDGE=judge)
    stages: dict[str, Callable[[], Iterable[Check]]] = {
        "installation": check_packages,
        "tasks": check_lmms_eval,
        "settings": partial(check_settings, judge),
        **{each.title: partial(check_data, each) for each in BENCHMARKS.values()},
        "cached replies": check_cache,
    }
    if include_path is not None:
        stages = {"own tasks": partial(check_own_tasks, include_path)}
    stages["judge"] = partial(check_judge, needed=include_path is None)
    for name, work in stages.items():
        with waiting.status(f"checking: {name}"):
            checks = _perform(name, work)
        for check in checks:
            problems += check.state == "problem"
            console.print(_line(check))
    console.print(f"\n{count(problems, 'problem') if problems else 'No problem found'}.")
    if problems:
        raise typer.Exit(1)


def _perform(name: str, work: Callable[[], Iterable[Check]]) -> list[Check]:
    """The checks of a stage; one that crashes is a problem."""
    try:
        return list(work())
    except SettingError:  # the stage of the settings reports it
        return [Check(name, "not checked", "fix the settings first")]
    except Exception as error:  # the boundary: the other stages must still run
        said = f"this check failed: {type(error).__name__}: {error}"
        remedy = "fix the named cause; if it is a bug of lmms-rpts, report it"
        return [problem(name, said, remedy)]


def _line(check: Check) -> Text:
    """A check without secrets; further lines are indented, and the remedy is the last."""
    said = _shown(check.said + (f"\n-> {check.remedy}" if check.remedy else ""))
    text = Text(f"{check.state:<{_STATE}}", style=_STYLES[check.state])
    text.append(f"{check.name:<{_NAME}} ", style="bold")
    return text.append(said.replace("\n", "\n" + " " * _STATE), style="default not bold")


def _shown(text: str) -> str:
    """``text`` without secrets, and without control characters."""
    return "\n".join(map(visible, mask(text, secrets()).split("\n")))


# --- Python, packages, lmms-eval


OURS = "lmms-rpts"
_TOLD = ("lmms-eval", "torch", "transformers", "datasets", "openai")  # of others, only problems


def check_packages() -> Iterator[Check]:
    """Python and the packages, against the requirements of lmms-rpts, and its entry point."""
    from packaging.requirements import Requirement

    yield Check("Python", "ok", f"{platform.python_version()} ({sys.executable})")
    reinstall = f"pip install --force-reinstall --no-deps {OURS} (in a checkout: pip install .)"
    try:
        own = version(OURS)
    except PackageNotFoundError:
        yield problem(OURS, f"importable, but not installed for {sys.executable}", reinstall)
        return
    group, plugin = "lmms_eval.models", "lmms_rpts.plugin:manifests"
    if plugin in (each.value for each in entry_points(group=group)):
        yield Check(OURS, "ok", f"{own}, registered with lmms-eval ({group}: lmms_rpts)")
    else:
        said = f"{own} is not registered with lmms-eval ({group}: {plugin})"
        yield problem(OURS, said, reinstall)
    for need in map(Requirement, requires(OURS) or ()):
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(need.name)
        except PackageNotFoundError:
            installed = "nothing"
        if not need.specifier.contains(installed, prereleases=True):
            said = f"{installed} is installed, but {OURS} needs {need.specifier}"
            yield problem(need.name, said, f"pip install '{need}'")
        elif need.name in _TOLD:
            yield Check(need.name, "ok", f"{installed} (supported: {need.specifier})")


# Run in a new process: broken packages crash, and lmms-eval and torch take long to import. As in an
# installed command, nothing is imported from the working folder. Packages print while they are
# imported: only the last line is the result.
_PROGRAM = """
import json, sys
sys.path[:] = [each for each in sys.path if each]
import torch
import lmms_eval.models
from lmms_eval.tasks import TaskManager
from lmms_rpts.tasks.registry import benchmark_of
cuda, mps = torch.cuda, getattr(torch.backends, "mps", None)
devices = [cuda.get_device_name(at) for at in range(cuda.device_count() * cuda.is_available())]
devices += ["Apple GPU (MPS)"] if mps is not None and mps.is_available() else []
tasks = [name for name in TaskManager().all_tasks if benchmark_of(name)]
print("\\n" + json.dumps([torch.version.cuda, devices, tasks]), flush=True)
"""
_TASK = "rpts_eval_en"


def check_lmms_eval() -> Iterator[Check]:
    """Whether a new lmms-eval process finds our tasks, and the devices that torch finds."""
    remedy = "reinstall the package that the message names (pip install --force-reinstall PACKAGE)"
    command = [sys.executable, "-c", _PROGRAM]
    how: dict[str, Any] = {"encoding": "utf-8", "errors": "replace", "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, capture_output=True, check=False, **how)  # noqa: S603
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no output"]
        reasons = [line for line in lines if "lmms_rpts cannot extend" in line] or lines
        said = f"lmms-eval does not start: {reasons[-1]} (status {done.returncode})"
        yield problem("tasks", said, remedy)
        return
    cuda, devices, tasks = json.loads(done.stdout.splitlines()[-1])
    built = f"built for CUDA {cuda}, but finds no GPU" if cuda else "no CUDA"
    yield Check("torch devices", "ok", ", ".join(devices) or f"CPU only ({built})")
    if _TASK not in tasks:
        yield problem("tasks", f"lmms-eval does not find {_TASK}, only {tasks}", remedy)
        return
    first = sorted(tasks, key=lambda each: (not each.startswith("rpts_eval"), each))
    yield Check("tasks", "ok", f"lmms-eval finds {len(tasks)} tasks: {listed(first)}")


# --- settings, data, cache


def check_settings(judge: str | None = None) -> list[Check]:
    """Whether the settings are valid, and where each one that is set comes from."""
    try:
        refuse_unknown(SETTINGS_TABLES)
        lines = [f"\njudge = {judge} (--judge)"] if judge else []
        for table in SETTINGS_TABLES:
            start = table.TABLE and f"{table.TABLE}."
            lines += [
                f"\n{start}{name} = {value} ({table.origin(name)})"
                for name, value in table.load().model_dump(mode="json", exclude_unset=True).items()
                if not (judge and name == "judge")
            ]
    except SettingError as error:
        return [problem("settings", error)]
    order = f"options come before variables, {read_file()[0] or FILE} and defaults"
    return [Check("settings", "ok", f"{order}; set:{''.join(lines) or ' nothing'}")]


def check_own_tasks(folder: Path) -> Sequence[Check]:
    """The tasks in a folder of the user, with their data and images."""
    from lmms_rpts.host.own_tasks import examine_folder

    return examine_folder(folder)


def check_data(benchmark: Benchmark) -> Iterator[Check]:
    """The data and images of a benchmark that is set up, and its grader; downloads nothing."""
    name, place = benchmark.title, getattr(benchmark.settings.load(), "path", None)
    if place is None:
        return
    load_settings()  # grading reads them, too
    counts, faults = dict[str, int](), dict[str, UserError]()
    tasks = max(benchmark.groups.values(), key=len)  # without the demo, and tasks asked apart
    for part, task in {benchmark.tasks[task]: task for task in tasks}.items():
        try:
            questions = benchmark.load(part)
            questions.check()  # also here: a benchmark may check images once a process
            if not benchmark.scored:  # the judge of steps has a stage of its own
                benchmark.check(task)
            counts[part] = len(questions.questions)
        except UserError as error:
            faults[part] = error
    if parts := ", ".join(f"{part}: {n:,}" for part, n in counts.items() if n):
        said = f"all images; questions: {parts} ({benchmark.data_variable}={place})"
        yield Check(name, "ok", said)
    # Of a folder that is not there, all sets of a benchmark say the same: 61 of ReForm-Eval.
    for part, fault in [*faults.items()][: len(faults) if parts else 1]:
        yield data_fault(f"{name}, {part}", fault)


def check_cache() -> list[Check]:
    """Whether the cache of judges' replies can be opened, as in a run."""
    folder = load_settings().cache
    if folder is None:
        said = "LMMS_RPTS_CACHE is off: an interrupted run pays for its replies again"
        return [Check("cached replies", "ok", said)]
    try:
        AnswerCache(folder).close()
    except UserError as error:
        return [problem("cached replies", error)]
    return [Check("cached replies", "ok", f"in {folder}")]


# --- the judge: questions with obvious answers, about a text and a drawn image

SITUATION = "Anna wants to buy bread in the village shop."
PREMISES = ("The village shop is closed on Sundays.", "Today is Sunday.")
VALID, INVALID = "The village shop is closed today.", "The village shop is open today."
SEEN = "The image shows a red disc on a white ground."
UNSEEN = "The image shows a blue square on a black ground."
_BLIND = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"
# What to do about an error with these words; the first one that fits counts.
_REMEDIES = {
    r"\(40[13]\)": "check OPENAI_API_KEY, and that the key belongs to this server",
    r"\(404\)": "check the model's name, and the end of OPENAI_BASE_URL, often /v1",
    r"\(402\)|\(429\)|quota": "check the credit and the limits of your account",
    "no connection": "check that the server runs, OPENAI_BASE_URL, and the network or proxy",
    "too long|no answer within": "check the server's state, or increase LMMS_RPTS_TIMEOUT",
    "budget": "increase LMMS_RPTS_MAX_JUDGE_TOKENS or LMMS_RPTS_MAX_JUDGE_COST",
    "": "fix the reported error, or choose another judge (docs/judging.md)",
}


def check_judge(needed: bool = True) -> list[Check]:
    """Ask the judge about a valid and an invalid step, and about an image if it is shown images.

    Replies are not cached, and no cached replies are used. ``needed``: it is a problem if no judge
    is set.
    """
    settings = load_settings(cache="off", concurrency=1)
    if not settings.judge:
        return [problem("judge", "no judge is set", choices())] if needed else []
    try:
        chosen, prompts = find_judge(settings.judge, settings), Prompts(settings.prompts)
    except JudgeConfigurationError as error:
        return [problem("judge", error)]
    name, is_shown = f"judge {chosen.name}", settings.evidence in ("image", "both")
    if is_shown and not chosen.sees and chosen.name != NO_JUDGE:
        said = f"it has no vision, but LMMS_RPTS_EVIDENCE={settings.evidence} needs it"
        return [problem(name, said, _BLIND)]
    if chosen.backend.free:
        return [Check(name, "ok", f"calls no model: {chosen.backend.purpose}")]
    questions = [
        prompts.request("inference", "en", context=SITUATION, premises=PREMISES, conclusion=each)
        for each in (VALID, INVALID)
    ]
    if is_shown:
        drawing = Image.new("RGB", (224, 224), "white")
        ImageDraw.Draw(drawing).ellipse((56, 56, 168, 168), "red")
        image = JudgeImage("Image 0", lambda: drawing, settings.image_size)
        questions += [
            prompts.request("image", "en", images=(image,), facts=(), conclusion=each)
            for each in (SEEN, UNSEEN)
        ]
    limit = None if chosen.backend.local else settings.timeout * len(questions)
    judge = chosen.backend.open(chosen.model, settings)
    address = getattr(judge, "identity", {}).get("endpoint", "this machine, where it is loaded")
    wait = f"at most {limit:g} s (LMMS_RPTS_TIMEOUT)" if limit else "it can take minutes"
    complain(_shown(f"Asking {chosen.name} at {address}: {len(questions)} questions, {wait} ..."))
    client = Client(chosen, judge, settings)
    verdicts = run_async(_verdicts(client, questions, limit))
    used = f"{address}; {usage_text(client.budget.usage())}"
    checks = [_read(name, used, verdicts[:2])]
    if is_shown and checks[0].state == "ok":
        checks.append(_read(f"{name}: images", "about a drawn image", verdicts[2:], _BLIND))
    return checks


async def _verdicts(
    client: Client, questions: Sequence[Request], limit: float | None
) -> list[Verdict]:
    """The verdicts of the judge; errors after ``limit`` seconds."""
    async with aclosing(client):
        asked = asyncio.gather(*map(client.ask, questions))
        try:
            return await asyncio.wait_for(asked, limit)
        except asyncio.TimeoutError:
            error = f"no answer within {limit:g} s (LMMS_RPTS_TIMEOUT)"
            return [Verdict(kind="", prompt_version="", error=error)] * len(questions)


def _read(name: str, asked: str, verdicts: Sequence[Verdict], remedy: str = "") -> Check:
    """The result of two questions: what is right should get at least 0.5, what is wrong less."""
    failed = next((each for each in verdicts if each.value is None), None)
    reply = ((failed or verdicts[0]).reply or "").strip()
    quoted = f"\nits reply: {reply[:160]!r}" if reply else ""
    if failed:
        fitting = (it for words, it in _REMEDIES.items() if re.search(words, str(failed.error)))
        return problem(name, f"{failed.error} ({asked}){quoted}", remedy or next(fitting))
    right, wrong = (float(each.value or 0.0) for each in verdicts)
    said = f"scores {right:g} for what is plainly right, {wrong:g} for what is plainly wrong"
    if right >= 0.5 > wrong:
        return Check(name, "ok", f"{said} ({asked})")
    measure = (
        "it misunderstands the question, or is too weak: choose another judge, or measure it: "
        f"lmms-rpts validate --judge {name.removeprefix('judge ')} (docs/validation.md)"
    )
    return problem(name, f"{said} ({asked}){quoted}", remedy or measure)

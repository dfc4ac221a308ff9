"""``lmms-rpts doctor``: check the installation, settings, data and judge before a run."""

from __future__ import annotations

import asyncio
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from importlib.metadata import PackageNotFoundError, entry_points, requires, version

import typer
from PIL import Image, ImageDraw
from rich.console import Console
from rich.text import Text

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import count, listed, visible
from lmms_rpts.base.masking import mask
from lmms_rpts.base.settings import load_settings, refuse_unknown, secrets, set_variables
from lmms_rpts.commands.common import IncludePath, Judge, complain
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import choices, find_judge
from lmms_rpts.judging.types import Request, Verdict
from lmms_rpts.scoring.work import run_async
from lmms_rpts.stats.figures import usage_text
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import Check, data_fault, problem
from lmms_rpts.tasks.registry import BENCHMARKS, SETTINGS_TABLES

_STATE, _NAME = 13, 14  # widths of columns


def doctor(judge: Judge = None, include_path: IncludePath = None) -> None:
    """Check the installation, the settings, the data and the judge, and show how to fix problems.

    The judge is asked two short questions, and two more about an image if it will be shown images.
    The model of an hf: judge is loaded for them, which can take minutes. With --include_path, only
    your own tasks, their data and images, and the judge are checked. Exits with 1 if there is a
    problem.
    """
    if judge:
        set_variables(LMMS_RPTS_JUDGE=judge)
    console, problems = Console(highlight=False, soft_wrap=True), 0
    stages: dict[str, Callable[[], Iterable[Check]]] = {
        "installation": check_packages,
        "tasks": check_lmms_eval,
        "settings": check_settings,
        **{each.title: partial(check_data, each) for each in BENCHMARKS.values()},
    }
    if include_path is not None:
        from lmms_rpts.host.own_tasks import examine_folder

        stages = {"own tasks": partial(examine_folder, include_path)}
    stages["judge"] = partial(check_judge, needed=include_path is None)
    for name, work in stages.items():
        with Console(stderr=True).status(f"checking: {name}"):
            checks = _perform(name, work)
        faults = [check for check in checks if check.state == "problem"]
        problems += len(faults)
        for check in checks:
            console.print(_line(check))
        if faults and name == "settings":
            console.print("\nFix the settings first: data and judge were not checked.")
            break
    console.print(f"\n{count(problems, 'problem') if problems else 'No problem found'}.")
    if problems:
        raise typer.Exit(1)


def _perform(name: str, work: Callable[[], Iterable[Check]]) -> list[Check]:
    """The checks of a stage; one that crashes is a problem."""
    try:
        return list(work())
    except UserError as error:
        return [problem(name, error)]
    except Exception as error:  # the boundary: the other stages must still run
        fault = f"this check failed: {type(error).__name__}: {error}"
        remedy = "fix the named cause; if it is a bug of lmms-rpts, report it"
        return [problem(name, fault, remedy)]


def _line(check: Check) -> Text:
    """A check without secrets; further lines are indented, and the remedy is the last."""
    message = _shown(check.said + (f"\n-> {check.remedy}" if check.remedy else ""))
    text = Text(f"{check.state:<{_STATE}}", style="green" if check.state == "ok" else "bold red")
    text.append(f"{check.name:<{_NAME}} ", style="bold")
    return text.append(message.replace("\n", "\n" + " " * _STATE), style="default not bold")


def _shown(text: str) -> str:
    """``text`` without secrets, and without control characters."""
    return "\n".join(map(visible, mask(text, secrets()).split("\n")))


# --- Python, packages, lmms-eval


OURS = "lmms-rpts"
_GROUP, _PLUGIN = "lmms_eval.models", "lmms_rpts.plugin:manifests"
_NAMED = ("lmms-eval", "torch", "transformers", "datasets", "openai")  # of others, only problems


def check_packages() -> Iterator[Check]:
    """Python and the packages, against the requirements of lmms-rpts, and its entry point."""
    from packaging.requirements import Requirement

    yield Check("Python", "ok", f"{platform.python_version()} ({sys.executable})")
    own = version(OURS)
    if _PLUGIN in (point.value for point in entry_points(group=_GROUP)):
        yield Check(OURS, "ok", f"{own}, registered with lmms-eval ({_GROUP}: lmms_rpts)")
    else:
        remedy = f"pip install --force-reinstall --no-deps {OURS} (in a checkout: pip install .)"
        yield problem(OURS, f"{own} is not registered with lmms-eval ({_GROUP}: {_PLUGIN})", remedy)
    for need in map(Requirement, requires(OURS) or ()):
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = version(need.name)
        except PackageNotFoundError:
            installed = "nothing"
        if not need.specifier.contains(installed, prereleases=True):
            fault = f"{installed} is installed, but {OURS} needs {need.specifier}"
            yield problem(need.name, fault, f"pip install '{need}'")
        elif need.name in _NAMED:
            yield Check(need.name, "ok", f"{installed} (supported: {need.specifier})")


# Run in a new process: broken packages crash, and lmms-eval and torch take long to import. As in an
# installed command, nothing is imported from the working folder. Packages print while they are
# imported: only the last line is the result.
_PROGRAM = """
import json, sys
sys.path[:] = [each for each in sys.path if each]
import lmms_eval.models
from lmms_eval.tasks import TaskManager
from lmms_rpts.tasks.registry import benchmark_of
tasks = [name for name in TaskManager().all_tasks if benchmark_of(name)]
print("\\n" + json.dumps(tasks), flush=True)
"""
_TASK = "rpts_eval_en"


def check_lmms_eval() -> Iterator[Check]:
    """Whether a new lmms-eval process finds our tasks."""
    command, silent = [sys.executable, "-c", _PROGRAM], subprocess.DEVNULL
    done = subprocess.run(command, stdin=silent, capture_output=True, check=False)  # noqa: S603
    tasks = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else []
    if _TASK in tasks:
        first = sorted(tasks, key=lambda name: (not name.startswith("rpts_eval"), name))
        yield Check("tasks", "ok", f"lmms-eval finds {len(tasks)} tasks: {listed(first)}")
        return
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no output"]
    fault = f"lmms-eval does not find {_TASK}: {lines[-1].strip()} (status {done.returncode})"
    remedy = "reinstall the package that the message names (pip install --force-reinstall PACKAGE)"
    yield problem("tasks", fault, remedy)


# --- settings, data


def check_settings() -> Iterator[Check]:
    """Whether the settings are valid, where each one that is set comes from, and the cache."""
    refuse_unknown(SETTINGS_TABLES)
    lines = []
    for table in SETTINGS_TABLES:
        start = table.TABLE and f"{table.TABLE}."
        values = table.load().model_dump(mode="json", exclude_unset=True)
        lines += [f"\n{start}{it} = {value} ({table.origin(it)})" for it, value in values.items()]
    if folder := load_settings().cache:
        AnswerCache(folder).close()  # a run with an unusable one pays twice if it is repeated
    yield Check("settings", "ok", f"set:{''.join(lines) or ' nothing'}")


def check_data(benchmark: Benchmark) -> Iterator[Check]:
    """The data and images of a benchmark that is set up, and its grader; downloads nothing."""
    name, place = benchmark.title, getattr(benchmark.settings.load(), "path", None)
    if place is None:
        return
    load_settings()  # grading reads them, too
    tasks = max(benchmark.groups.values(), key=len)  # without the demo, and tasks asked apart
    counts = dict[str, int]()
    for part, task in {benchmark.tasks[task]: task for task in tasks}.items():
        try:
            questions = benchmark.load(part)
            questions.check()  # also here: a benchmark may check images once a process
            if not benchmark.scored:  # the judge of steps has a stage of its own
                benchmark.check(task)
        except UserError as error:
            yield data_fault(f"{name}, {part}", error)
            break  # all 61 sets of ReForm-Eval may have the same fault
        counts[part] = len(questions.questions)
    if parts := ", ".join(f"{part}: {n:,}" for part, n in counts.items() if n):
        message = f"all images; questions: {parts} ({benchmark.data_variable}={place})"
        yield Check(name, "ok", message)


# --- the judge: questions with obvious answers, about a text and a drawn image

SITUATION = "Anna wants to buy bread in the village shop."
PREMISES = ("The village shop is closed on Sundays.", "Today is Sunday.")
VALID, INVALID = "The village shop is closed today.", "The village shop is open today."
SEEN = "The image shows a red disc on a white ground."
UNSEEN = "The image shows a blue square on a black ground."
_BLIND = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"
_UNANSWERED = (
    "check that the server runs, OPENAI_BASE_URL (it often ends in /v1), HTTPS_PROXY, "
    "OPENAI_API_KEY, the name of the model and your credit; docs/judging.md"
)


def check_judge(needed: bool = True) -> Iterator[Check]:
    """Ask the judge about a valid and an invalid step, and about an image if it is shown images.

    Replies are not cached, and no cached replies are used. ``needed``: it is a problem if no judge
    is set.
    """
    settings = load_settings(cache="off", concurrency=1)
    if not settings.judge:
        if needed:
            yield problem("judge", "no judge is set", choices())
        return
    chosen, prompts = find_judge(settings.judge, settings), Prompts(settings.prompts)
    name, is_shown = f"judge {chosen.name}", settings.evidence in ("image", "both")
    if chosen.backend.free:
        yield Check(name, "ok", f"calls no model: {chosen.backend.purpose}")
        return
    given = {"context": SITUATION, "premises": PREMISES}
    questions = [
        prompts.request("inference", "en", **given, conclusion=step) for step in (VALID, INVALID)
    ]
    if is_shown:
        drawing = Image.new("RGB", (224, 224), "white")
        ImageDraw.Draw(drawing).ellipse((56, 56, 168, 168), "red")
        image = JudgeImage("Image 0", lambda: drawing, settings.image_size)
        questions += [
            prompts.request("image", "en", images=(image,), facts=(), conclusion=claim)
            for claim in (SEEN, UNSEEN)
        ]
    limit = None if chosen.backend.local else settings.timeout * len(questions)
    judge = chosen.backend.open(chosen.model, settings)
    address = getattr(judge, "identity", {}).get("endpoint", "this machine, where it is loaded")
    complain(_shown(f"Asking {chosen.name} at {address}: {len(questions)} questions ..."))
    client = Client(chosen, judge, settings)
    try:
        verdicts = run_async(_ask(client, questions, limit))
    except asyncio.TimeoutError:
        yield problem(name, f"no answer within {limit:g} s (LMMS_RPTS_TIMEOUT)", _UNANSWERED)
        return
    about_text = _judged(name, f"{address}; {usage_text(client.budget.usage())}", verdicts[:2])
    yield about_text
    if is_shown and about_text.state == "ok":
        yield _judged(f"{name}: images", "about a drawn image", verdicts[2:], _BLIND)


async def _ask(client: Client, questions: Sequence[Request], limit: float | None) -> list[Verdict]:
    """The verdicts of the judge; a TimeoutError after ``limit`` seconds."""
    async with aclosing(client):
        return await asyncio.wait_for(asyncio.gather(*map(client.ask, questions)), limit)


def _judged(name: str, asked: str, verdicts: Sequence[Verdict], remedy: str = "") -> Check:
    """The result of two questions: what is right should get at least 0.5, what is wrong less."""
    failed = next((verdict for verdict in verdicts if verdict.value is None), None)
    reply = ((failed or verdicts[0]).reply or "").strip()
    if failed:
        message = str(failed.error)
    else:
        right, wrong = (float(verdict.value or 0.0) for verdict in verdicts)
        message = f"scores {right:g} for what is plainly right, {wrong:g} for what is plainly wrong"
        if right >= 0.5 > wrong:
            return Check(name, "ok", f"{message} ({asked})")
    weak = (
        "it misunderstands the question, or is too weak: choose another judge, or measure it: "
        f"lmms-rpts validate --judge {name.removeprefix('judge ')} (docs/validation.md)"
    )
    quoted = f"\nits reply: {reply[:160]!r}" if reply else ""
    remedy = remedy or (weak if reply else _UNANSWERED)
    return problem(name, f"{message} ({asked}){quoted}", remedy)

"""The demo: two invented models, evaluated with lmms-eval and compared."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import clear_variables, set_variables
from lmms_rpts.report.write import write_report
from lmms_rpts.runs.reading import read_runs
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.registry import SETTINGS_TABLES

HERE = Path(__file__).parent
TASK = "rpts_demo"
MODELS = ("careful", "lucky")

_ROWS = (
    *("accuracy", "rpts", "accuracy_rpts", "right_for_wrong_reason"),
    *("rpts_visual", "rpts_textual", "parse_rate", "judge_coverage"),
)
# The demo uses its own settings, not those of the shell.
_CLEARED = ("LMMS_RPTS_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LMMS_EVAL_")
_TIME_LIMIT = 900
_LINES = 15
# lmms-eval dates its files in the time of Singapore, and the demo's folder has a date as well. Only
# UTC is sure to have a name that lmms-eval knows.
_DATES = ("--timezone", "UTC")


class DemoError(UserError):
    """The demo failed; the message contains the reason."""

    def __str__(self) -> str:
        return f"The demo failed: {super().__str__()}"


def run_demo(output: Path) -> None:
    """Run both models and print the comparison.

    Raises:
        DemoError: if a run failed, left out an instance or could not judge one.
    """
    console = Console()
    clear_variables(*_CLEARED, *(n for t in SETTINGS_TABLES for n in chain(*t.SETTINGS.values())))
    set_variables(LMMS_RPTS_CONFIG=os.devnull, LMMS_RPTS_JUDGE="lexical", HF_HUB_OFFLINE="1")
    folder = output / datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DemoError(f"Cannot write to {folder}: {error.strerror}") from None
    doing = "Running lmms-eval on both models (under a minute) ..."
    with console.status(doing), ThreadPoolExecutor() as pool:
        for done in [pool.submit(_evaluate, model, folder / model) for model in MODELS]:
            done.result()
    runs = _read(folder)
    console.print(_table(runs))
    _print_example(runs["lucky"], console)
    console.print(
        "Judged offline by the [bold]lexical[/] judge (word overlap), for testing only: its "
        "scores cannot be compared with those of a language model."
    )
    for model, run in runs.items():
        console.print(f"Samples of {model}: {escape(str(run.files[0]))}", soft_wrap=True)
    report = write_report([*runs.values()], folder / "report.html", progress=False).path
    console.print(f"Report for a browser: {escape(str(report))}", soft_wrap=True)


def _evaluate(model: str, folder: Path) -> None:
    """Run lmms-eval on the responses of a model."""
    samples, log = HERE / "responses" / f"{model}.jsonl", folder.with_suffix(".log")
    if "," in f"{samples}{folder}":
        raise DemoError(f"lmms-eval can't take a path with a comma: {samples}, {folder}")
    command = [sys.executable, "-m", "lmms_eval", "--model", "replay", "--tasks", TASK, *_DATES]
    command += ["--model_args", f"samples={samples}", "--log_samples", "--output_path", str(folder)]
    try:
        with log.open("w", encoding="utf-8") as out:
            subprocess.run(  # noqa: S603 - our own command, no shell
                command, stdout=out, stderr=subprocess.STDOUT, timeout=_TIME_LIMIT, check=False
            )
    except subprocess.TimeoutExpired:
        raise DemoError(f"lmms-eval took over {_TIME_LIMIT} s; see {log}") from None
    # lmms-eval exits with 0 even if the evaluation failed, so its files are checked.
    if not any(folder.rglob("*_results.json")):
        said = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:]
        raise DemoError(f"{model}: lmms-eval failed; its output:\n" + "\n".join(map(visible, said)))


def _read(folder: Path) -> dict[str, Run]:
    """The runs by model, checked to be complete."""
    places = [f"{each}={folder / each}" for each in MODELS]
    runs = {run.label: run for run in read_runs(places, {RptsRecord.SCHEMA: RptsRecord})}
    expected = len(json.loads((HERE / "instances.json").read_text(encoding="utf-8")))
    for model, run in runs.items():
        if len(run.responses) != expected:
            raise DemoError(f"{model}: {len(run.responses)} of {expected} instances have a result")
        unscored = [each.reason for each in run.responses if each.outcome == "unscored"]
        if unscored:
            raise DemoError(f"{model}: {len(unscored)} instances were not judged: {unscored[0]}")
    return runs


def _table(runs: Mapping[str, Run]) -> Table:
    table = Table(title=f"{TASK}: two fictional models with equal accuracy")
    table.add_column("metric", no_wrap=True)
    table.add_column("meaning")
    for model in runs:
        table.add_column(model, justify="right", no_wrap=True)
    for name in _ROWS:
        values = [_value(run.results["results"][TASK], name) for run in runs.values()]
        table.add_row(name, METRICS[name].words, *values)
    return table


def _value(metrics: Mapping[str, Any], name: str) -> str:
    value, error = metrics[f"{name},none"], metrics[f"{name}_stderr_clt,none"]
    if math.isnan(value):
        return "no such step"
    if isinstance(error, str) or math.isnan(error):
        return f"{value:.3f}"
    return f"{value:.3f} ± {error:.3f}"


def _print_example(run: Run, console: Console) -> None:
    """Print one right answer with unsound reasoning, and the first wrong step."""
    for each in run.responses:
        error = each.first_error
        if each.answer.correct and error and each.rpts is not None and each.rpts < 0.5:
            instance, step = each.instance, each.steps[error.step]
            console.print(
                f"\nlucky on instance {instance.id}: the answer '{each.answer.value}' is "
                f"[green]right[/], but RPTS is {each.rpts:.2f}. First wrong step: Conclusion "
                f"{error.step} ({error.modality}, score {error.score:.1f}):\n"
                f"  response: {escape(step.conclusion)}\n"
                f"  gold:     {escape(instance.reasoning[0].replace(' -> ', ': '))}\n",
                soft_wrap=not console.is_terminal,
            )
            return

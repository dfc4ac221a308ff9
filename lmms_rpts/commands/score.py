"""``lmms-rpts score``: score saved responses without the model."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_rpts.commands.common import IncludePath, Judge, check_outputs, fail, fail_to_write
from lmms_rpts.settings import environment_without, load_settings, options_given

if TYPE_CHECKING:
    from lmms_rpts.analysis.rescoring import Rescoring
    from lmms_rpts.commands.evaluation import Written

_INTERRUPTED = 130
_ENDINGS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)


def score(
    samples: Annotated[
        list[Path],
        typer.Argument(
            metavar="SAMPLES...",
            help=(
                "Samples of lmms-eval (--log_samples; files, or the folder of one run), or JSONL "
                'of {"task", "doc_id" or "id", "response"} (also JSON, CSV, Parquet), or the '
                "publishers' prediction files."
            ),
            show_default=False,
        ),
    ],
    task: Annotated[
        str | None, typer.Option("--task", help="Task or group. Default: those in the samples.")
    ] = None,
    judge: Judge = None,
    correct: Annotated[
        str | None,
        typer.Option(
            "--correct",
            help="Metric of the task that decides whether an answer is right: METRIC, "
            "METRIC.FIELD, METRIC>=0.8, or none. Default: the first suitable one.",
            show_default=False,
        ),
    ] = None,
    include_path: IncludePath = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results and samples.")
    ] = Path("rescored"),
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the model. Default: the name in the results file."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log of lmms-eval.")] = False,
) -> None:
    """Score saved responses to any task, with any judge, without the model.

    For a task of lmms-eval or of another package, images and prompts come from the task, and its
    own metric decides whether an answer is right. Runs lmms-eval on the responses, and writes
    results and samples in its formats. The exit status is 1 if judging stopped before its end.
    """
    try:
        with _terminable():
            _score(samples, task, judge, output, name, include_path, correct, verbose)
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. {_what_is_kept(judge)}", err=True)
        raise typer.Exit(_INTERRUPTED) from None


def _what_is_kept(judge: str | None) -> str:
    """What is kept of an interrupted run, and how to continue it."""
    from lmms_rpts.judging import NO_JUDGE, find_judges
    from lmms_rpts.judging.cache import FILE

    settings = load_settings(judge=judge)
    again = f"run the same command again:\n  {shlex.join(['lmms-rpts', *sys.argv[1:]])}"
    paid = any(each.backend.kept for each in find_judges(settings.judge or NO_JUDGE, settings))
    if paid and settings.cache is None:
        return "LMMS_RPTS_CACHE is off: the next run requests all judge replies again."
    if paid and settings.cache and (settings.cache / FILE).is_file():
        return f"Judge replies are cached in {settings.cache}. To request only the rest, {again}"
    return f"To start again, {again}"


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn termination signals into SystemExit, so that lmms-eval ends too and spends no money."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in _ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _score(
    samples: list[Path],
    task: str | None,
    judge: str | None,
    output: Path,
    name: str | None,
    include_path: Path | None,
    correct: str | None,
    verbose: bool,
) -> None:
    from lmms_rpts.analysis.rescoring import guess_name, plan_score, safe_name, write_responses
    from lmms_rpts.commands.evaluation import replay_command
    from lmms_rpts.judging import JudgeConfigurationError, choices, find_judges
    from lmms_rpts.runs.task_grades import write_task_grades
    from lmms_rpts.tasks.any_task.names import own_tasks
    from lmms_rpts.tasks.documents import answered_tasks

    metric = load_settings(correct=correct).correct
    rescoring = plan_score(samples, task, own=own_tasks(include_path), correct=metric)
    if correct and answered_tasks().keys() & rescoring.responses.keys():
        fail(
            "--correct is only for tasks of other packages: the built-in tasks grade answers "
            "themselves"
        )
    settings = load_settings(judge=judge)
    chosen = settings.judge  # None: the task's own
    if chosen:
        find_judges(chosen, settings)
    elif rescoring.needs_judge:
        raise JudgeConfigurationError(f"No judge is set: use --judge.\n{choices()}")
    model = safe_name(name or guess_name(rescoring.files))
    # A folder with two runs of the same documents is no longer a single run.
    if any(output.resolve() in (each.resolve(), each.resolve().parent) for each in samples):
        fail(f"{output} contains the responses themselves: choose another folder with -o")
    check_outputs([output / "results.json"])
    _announce(rescoring, model, chosen)
    include = ["--include_path", str(include_path)] if include_path else []
    stopped = None
    with tempfile.TemporaryDirectory(prefix="lmms-rpts-") as folder:
        merged, graded = (Path(folder) / name for name in ("responses.jsonl", "grades.jsonl"))
        write_responses(merged, rescoring.responses)
        if rescoring.grades:
            write_task_grades(graded, rescoring.grades)
        place = str(graded) if rescoring.grades else None
        with options_given(judge=chosen, correct=correct, grades=place):
            environment = environment_without()
        for number, part in enumerate(rescoring.parts):
            place = Path(folder) / str(number)
            more = [*part.arguments(), *include]
            command = replay_command(merged, part.tasks, place, name=model, more=more)
            kept = _keep(_run(command, place, environment, verbose), output)
            typer.echo(f"Results: {kept.results}")
            for file in kept.samples.values():
                typer.echo(f"Samples: {file}")
            stopped = stopped or kept.stopped
    typer.echo(f"To view them: {shlex.join(['lmms-rpts', 'report', str(output), *include])}")
    if stopped:
        fail(f"Judging stopped: {stopped}. The results are incomplete. {_what_is_kept(judge)}")


def _announce(rescoring: Rescoring, model: str, judge: str | None) -> None:
    for task in rescoring.passed_over:
        typer.echo(f"Ignored: responses to {task}")
    for each in rescoring.extents:
        whole = (each.start, each.stop) == (0, each.total)
        of = f" of {each.total}" if each.total else ""
        part = "" if whole else f", from doc_id {each.start} to {each.stop - 1}{of}"
        repeats = f", {each.repeats} responses to each" if each.repeats > 1 else ""
        typer.echo(f"{each.task}: {each.stop - each.start} documents{part}{repeats}")
    if len(rescoring.parts) > 1:
        typer.echo(
            "lmms-eval can score several tasks together only for the same documents: the tasks are "
            "scored one after another, and there is no row for their group"
        )
    typer.echo(f"Scoring {model}, judge: {judge or rescoring.default_judge}")


def _run(
    command: Sequence[str], output: Path, environment: dict[str, str], verbose: bool
) -> Written:
    from lmms_rpts.commands import evaluation

    sys.stdout.flush()
    if verbose:
        return evaluation.find_written(output, evaluation.run(command, environment))
    typer.echo("lmms-eval is starting; --verbose shows its log", err=True)
    log = output.with_suffix(".log")
    code = evaluation.run(command, environment, log)
    said = evaluation.read_log(log)
    for warning in evaluation.own_warnings(said):
        typer.echo(f"Warning: {warning}", err=True)
    written = evaluation.find_written(output, code, said)
    typer.echo(evaluation.results_table(said))
    return written


def _keep(written: Written, output: Path) -> Written:
    """Move a run's files; change the date in their names if it is taken by another run."""
    import shutil

    stem = written.results.name.removesuffix("_results.json")
    new, number = stem, 1
    while any(output.glob(f"{new}_*")):
        number += 1
        new = f"{stem}-{number}"

    def moved(file: Path) -> Path:
        return Path(shutil.move(file, output / file.name.replace(stem, new, 1)))

    try:
        samples = {task: moved(file) for task, file in written.samples.items()}
        return replace(written, results=moved(written.results), samples=samples)
    except OSError as error:
        fail_to_write(output, error)

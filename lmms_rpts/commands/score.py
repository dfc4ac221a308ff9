"""``lmms-rpts score``: score saved responses without the model."""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_rpts.base.settings import environment_without, load_settings
from lmms_rpts.commands.common import (
    IncludePath,
    Judge,
    check_outputs,
    fail,
    fail_to_write,
    same_command,
)
from lmms_rpts.commands.evaluation import (
    Written,
    find_written,
    own_warnings,
    read_log,
    replay_command,
    results_table,
    run,
)
from lmms_rpts.commands.report import check_page, report

if TYPE_CHECKING:
    from lmms_rpts.analysis.rescoring import Rescoring

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
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="Of predictions of several models, only those of this one. May be repeated.",
            show_default=False,
        ),
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(help="Write the requests without a reply, for a batch API (docs/scale.md)."),
    ] = None,
    replies: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="Score by results of --requests."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--report", help="Write a report of the scored runs, as lmms-rpts report."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log of lmms-eval.")] = False,
) -> None:
    """Score saved responses to any task, with any judge, without the model.

    For a task of lmms-eval or of another package, images and prompts come from the task, and its
    own metric decides whether an answer is right. Responses of several models or rounds are scored
    as one run for each model and round. Runs lmms-eval on the responses, and writes results and
    samples in its formats. The exit status is 1 if judging stopped before its end.
    """
    if page:
        check_page(page)
        check_outputs([page])
    written: list[str] = []
    try:
        with _terminable(), tempfile.TemporaryDirectory(prefix="lmms-rpts-") as folder:
            chosen = _Chosen(task, judge, output, include_path, correct, verbose)
            jobs = _jobs(samples, Path(folder), name, models or [])
            runs: Iterator[_Job] = (
                (part, _score(files, of, part, Path(folder, str(number)), chosen))
                for number, (files, of, part) in enumerate(jobs)
            )
            if requests or replies:
                runs = _round(runs, judge, requests, replies or [])
            for part, found in runs:
                parts = [_publish(each, output, not part) for each in found]
                written += [str(each.results) for each in parts]
                why = next(filter(None, (each.stopped for each in parts)), None)
                if why and not replies:
                    kept = _what_is_kept(judge)
                    fail(f"Judging stopped: {why}. The results are incomplete. {kept}")
            include = ["--include_path", str(include_path)] if include_path else []
            if len(jobs) > 1:
                shown = shlex.join(["lmms-rpts", "summarize", str(output)])
                typer.echo(f"To compare them: {shown}")
            shown = shlex.join(["lmms-rpts", "report", str(output), *include])
            if page is None:
                typer.echo(f"To view them: {shown}")
            else:
                report(written, page, include_path=include_path)
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. {_what_is_kept(judge)}", err=True)
        raise typer.Exit(_INTERRUPTED) from None


_Job = tuple[str, Iterable[Written]]
"""Which of several runs it is, and what is written for each part of it."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What the options of the command choose, for all runs."""

    task: str | None
    judge: str | None
    output: Path
    include_path: Path | None
    correct: str | None
    verbose: bool


def _jobs(
    samples: list[Path], folder: Path, name: str | None, models: list[str]
) -> list[tuple[list[Path], str | None, str]]:
    """The files of each model and round, the name of the model and the round; else all files."""
    from lmms_rpts.base.escaping import did_you_mean, listed
    from lmms_rpts.runs.responses import split_rounds

    rounds = split_rounds(samples, folder)
    for model in models:
        if model not in rounds:
            known = listed(list(rounds)) if any(rounds) else "the rows have no field model"
            fail(f"No responses of the model {model!r}: {known}.{did_you_mean(model, rounds)}")
    chosen = {model: rounds[model] for model in models} or rounds
    if name and len(chosen) > 1:
        fail(f"--name is the name of one model, and there are several: {listed(list(chosen))}")
    alone = name or (None if any(chosen) or len(samples) > 1 else samples[0].stem)
    several = len(chosen) > 1 or any(len(files) > 1 for files in chosen.values())
    return [
        ([file], of, f"{of}, round {at} of {len(files)}" * several)
        for model, files in chosen.items()
        for of in [alone or model or samples[0].resolve().parent.name]
        for at, file in enumerate(files, 1)
    ] or [(samples, name, "")]


def _what_is_kept(judge: str | None) -> str:
    """What is kept of an interrupted run, and how to continue it."""
    from lmms_rpts.judging import NO_JUDGE, backend_of
    from lmms_rpts.judging.cache import FILE

    settings = load_settings(judge=judge)
    again = f"run the same command again:\n  {same_command()}"
    paid = backend_of(settings.judge or NO_JUDGE).kept
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
    samples: list[Path], name: str | None, part_of: str, folder: Path, given: _Chosen
) -> Iterator[Written]:
    """Score the responses of one run, part by part.

    ``part_of``: one of several runs, which is shown in few lines; ``folder``: a new one.
    """
    from lmms_rpts.analysis.rescoring import guess_name, plan_score, safe_name, write_responses
    from lmms_rpts.host.task_files import own_documents
    from lmms_rpts.judging import JudgeConfigurationError, choices
    from lmms_rpts.runs.samples import write_task_grades
    from lmms_rpts.tasks.benchmark import answered_tasks

    judge, correct, output = given.judge, given.correct, given.output
    metric = correct
    own = own_documents(given.include_path)
    rescoring = plan_score(samples, given.task, own=own, correct=metric)
    if correct and answered_tasks().keys() & rescoring.responses.keys():
        fail(
            "--correct is only for tasks of other packages: the built-in tasks grade answers "
            "themselves"
        )
    settings = load_settings(judge=judge)
    chosen = settings.judge  # None: the task's own
    if not chosen and rescoring.needs_judge:
        raise JudgeConfigurationError(f"No judge is set: use --judge.\n{choices()}")
    model = safe_name(name or guess_name(rescoring.files))
    # A folder with two runs of the same documents is no longer a single run.
    if any(output.resolve() in (each.resolve(), each.resolve().parent) for each in samples):
        fail(f"{output} contains the responses themselves: choose another folder with -o")
    check_outputs([output / "results.json"])
    if part_of:
        typer.echo(
            f"{part_of}: {sum(each.stop - each.start for each in rescoring.extents)} documents"
        )
    else:
        _announce(rescoring, model, chosen)
    tasks = given.include_path and str(given.include_path.absolute())
    include = ["--include_path", tasks] if tasks else []
    folder.mkdir()
    merged, graded = (folder / name for name in ("responses.jsonl", "grades.json"))
    write_responses(merged, rescoring.responses)
    if rescoring.grades:
        write_task_grades(graded, rescoring.grades)
    environment = environment_without() | {"LMMS_RPTS_JUDGE": chosen or ""}
    for number, part in enumerate(rescoring.parts):
        place = folder / str(number)
        more = [*part.arguments(), *include]
        command = replay_command(merged, part.tasks, place, name=model, more=more)
        yield _evaluate(command, place, environment, given.verbose, note=not part_of)


def _publish(written: Written, output: Path, alone: bool) -> Written:
    """Show and keep the results of a run; returns the kept files."""
    for warning in own_warnings(written.log):
        typer.echo(f"Warning: {warning}", err=True)
    if alone and written.log:
        typer.echo(results_table(written.log))
    kept = _keep(written, output)
    typer.echo(f"Results: {kept.results}")
    for file in kept.samples.values() if alone else ():
        typer.echo(f"Samples: {file}")
    return kept


def _round(
    runs: Iterable[_Job], judge: str | None, requests: Path | None, replies: Sequence[Path]
) -> Iterator[_Job]:
    """The runs by the replies of batches; the command ends if requests were to be written."""
    from lmms_rpts.base.files import draft_of
    from lmms_rpts.judging import BACKENDS, NO_JUDGE, backend_of
    from lmms_rpts.judging.request_files import START

    settings = load_settings(judge=judge)
    name, options = (settings.judge or NO_JUDGE).strip(), ("--requests", "--replies")
    if backend_of(name) is not BACKENDS["openai"] or settings.cache is None:
        fail("--requests and --replies need --judge openai:MODEL, and LMMS_RPTS_CACHE not off")
    check_outputs([requests] if requests else [])
    if requests and requests.is_file() and not requests.read_bytes().startswith(START):
        fail(f"{requests} is not a file of requests: choose another name for --requests")
    _take_replies(replies, settings.cache, name)
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as waiting:
        found = [(part, list(parts)) for part, parts in runs]
        number = sum(1 for _ in waiting)
        if requests:
            with draft_of(requests) as draft:
                shutil.copyfile(waiting.name, draft)
    if number and requests:
        typer.echo(
            f"Written: {requests} ({number:,} requests, {requests.stat().st_size / 1e6:,.1f} MB). "
            "Have it answered by a batch API, or by vllm run-batch -i FILE -o RESULTS.jsonl "
            f"--model {name.partition(':')[2]}. Then:\n  "
            + same_command(options, "--replies", "RESULTS.jsonl")
        )
    elif requests:
        requests.unlink()
        shown = [
            part for each in replies or ("RESULTS.jsonl",) for part in ("--replies", str(each))
        ]
        typer.echo(
            f"All requests have replies. To score by them:\n  {same_command(options, *shown)}"
        )
    if requests and (number or not replies):
        raise typer.Exit
    yield from found
    if number:
        typer.echo(f"{number:,} requests have no reply yet: the results are incomplete. Next:")
        typer.echo(f"  {same_command(options, '--requests', 'FILE.jsonl')}")


def _take_replies(files: Sequence[Path], folder: Path, judge: str) -> None:
    """Store the replies in files of results, and show what the files hold."""
    from lmms_rpts.judging.cache import AnswerCache, CacheError
    from lmms_rpts.judging.request_files import take_result

    every = Counter[str]()
    for path in files:
        try:
            with closing(AnswerCache(folder)) as cache, path.open("rb") as lines:
                counts = Counter(take_result(line, cache, judge) for line in lines if line.strip())
        except (OSError, CacheError) as error:
            fail(f"Cannot take the replies in {path}: {error}")
        every += counts
        shown = [f"{number:,} {outcome}" for outcome, number in counts.most_common(4)]
        typer.echo(f"{path}: {'; '.join(shown) or 'empty'}")
    if files and not every["replies"] + every["known"]:
        fail("There is no reply in these files: write the requests again with --requests")


def _announce(rescoring: Rescoring, model: str, judge: str | None) -> None:
    for task in rescoring.passed_over:
        typer.echo(f"Ignored: responses to {task} (a task of your own needs --include_path FOLDER)")
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


def _evaluate(
    command: Sequence[str], output: Path, environment: dict[str, str], verbose: bool, note: bool
) -> Written:
    sys.stdout.flush()
    if note and not verbose:
        typer.echo("lmms-eval is starting; --verbose shows its log", err=True)
    log = None if verbose else output.with_suffix(".log")
    return find_written(output, run(command, environment, log), read_log(log))


def _keep(written: Written, output: Path) -> Written:
    """Move a run's files; change the date in their names if it is taken by another run."""
    from lmms_rpts.runs.samples import RunError

    stem = written.results.name.removesuffix("_results.json")
    new, number = stem, 1
    while any(output.glob(f"{new}_*")):
        number += 1
        new = f"{stem}-{number}"

    def moved(file: Path) -> Path:
        return Path(shutil.move(file, output / file.name.replace(stem, new, 1)))

    try:
        samples = {task: moved(file) for task, file in written.samples.items()}
        kept = replace(written, results=moved(written.results), samples=samples)
        if kept.stopped is None:
            with suppress(RunError):  # of another run in the folder, which is not ours to judge
                _remove_stopped(kept, output)
        return kept
    except OSError as error:
        fail_to_write(output, error)


def _remove_stopped(written: Written, output: Path) -> None:
    """Remove the same run whose judging had stopped: it would count as another round."""
    from lmms_rpts.runs.reading import read_results, results_beside

    def extent(results: Mapping[str, Any]) -> list[Any]:
        config = results.get("config") or {}
        ours = config.get("lmms_rpts") or {}  # a run may go on with another time limit
        measured = [ours.get(name) for name in ("judge", "evidence", "source")]
        found = results.get("model_name"), results.get("n-samples"), config.get("offset")
        return [*found, *measured]

    new = extent(read_results(next(iter(written.samples.values()))))
    old = {}
    for samples in output.glob("*_samples_*.jsonl"):
        results = read_results(samples)
        judges = (results.get("usage") or {}).get("judges") or {}
        if judges.get("stopped") and extent(results) == new:
            old[samples] = results_beside(samples)
    for file in (*old, *dict.fromkeys(old.values())):
        file.unlink()
    for file in dict.fromkeys(old.values()):
        typer.echo(f"Removed: {file}, whose judging had stopped")

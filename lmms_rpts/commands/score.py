"""``lmms-rpts score``: score saved responses without the model."""

from __future__ import annotations

import asyncio
import shlex
import signal
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_rpts.analysis.scoring import RunPlan, Scored, plan_predictions, plan_runs, score_run
from lmms_rpts.base.settings import Settings, load_settings, set_variables
from lmms_rpts.commands.common import (
    PAGES,
    IncludePath,
    Judge,
    check_suffixes,
    fail,
    fail_to_write,
    protect_inputs,
    same_command,
)
from lmms_rpts.judging.registry import BACKENDS, backend_of
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.runs.files import draft_of
from lmms_rpts.stats.figures import usage_text
from lmms_rpts.tasks.registry import TASKS

_INTERRUPTED = 130
_ENDINGS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
_BATCH = ("--requests", "--replies")


def score(
    samples: Annotated[
        list[Path],
        typer.Argument(
            metavar="SAMPLES...",
            help=(
                "Samples of lmms-eval (--log_samples; files, or the folder of one run), or rows "
                'of {"task", "doc_id" or "id", "response"} (JSONL, JSON, CSV, XLSX, Parquet), or '
                "the publishers' prediction files."
            ),
            show_default=False,
        ),
    ],
    task: Annotated[
        str | None, typer.Option(help="Task or group. Default: those in the samples.")
    ] = None,
    judge: Judge = None,
    annotations: Annotated[
        Path | None,
        typer.Option(exists=True, help="Data of --task: their file or folder (setting `path`)."),
    ] = None,
    grader: Annotated[
        str | None, typer.Option(help="What grades the answers to --task (setting `grader`).")
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option(
            help="Metric of the task that decides whether an answer is right: METRIC, "
            "METRIC.FIELD, METRIC>=0.8, or none. Default: the first suitable one."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most N documents of each task.")
    ] = None,
    offset: Annotated[int, typer.Option(min=0, help="Number of the first document, from 0.")] = 0,
    include_path: IncludePath = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results and samples.")
    ] = Path("rescored"),
    formulation: Annotated[
        str | None,
        typer.Option(
            help="SAMPLES is a prediction file of ReForm-Eval's published code, of the set that "
            "--task names; how its answers were given: generation or likelihood."
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
) -> None:
    """Score saved responses to any task, with any judge, without the model.

    For a task of lmms-eval or of another package, images and prompts come from the task, and its
    own metric decides whether an answer is right. Responses of several models or rounds are scored
    as one run for each model and round. Writes results and samples as lmms-eval would. The exit
    status is 1 if judging stopped before its end, or if nothing was judged.
    """
    _set_benchmark(task, "annotations", "path", annotations and annotations.resolve())
    _set_benchmark(task, "grader", "grader", grader)
    settings, replies = load_settings(judge=judge), replies or []
    check_suffixes([page] if page else [], PAGES)
    # A folder with two runs of the same documents is no longer a single run.
    if any(output.resolve() in (each.resolve(), each.resolve().parent) for each in samples):
        fail(f"{output} contains the responses themselves: choose another folder with -o")
    places = (page, requests, output / "results.json")
    protect_inputs([], [path for path in places if path], *samples)
    for ending in _ENDINGS:  # as Ctrl-C, so that no drafts of files are left
        signal.signal(ending, lambda *_: signal.raise_signal(signal.SIGINT))
    done: list[Scored] = []
    try:
        if requests or replies:
            _take_replies(replies, requests, settings)
        if formulation is None:
            where: dict[str, Any] = {"include_path": include_path, "limit": limit, "offset": offset}
            runs = plan_runs(samples, settings, task=task, correct=correct, **where)
        else:
            runs = [plan_predictions(samples, task or "", formulation)]
        if requests:
            return _write_requests(runs, requests, replies, settings)
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            # Gets the requests without a reply, which are not asked.
            waiting = Path(file.name) if replies else None
            for run in runs:
                number = run.selection.get("round")
                at = "" if number is None else f", round {number + 1}"
                judges = ", ".join(dict.fromkeys(plan.scorer.judge for plan in run.tasks))
                typer.echo(f"Scoring {run.model}{at}, judge: {judges}")
                done.append(asyncio.run(score_run(run, settings, output=output, requests=waiting)))
                _show(done[-1], len(runs) == 1, None if replies else output, settings)
            if left := len(file.readlines()):
                fail(
                    f"{left:,} requests have no reply yet: the results are incomplete. Next:\n  "
                    + same_command(_BATCH, "--requests", "FILE.jsonl")
                )
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. {_what_is_kept(settings)}", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except BrokenPipeError:  # the reader of what is printed has ended, such as `| head`
        raise
    except OSError as error:
        fail_to_write(output, error)
    if page:
        from lmms_rpts.commands.report import report

        written = [str(scored.written) for scored in done if scored.written]
        report(written, page, include_path=include_path)
    else:
        include = ["--include_path", str(include_path)] if include_path else []
        if len(done) > 1:
            typer.echo(f"To compare them: {shlex.join(['lmms-rpts', 'summarize', str(output)])}")
        typer.echo(f"To view them: {shlex.join(['lmms-rpts', 'report', str(output), *include])}")
    if not any(scored.outcomes["scored"] for scored in done):
        fail("Nothing was judged: see the reasons above")


def _set_benchmark(task: str | None, option: str, field: str, value: object) -> None:
    """Set what an option says of the benchmark of a task, as its variable would."""
    benchmark = TASKS.get(task or "")
    variables = benchmark.settings.VARIABLES if benchmark else {}
    if value and field not in variables:
        fail(f"--{option} {f'is no setting of --task {task}' if task else 'needs --task'}")
    if value:
        set_variables(**{variables[field][0]: str(value)})


def _show(scored: Scored, alone: bool, output: Path | None, settings: Settings) -> None:
    """Show the results of a run, or if there are several where they are, and what failed.

    ``output``: the folder of the results; None: what failed is shown later. It is an error if
    judging stopped.
    """
    for task, values in scored.results["results"].items() if alone else ():
        counts = scored.results["n-samples"].get(task)
        size = f" ({counts['effective']:,} of {counts['original']:,} documents)" if counts else ""
        typer.echo(f"{task}{size}")
        for name, value in values.items():
            metric, _, pipeline = name.partition(",")
            if pipeline and not metric.endswith("_stderr_clt"):
                typer.echo(f"  {metric:<28}{value:.3f}")
    if usage := scored.results["usage"].get("judges"):
        typer.echo(f"Judge: {usage_text(usage)}")
    for line in scored.trust:
        typer.echo(line)
    if scored.written:
        typer.echo(f"Results: {scored.written}")
    if output and usage and usage["stopped"]:
        left = "The results are incomplete"
        if not scored.written:
            left = f"The earlier, complete results in {output} remain"
        fail(f"Judging stopped: {usage['stopped']}. {left}. {_what_is_kept(settings)}")
    if output and (failed := scored.requests["failed"]):
        typer.echo(f"{failed:,} judge requests failed. {_what_is_kept(settings)}")


def _what_is_kept(settings: Settings) -> str:
    """What is kept of an interrupted run, and how to continue it."""
    again = f"run the same command again:\n  {same_command()}"
    if backend_of(settings.judge or NO_JUDGE).free:
        return f"To start again, {again}"
    if settings.cache is None:
        return "LMMS_RPTS_CACHE is off: the next run requests all judge replies again."
    return f"Judge replies are cached in {settings.cache}. To request only the rest, {again}"


# --- request files of batch APIs -----------------------------------------------------------------


def _take_replies(replies: Sequence[Path], requests: Path | None, settings: Settings) -> None:
    """Store the replies in files of results, and show what the files hold."""
    from lmms_rpts.judging.request_files import START, take_results

    judge = (settings.judge or NO_JUDGE).strip()
    if backend_of(judge) is not BACKENDS["openai"] or settings.cache is None:
        fail("--requests and --replies need --judge openai:MODEL, and LMMS_RPTS_CACHE not off")
    written = requests.read_bytes() if requests and requests.is_file() else b""
    if written and not written.startswith(START):
        fail(f"{requests} is not a file of requests: choose another name for --requests")
    every = Counter[str]()
    for path in replies:
        counts = take_results(path, settings.cache, judge)
        every.update(counts)
        shown = [f"{number:,} {outcome}" for outcome, number in counts.most_common(4)]
        typer.echo(f"{path}: {'; '.join(shown) or 'empty'}")
    if replies and not every["replies"] + every["known"]:
        fail("There is no reply in these files: write the requests again with --requests")


def _write_requests(
    runs: Sequence[RunPlan], requests: Path, replies: Sequence[Path], settings: Settings
) -> None:
    """Write the requests without a reply, and show the next command."""
    with draft_of(requests) as draft:
        draft.touch()
        for run in runs:
            asyncio.run(score_run(run, settings, requests=draft))
    number = len(requests.read_bytes().splitlines())
    if not number:
        results = () if replies else ("--replies", "RESULTS.jsonl")
        command = same_command(["--requests"], *results)
        typer.echo(f"All requests have replies. To score by them:\n  {command}")
        return
    model = (settings.judge or "").partition(":")[2]
    typer.echo(
        f"Written: {requests} ({number:,} requests, {requests.stat().st_size / 1e6:,.1f} MB). "
        "Have it answered by a batch API, or by vllm run-batch -i FILE -o RESULTS.jsonl "
        f"--model {model}. Then:\n  {same_command(_BATCH, '--replies', 'RESULTS.jsonl')}"
    )

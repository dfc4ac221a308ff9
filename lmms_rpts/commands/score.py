"""``lmms-rpts score``: score saved responses without the model."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.analysis.scoring import (
    Scored,
    Selection,
    TaskPlan,
    find_responses,
    guess_name,
    plan_run,
    score_run,
)
from lmms_rpts.base.escaping import did_you_mean, listed
from lmms_rpts.base.rows import Row
from lmms_rpts.base.settings import Settings, load_settings, set_variables
from lmms_rpts.commands.common import IncludePath, Judge, fail, fail_to_write, same_command
from lmms_rpts.runs.files import check_writable
from lmms_rpts.runs.responses import RunKey, SavedDocument, SavedResponses
from lmms_rpts.stats.figures import usage_text
from lmms_rpts.tasks.registry import TASKS

_INTERRUPTED = 130
_ENDINGS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)


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
        str | None, typer.Option("--task", help="Task or group. Default: those in the samples.")
    ] = None,
    judge: Judge = None,
    annotations: Annotated[
        Path | None,
        typer.Option(
            help="Data of --task: their file or folder, as for the setting `path` of its table.",
            exists=True,
            show_default=False,
        ),
    ] = None,
    grader: Annotated[
        str | None, typer.Option(help="What grades the answers to --task, as the setting `grader`.")
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option(
            "--correct",
            help="Metric of the task that decides whether an answer is right: METRIC, "
            "METRIC.FIELD, METRIC>=0.8, or none. Default: the first suitable one.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most N documents of each task.")
    ] = None,
    offset: Annotated[
        int, typer.Option("--offset", min=0, help="Number of the first document, from 0.")
    ] = 0,
    ids: Annotated[
        list[str] | None,
        typer.Option("--ids", help="Only documents with these ids (ID,ID...).", show_default=False),
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
    formulation: Annotated[
        str | None,
        typer.Option(
            help="SAMPLES is a prediction file of ReForm-Eval's published code, of the set that "
            "--task names; how its answers were given: generation or likelihood.",
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
) -> None:
    """Score saved responses to any task, with any judge, without the model.

    For a task of lmms-eval or of another package, images and prompts come from the task, and its
    own metric decides whether an answer is right. Responses of several models or rounds are scored
    as one run for each model and round. Writes results and samples as lmms-eval would. The exit
    status is 1 if judging stopped before its end, or if nothing was judged.
    """
    if annotations or grader:
        _settle(task, annotations, grader)
    settings = load_settings(judge=judge)
    _check_output(samples, output, page)
    if formulation is not None:
        return _score_predictions(samples, task, formulation, name, output, page)
    chosen = tuple(part for each in ids or () for part in each.split(",") if part)
    if ids and not chosen:
        fail("--ids names no document: use --ids ID,ID")
    batch = _request_file(settings, requests, replies) if requests or replies else nullcontext()
    done: list[Scored] = []
    try:
        for path in filter(None, (page, requests, output / "results.json")):
            checked = output if path.parent == output else path  # for messages
            check_writable(path)  # before any judge call
        for ending in _ENDINGS:  # as Ctrl-C, so that no drafts of files are left
            signal.signal(ending, lambda *_: signal.raise_signal(signal.SIGINT))
        with batch as waiting:
            saved = find_responses(samples, task)
            for skipped in sorted(saved.passed_over):
                typer.echo(f"Ignored: responses to {skipped}")
            runs = _named_runs(saved, name, models or [])
            selected = {run: Selection(offset, limit, chosen, run.round) for run in runs}
            plans = {
                run: plan_run(saved, run, settings, selection, task, include_path, correct)
                for run, selection in selected.items()
            }
            scoring = partial(score_run, settings=settings, source=saved.path, requests=waiting)
            if requests and waiting:
                for run, model in runs.items():
                    asyncio.run(scoring(plans[run], model))
                if _write_requests(waiting, requests, replies, settings):
                    raise typer.Exit
            for run, model in runs.items():
                at = "" if run.round is None else f", round {run.round + 1}"
                judges = ", ".join(dict.fromkeys(plan.scorer.judge for plan in plans[run]))
                typer.echo(f"Scoring {model}{at}, judge: {judges}")
                scored = asyncio.run(
                    scoring(plans[run], model, output=output, selection=selected[run])
                )
                done.append(scored)
                _show(scored, alone=len(runs) == 1)
                if not replies and (scored.stopped or scored.requests["failed"]):
                    _tell_failures(scored, output, settings)
            if waiting and _tell_unanswered(waiting):
                raise typer.Exit(1)
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. {_what_is_kept(settings)}", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except BrokenPipeError:  # the reader of what is printed has ended, such as `| head`
        raise
    except OSError as error:
        fail_to_write(checked, error)
    _end(done, output, page, include_path)


def _check_output(samples: Sequence[Path], output: Path, page: Path | None) -> None:
    """Refuse places for results and page that cannot be, before anything is scored."""
    if page:
        from lmms_rpts.commands.report import check_page

        check_page(page)
    # A folder with two runs of the same documents is no longer a single run.
    if any(output.resolve() in (each.resolve(), each.resolve().parent) for each in samples):
        fail(f"{output} contains the responses themselves: choose another folder with -o")


def _score_predictions(
    files: Sequence[Path],
    task: str | None,
    formulation: str,
    name: str | None,
    output: Path,
    page: Path | None,
) -> None:
    """Score a prediction file of a benchmark's published code, which needs no other data."""
    read = TASKS[task].predictions if task is not None and task in TASKS else None
    if read is None or len(files) != 1:
        fail(
            "--formulation is for one prediction file of ReForm-Eval's published code: name its "
            "set with --task, such as reform_gqa"
        )
    scorer, rows = read(files[0], str(task), formulation)
    documents: dict[int, SavedDocument | None] = {
        at: SavedDocument([(Row(files[0], f"row {at}", at, {"response": text}), None)])
        for at, (_, text) in enumerate(rows)
    }
    plan = TaskPlan(rows[0][0].task, scorer, lambda at: rows[at][0], documents, len(rows))
    scoring = score_run(
        [plan], name or guess_name(files), load_settings(), source=str(files[0]), output=output
    )
    scored = asyncio.run(scoring)
    _show(scored, alone=True)
    _end([scored], output, page, None)


def _settle(task: str | None, annotations: Path | None, grader: str | None) -> None:
    """Set what these options say of the benchmark of a task, as its variables would."""
    place = str(annotations.resolve()) if annotations else None
    chosen = {"path": place, "grader": grader}
    for field, value in chosen.items():
        if value is None:
            continue
        benchmark = TASKS.get(task or "")
        if benchmark is None or field not in benchmark.settings.model_fields:
            option = "annotations" if field == "path" else field
            fail(f"--{option} {f'is no setting of --task {task}' if task else 'needs --task'}")
        set_variables(**{benchmark.settings.VARIABLES[field][0]: value})


def _named_runs(saved: SavedResponses, name: str | None, models: list[str]) -> dict[RunKey, str]:
    """The runs to score, with the names of their models."""
    known = dict.fromkeys(run.model for run in saved.runs)
    for model in models:
        if model not in known:
            there = listed(list(known)) if any(known) else "the rows have no field model"
            fail(f"No responses of the model {model!r}: {there}.{did_you_mean(model, known)}")
    if name and len(known) > 1 and len(models) != 1:
        fail(f"--name is the name of one model, and there are several: {listed(list(known))}")
    return {
        run: name or run.model or guess_name(saved.files)
        for run in sorted(
            saved.runs, key=lambda run: (list(known).index(run.model), run.round or 0)
        )
        if not models or run.model in models
    }


def _show(scored: Scored, alone: bool) -> None:
    """Show the results of a run; of one of several runs, only where they are."""
    for task, values in scored.results["results"].items() if alone else ():
        counts = scored.results["n-samples"].get(task) or {"effective": 0, "original": 0}
        documents, total = counts["effective"], counts["original"]
        of = f" of {total:,}" * (documents < total)
        typer.echo(f"{task}" + (f" ({documents:,}{of} documents)" if documents else ""))
        for name, value in values.items():
            metric, _, pipeline = name.partition(",")
            if pipeline and not metric.endswith("_stderr_clt"):
                typer.echo(f"  {metric:<28}{value:.3f}")
    if scored.used:
        typer.echo(f"Judge: {usage_text(scored.used)}")
    if scored.written:
        typer.echo(f"Results: {scored.written.results}")
        for file in scored.written.samples.values() if alone else ():
            typer.echo(f"Samples: {file}")


def _tell_failures(scored: Scored, output: Path, settings: Settings) -> None:
    """Tell what failed, and how to go on; an error if judging stopped."""
    if scored.stopped:
        left = "The results are incomplete"
        if not scored.written:
            left = f"The earlier, complete results in {output} remain"
        fail(f"Judging stopped: {scored.stopped}. {left}. {_what_is_kept(settings)}")
    if scored.used and (failed := scored.requests["failed"]):
        typer.echo(f"{failed:,} judge requests failed. {_what_is_kept(settings)}")


def _end(done: list[Scored], output: Path, page: Path | None, include_path: Path | None) -> None:
    """Write the page or say how to; an error if nothing was judged."""
    if page:
        from lmms_rpts.commands.report import report

        written = [str(each.written.results) for each in done if each.written]
        report(written, page, include_path=include_path)
    else:
        include = ["--include_path", str(include_path)] if include_path else []
        if len(done) > 1:
            typer.echo(f"To compare them: {shlex.join(['lmms-rpts', 'summarize', str(output)])}")
        typer.echo(f"To view them: {shlex.join(['lmms-rpts', 'report', str(output), *include])}")
    if not any(each.outcomes["scored"] for each in done):
        fail("Nothing was judged: see the reasons above")


def _what_is_kept(settings: Settings) -> str:
    """What is kept of an interrupted run, and how to continue it."""
    from lmms_rpts.judging.cache import FILE
    from lmms_rpts.judging.registry import backend_of
    from lmms_rpts.judging.types import NO_JUDGE

    again = f"run the same command again:\n  {same_command()}"
    paid = not backend_of(settings.judge or NO_JUDGE).free
    if paid and settings.cache is None:
        return "LMMS_RPTS_CACHE is off: the next run requests all judge replies again."
    if paid and settings.cache and (settings.cache / FILE).is_file():
        return f"Judge replies are cached in {settings.cache}. To request only the rest, {again}"
    return f"To start again, {again}"


# --- request files of batch APIs -----------------------------------------------------------------


@contextmanager
def _request_file(
    settings: Settings, requests: Path | None, replies: Sequence[Path] | None
) -> Iterator[Path]:
    """A file for requests without a reply, after the replies were taken."""
    from lmms_rpts.judging.registry import BACKENDS, backend_of
    from lmms_rpts.judging.request_files import START
    from lmms_rpts.judging.types import NO_JUDGE

    name = (settings.judge or NO_JUDGE).strip()
    if backend_of(name) is not BACKENDS["openai"] or settings.cache is None:
        fail("--requests and --replies need --judge openai:MODEL, and LMMS_RPTS_CACHE not off")
    if requests and requests.is_file() and not requests.read_bytes().startswith(START):
        fail(f"{requests} is not a file of requests: choose another name for --requests")
    _take_replies(replies or (), settings.cache, name)
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as waiting:
        yield Path(waiting.name)


def _write_requests(
    waiting: Path, requests: Path, replies: Sequence[Path] | None, settings: Settings
) -> bool:
    """Write the requests without a reply, and show the next command; whether the command ends."""
    from lmms_rpts.runs.files import draft_of

    with waiting.open("rb") as lines:
        number = sum(1 for _ in lines)
    options = ("--requests", "--replies")
    if not number:
        words = [part for each in replies or ("RESULTS.jsonl",) for part in (options[1], str(each))]
        said = same_command(options, *words)
        typer.echo(f"All requests have replies. To score by them:\n  {said}")
        return not replies
    with draft_of(requests) as draft:
        shutil.copyfile(waiting, draft)
    model = (settings.judge or "").partition(":")[2]
    typer.echo(
        f"Written: {requests} ({number:,} requests, {requests.stat().st_size / 1e6:,.1f} MB). "
        "Have it answered by a batch API, or by vllm run-batch -i FILE -o RESULTS.jsonl "
        f"--model {model}. Then:\n  " + same_command(options, "--replies", "RESULTS.jsonl")
    )
    return True


def _take_replies(files: Sequence[Path], folder: Path, judge: str) -> None:
    """Store the replies in files of results, and show what the files hold."""
    from lmms_rpts.judging.request_files import take_results

    every = Counter[str]()
    for path in files:
        counts: Mapping[str, int] = take_results(path, folder, judge)
        every.update(counts)
        shown = [f"{number:,} {outcome}" for outcome, number in Counter(counts).most_common(4)]
        typer.echo(f"{path}: {'; '.join(shown) or 'empty'}")
    if files and not every["replies"] + every["known"]:
        fail("There is no reply in these files: write the requests again with --requests")


def _tell_unanswered(waiting: Path) -> bool:
    """Show how many requests have no reply, and the next command; whether there are any."""
    with waiting.open("rb") as lines:
        number = sum(1 for _ in lines)
    if number:
        again = same_command(("--requests", "--replies"), "--requests", "FILE.jsonl")
        typer.echo(
            f"{number:,} requests have no reply yet: the results are incomplete. Next:\n  {again}"
        )
    return number > 0

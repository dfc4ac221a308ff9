"""``lmms-rpts summarize``: tables of models side by side, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lmms_rpts.commands.blocks import Line, Output, measured
from lmms_rpts.commands.common import (
    PLOTS,
    Runs,
    Validities,
    check_suffixes,
    fail,
    outputs,
    protect_inputs,
    read_validities,
)

if TYPE_CHECKING:
    from lmms_rpts.runs.run import AnyRun
    from lmms_rpts.runs.validity import ValidityFile
    from lmms_rpts.tasks.graded import GradeSummary

_SUFFIXES = (".csv", ".json", ".md", ".tex", *PLOTS)


def summarize(
    runs: Runs,
    benchmark: Annotated[
        str | None,
        typer.Option("--benchmark", help="Only this benchmark. Default: all in the runs."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Break the metrics down by this field. May be repeated. An unknown name lists the "
            "available fields.",
        ),
    ] = None,
    tree: Annotated[
        int,
        typer.Option(
            "--tree",
            metavar="LEVELS",
            min=0,
            help="Show the accuracy by knowledge area down to this level, where a benchmark has "
            "them.",
        ),
    ] = 0,
    listed: Annotated[
        int,
        typer.Option(
            "--list",
            min=0,
            help="Number of answers to list that the rules left undecided, and of those on which "
            "graders disagree.",
        ),
    ] = 0,
    task: Annotated[str | None, typer.Option("--task", help="Only this task.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show all metrics, not only the most important ones.")
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help="Columns to show, in this order. An unknown name lists them.",
            show_default=False,
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Set the figures beside the runs that papers and leaderboards printed, with "
            "source, date and protocol. They were not measured here, and enter no mean or test.",
        ),
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            help="Metric on the vertical axis of the scatter plot, or the name of curves to draw "
            "(ssr). Default: the benchmark's first metric. An unknown name lists them.",
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        outputs(
            "Write a file: .md or .tex (booktabs) with the shown tables, .csv with all metrics, "
            ".json with everything, or .svg, .png or .pdf with a scatter plot of score against "
            "tokens, or the curves of --metric (needs matplotlib)."
        ),
    ] = None,
    validity: Validities = None,
    steps: Annotated[
        bool,
        typer.Option(
            "--by-step",
            help="The runs are checkpoints of one training: show each metric against the training "
            "step, with the paired difference from the first. The step is in the name or path "
            "(checkpoint-500, step_1000, iter-2000), or given as 500=PATH. Only --benchmark, "
            "--task, --metric, --all and -o apply.",
        ),
    ] = False,
) -> None:
    """Compare models in one table per benchmark: metrics with intervals, and breakdowns.

    Works for runs scored by RPTS and for graded answers (ROME, CMMaTH, ReForm-Eval, benchmarks of
    other packages). Several runs of one model are repeated rounds, shown as mean and sample
    standard deviation (n - 1). A single round is shown with the 95% interval over its documents.
    """
    from lmms_rpts.tasks.all_runs import grading_of, read_all_runs
    from lmms_rpts.tasks.benchmark import get_benchmark
    from lmms_rpts.tasks.graded import summarize_grades
    from lmms_rpts.tasks.published import set_beside
    from lmms_rpts.tasks.sheets import explanation, listing_sheet, summary_sheets

    files = check_suffixes(output, _SUFFIXES)
    with Console(stderr=True).status("Reading the runs ..."):
        chosen = get_benchmark(benchmark) if benchmark else None
        known = read_validities(validity)
        there = read_all_runs(runs)
        protect_inputs(there.every, files, *(each.path for each in known))
    titles = {name: get_benchmark(name).title for name in there}
    of = {name: grading_of(name) for name in there if chosen is None or name == chosen.name}
    if chosen and not of:
        said = ", ".join(titles.values())
        fail(f"No run of {chosen.title} in {', '.join(runs)}; there are runs of {said}")
    if len(of) > 1 and files:
        names = " or ".join(f"--benchmark {name}" for name in of)
        fail(f"There are runs of several benchmarks: for -o, choose one with {names}")
    for name, grading in of.items():
        lacks = (("tree", tree and not grading.tree_sheets), ("list", listed and not grading.lists))
        for option, lacking in (*lacks, ("validity", validity and name != "rpts")):
            if lacking:
                fail(f"{titles[name]} does not support --{option}")
    heads = list(dict.fromkeys(filter(None, map(str.strip, (columns or "").split(",")))))
    for name, grading in of.items():
        if metric is not None and metric not in {*grading.metrics, *grading.curves}:
            known_metrics = ", ".join((*grading.metrics, *grading.curves))
            fail(f"Unknown metric {metric!r}; metrics: {known_metrics}")
        if steps:
            shown = [metric] if metric else [*grading.response_metrics] * every
            _steps(there[name], shown, task).deliver(files)
            continue
        with Console(stderr=True).status("Computing intervals ..."):
            summary = summarize_grades(grading, there[name], by or (), task)
            sheets = summary_sheets(summary, heads, every)
            notes = [explanation(summary, sheets)]
            notes += map(grading.sentence, summary.models) if grading.sentence else []
            beside = set_beside(get_benchmark(name), there[name], task) if published else None
        if published and beside is None:
            fail(f"{titles[name]} does not support --published")
        if tree and grading.tree_sheets:
            sheets += grading.tree_sheets(summary.trees, tree)
        lists = [listing_sheet(summary, each, listed) for each in grading.lists if listed]
        Output(
            [
                *sheets,
                *([beside.sheet()] if beside else []),
                *map(Line, notes),
                *(Line(said, "Published") for said in (beside.notes if beside else ())),
                *(Line(said, "Note") for said in summary.warnings),
                *(Line(said, "Judge") for said in _judges(there[name], task, known)),
            ],
            partial(beside.frame, summary) if beside else summary.frame,
            partial(beside.to_dict, summary) if beside else summary.to_dict,
            draw=partial(_plot, summary, metric or next(iter(grading.metrics))),
            details=[sheet for sheet in lists if sheet],
        ).deliver(files)


def _steps(runs: Sequence[AnyRun], metrics: Sequence[str], task: str | None) -> Output:
    from lmms_rpts.analysis.checkpoints import by_step

    with Console(stderr=True).status("Comparing the checkpoints ..."):
        found = by_step(runs, metrics, task)

    def draw(kind: str) -> bytes:
        from lmms_rpts.report.plots import draw_steps

        return draw_steps(found.tables, kind)

    return measured(found, draw=draw)


def _judges(runs: Sequence[AnyRun], task: str | None, known: Sequence[ValidityFile]) -> list[str]:
    """What is known about the judges of runs that RPTS scored."""
    from lmms_rpts.analysis.validity import validity_lines, validity_notes
    from lmms_rpts.filters.record import RptsRecord
    from lmms_rpts.runs.run import of_task

    shown = [part for run in runs if (part := of_task(run, task)) is not None]
    scored = [run for run in shown if isinstance(run.responses[0], RptsRecord)]
    return validity_lines(validity_notes(scored, known)) if scored else []


def _plot(summary: GradeSummary, metric: str, kind: str) -> bytes:
    from lmms_rpts.report.plots import draw_curves, draw_scatter, points_of

    if metric in summary.grading.curves:
        if not any(each.n for each in summary.curves[metric]):
            fail(f"Cannot draw {metric}: no question with a score has a knowledge point")
        return draw_curves(summary, metric, kind)
    if all(model.tokens.value is None for model in summary.models):
        fail(
            "Cannot draw score against tokens: lmms-eval wrote no token counts for these runs "
            "(token_counts in the samples; not every model wrapper of lmms-eval reports them)"
        )
    if not points_of(summary.models, metric):
        fail(
            f"Cannot draw {metric} against tokens: no model with token counts has a value of "
            f"{metric}"
        )
    return draw_scatter(summary, metric, kind)

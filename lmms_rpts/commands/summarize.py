"""``lmms-rpts summarize``: tables of models side by side, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.console import Console

from lmms_rpts.commands.blocks import Block, Line, show, write_files
from lmms_rpts.commands.common import (
    PLOTS,
    Runs,
    Validities,
    check_suffixes,
    fail,
    read_validities,
    spare,
    told,
    write_bytes,
)

if TYPE_CHECKING:
    from lmms_rpts.runs.run import AnyRun
    from lmms_rpts.runs.validity import ValidityFile
    from lmms_rpts.tasks.grade_types import Grading
    from lmms_rpts.tasks.graded import GradeSummary

_SUFFIXES = (".csv", ".json", ".md", ".tex", *PLOTS)


class _Wanted(NamedTuple):
    """The options that say what is shown."""

    by: Sequence[str]
    depth: int
    lists: dict[str, int]
    task: str | None
    metric: str | None
    columns: Sequence[str]
    every: bool


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
        bool,
        typer.Option(
            "--tree", help="Show the accuracy by knowledge area, where a benchmark has them."
        ),
    ] = False,
    depth: Annotated[
        int, typer.Option("--depth", min=1, help="Number of levels shown by --tree.")
    ] = 2,
    undecided: Annotated[
        int,
        typer.Option(
            "--undecided", min=0, help="Number of answers to list that the rules left undecided."
        ),
    ] = 0,
    disagreements: Annotated[
        int,
        typer.Option(
            "--disagreements",
            min=0,
            help="Number of answers to list on which the graders disagree.",
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
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            help="Metric on the vertical axis of the scatter plot. Default: the benchmark's first.",
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help=(
                "Write a file: .md or .tex (booktabs) with the shown tables, .csv with all "
                "metrics, .json with everything, or .svg, .png or .pdf with a scatter plot of "
                "score against tokens (needs matplotlib). May be repeated."
            ),
        ),
    ] = None,
    validity: Validities = None,
) -> None:
    """Compare models in one table per benchmark: metrics with intervals, and breakdowns.

    Works for runs scored by RPTS and for graded answers (ROME, CMMaTH, ReForm-Eval, benchmarks of
    other packages). Several runs of one model are repeated rounds, shown as mean and sample
    standard deviation (n - 1). A single round is shown with the 95% interval over its documents.
    """
    from lmms_rpts.tasks.all_runs import grading_of, read_all_runs
    from lmms_rpts.tasks.benchmark import get_benchmark

    files = check_suffixes(output, _SUFFIXES)
    with told(), Console(stderr=True).status("Reading the runs ..."):
        chosen = get_benchmark(benchmark) if benchmark else None
        known = read_validities(validity)
        found = read_all_runs(runs)
        there = found.by_benchmark
        all_there = list(map(get_benchmark, there))
        of = [each for each in all_there if chosen in (None, each)]
        spare(found.every, files, *(each.path for each in known))
    if chosen and not of:
        titles = ", ".join(each.title for each in all_there)
        fail(f"No run of {chosen.title} in {', '.join(runs)}; there are runs of {titles}")
    if len(of) > 1 and files:
        names = " or ".join(f"--benchmark {each.name}" for each in of)
        fail(f"There are runs of several benchmarks: for -o, choose one with {names}")
    wanted = _Wanted(
        by or (),
        depth if tree else 0,
        {"undecided": undecided, "disagreements": disagreements},
        task,
        metric,
        list(dict.fromkeys(filter(None, map(str.strip, (columns or "").split(","))))),
        every,
    )
    gradings = {each.name: grading_of(each.name) for each in of}
    for each in of:
        if lacking := _lacking(gradings[each.name], wanted):
            fail(f"{each.title} does not support --{lacking}")
        if validity and each.grades is not None:
            fail(f"{each.title} does not support --validity")
    for each in of:
        _show(gradings[each.name], there[each.name], wanted, files, known)


def _lacking(grading: Grading, wanted: _Wanted) -> str | None:
    """The option that a benchmark does not have."""
    if wanted.depth and grading.tree_sheets is None:
        return "tree"
    return next(
        (name for name, most in wanted.lists.items() if most and name not in grading.lists), None
    )


def _show(
    grading: Grading,
    runs: Sequence[AnyRun],
    wanted: _Wanted,
    files: Sequence[Path],
    known: Sequence[ValidityFile],
) -> None:
    from lmms_rpts.tasks.graded import summarize_grades
    from lmms_rpts.tasks.sheets import explanation, listing_sheet, summary_sheets

    metric = wanted.metric or next(iter(grading.metrics))
    if metric not in grading.metrics:
        fail(f"Unknown metric {metric!r}; metrics: {', '.join(grading.metrics)}")
    with told(), Console(stderr=True).status("Computing intervals ..."):
        summary = summarize_grades(grading, runs, wanted.by, wanted.task)
        sheets = summary_sheets(summary, wanted.columns, wanted.every)
        notes = [explanation(summary, sheets)]
        notes += map(grading.sentence, summary.models) if grading.sentence else []
        judges = _judges(runs, wanted.task, known)
    if wanted.depth and grading.tree_sheets:
        sheets += grading.tree_sheets(summary.trees, wanted.depth)
    blocks: list[Block] = [
        *sheets,
        *map(Line, notes),
        *(Line(each, "Note") for each in summary.warnings),
        *(Line(each, "Judge") for each in judges),
    ]
    # Written before anything is printed: a pipe may be closed (| head). Plots are last: a failing
    # plot must not prevent the tables.
    plots = [path for path in files if path.suffix.lower() in PLOTS]
    tables = [path for path in files if path not in plots]
    write_files(tables, blocks, summary.frame, summary.to_dict)
    for path in plots:
        write_bytes(path, _scatter(summary, metric, path.suffix.lower()[1:]))
    lists = (listing_sheet(summary, each, most) for each, most in wanted.lists.items() if most)
    show([*blocks, *(each for each in lists if each)], Console())


def _judges(runs: Sequence[AnyRun], task: str | None, known: Sequence[ValidityFile]) -> list[str]:
    """What is known about the judges of runs that RPTS scored."""
    from lmms_rpts.analysis.validity import validity_lines, validity_notes
    from lmms_rpts.filters.record import RptsRecord
    from lmms_rpts.runs.run import of_task

    shown = [part for run in runs if (part := of_task(run, task)) is not None]
    scored = [run for run in shown if isinstance(run.responses[0], RptsRecord)]
    return validity_lines(validity_notes(scored, known)) if scored else []


def _scatter(summary: GradeSummary, metric: str, kind: str) -> bytes:
    from lmms_rpts.report.plots import draw_scatter, points_of

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

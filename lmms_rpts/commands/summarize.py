"""``lmms-rpts summarize``: tables of models side by side, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from lmms_rpts.commands.blocks import Line, Output
from lmms_rpts.commands.common import PLOTS, Runs, check_suffixes, fail, protect_inputs

if TYPE_CHECKING:
    from lmms_rpts.analysis.published import Beside
    from lmms_rpts.analysis.summary import Summary
    from lmms_rpts.runs.run import Run

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
    join: Annotated[
        Path | None,
        typer.Option(
            "--join",
            help="A table (CSV, JSONL, Parquet) with labels of documents: id or doc_id, perhaps "
            "task, and further columns, which --by may name.",
            show_default=False,
        ),
    ] = None,
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
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Write a file: .md or .tex (booktabs) with the shown tables, .csv with all "
            "metrics, .json with everything, or .svg, .png or .pdf with a scatter plot of score "
            "against tokens (needs matplotlib). May be repeated.",
        ),
    ] = None,
) -> None:
    """Compare models in one table per benchmark: metrics with intervals, and breakdowns.

    Works for runs scored by RPTS and for graded answers (ROME, CMMaTH, ReForm-Eval). Several runs
    of one model are repeated rounds, shown as mean and sample standard deviation (n - 1). A single
    round is shown with the 95% interval over its documents.
    """
    from lmms_rpts.analysis.joining import read_labels
    from lmms_rpts.analysis.published import set_beside
    from lmms_rpts.analysis.reading import read_all_runs
    from lmms_rpts.analysis.summary import summarize as summary_of
    from lmms_rpts.analysis.tables import explanation, summary_sheets
    from lmms_rpts.analysis.validity import validity_lines
    from lmms_rpts.tasks.registry import get_benchmark

    files = check_suffixes(output, _SUFFIXES)
    with Console(stderr=True).status("Reading the runs ..."):
        chosen = get_benchmark(benchmark) if benchmark else None
        there = read_all_runs(runs)
        protect_inputs(chain(*there.values()), files, *[join] if join else [])
    of = {name: own for name, own in there.items() if chosen is None or name == chosen.name}
    if chosen and not of:
        said = ", ".join(get_benchmark(name).title for name in there)
        fail(f"No run of {chosen.title} in {', '.join(runs)}; there are runs of {said}")
    if len(of) > 1 and files:
        names = " or ".join(f"--benchmark {name}" for name in of)
        fail(f"There are runs of several benchmarks: for -o, choose one with {names}")
    heads = list(dict.fromkeys(filter(None, map(str.strip, (columns or "").split(",")))))
    labels = read_labels(join, [*chain(*of.values())]) if join else {}
    for name, own in of.items():
        with Console(stderr=True).status("Computing intervals ..."):
            summary = summary_of(own, by or (), task, labels)
            sheets = summary_sheets(summary, heads, every)
            beside = set_beside(summary.benchmark, own, task) if published else None
        if published and beside is None:
            fail(f"{get_benchmark(name).title} does not support --published")
        Output(
            [
                *sheets,
                *([beside.sheet()] if beside else []),
                Line(explanation(summary, sheets)),
                *(Line(said, "Published") for said in (beside.notes if beside else ())),
                *(Line(said, "Note") for said in summary.warnings),
                *(Line(said, "Judge") for said in validity_lines(_of_task(own, task))),
            ],
            summary.frame,
            partial(_plain, summary, beside),
            draw=partial(_plot, summary),
        ).deliver(files)


def _of_task(runs: Sequence[Run], task: str | None) -> Iterator[Run]:
    from lmms_rpts.runs.run import of_task

    return (part for run in runs if (part := of_task(run, task)) is not None)


def _plain(summary: Summary, beside: Beside | None) -> dict[str, Any]:
    return summary.to_dict() | ({"published": beside.to_dict()} if beside else {})


def _plot(summary: Summary, kind: str) -> bytes:
    from lmms_rpts.report.plots import draw_scatter, points_of

    metric = next(iter(summary.benchmark.metrics))
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

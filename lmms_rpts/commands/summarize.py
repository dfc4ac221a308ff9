"""``lmms-rpts summarize``: tables of models side by side, with confidence intervals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from lmms_rpts.commands.common import PLOTS, Output, Runs, check_suffixes, fail, protect_inputs
from lmms_rpts.commands.tables import SUFFIXES, Table, deliver
from lmms_rpts.stats.figures import Interval

if TYPE_CHECKING:
    from lmms_rpts.analysis.summary import Summary
    from lmms_rpts.runs.run import Run

_SETTING = re.compile(r"(decay|focus_height)=[-\d.,]+")


def summarize(
    runs: Runs,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Break the metrics down by this column. An unknown name lists the columns.",
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
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="SETTING=A,B...",
            help="RPTS and filtered accuracy under other settings, without judge calls: "
            "--sweep decay=0.5,0.9 focus_height=1,2.",
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
    every: Annotated[
        bool, typer.Option("--all", help="Show all metrics, not only the most important ones.")
    ] = False,
    output: Output = None,
) -> None:
    """Compare models in one table per benchmark: metrics with intervals, and breakdowns.

    Works for runs scored by RPTS and for graded answers (ROME, CMMaTH, ReForm-Eval). Several runs
    of one model are repeated rounds, shown as mean and sample standard deviation (n - 1). A single
    round is shown with the 95% interval over its documents.

    -o writes .md or .tex (booktabs) with the shown tables, .csv or .json with their numbers, or
    .svg or .pdf with a plot of the models (needs matplotlib).
    """
    from lmms_rpts.analysis.frames import by_benchmark, read_runs
    from lmms_rpts.analysis.joining import read_labels
    from lmms_rpts.analysis.published import NOT_MEASURED, set_beside
    from lmms_rpts.analysis.summary import summarize as summary_of
    from lmms_rpts.runs.validity import validity_lines

    files = check_suffixes(output, (*SUFFIXES, *PLOTS))
    # `--sweep decay=0.5,0.9 focus_height=1,2`: the second word comes as a run.
    words = [*(sweep or ()), *(run for run in runs if sweep and _SETTING.fullmatch(run))]
    with Console(stderr=True).status("Reading the runs ..."):
        read = read_runs([run for run in runs if run not in words])
        protect_inputs(read, files, *[join] if join else [])
    if sweep:
        return _sweep(read, words, files)
    tables, notes = list[Table](), list[str]()
    summaries = []
    with Console(stderr=True).status("Computing intervals ..."):
        for _, own in by_benchmark(read):
            summary = summary_of(own, by or (), read_labels(join, own) if join else {})
            summaries.append(summary)
            tables += _tables(summary, by, every)
            if published:
                beside = set_beside(summary.benchmark, own)
                if beside is None:
                    fail(f"{summary.benchmark.title} does not support --published")
                tables.append(Table(beside[0], f"{summary.benchmark.title}, {NOT_MEASURED}"))
                notes += [f"Published: {line}" for line in beside[1]]
            notes += [f"Note: {line}" for line in summary.warnings]
    notes += validity_lines(read)

    def draw(kind: str) -> bytes:
        from lmms_rpts.report.plots import draw_summary

        return draw_summary(summaries[0], kind)

    deliver(tables, [_EXPLAINED, *notes], files, draw=draw)


_EXPLAINED = (
    "[ ]: 95% interval over documents. ±: sample standard deviation over rounds. ↓: lower is "
    "better. What the columns mean: docs/read-results.md."
)


def _tables(summary: Summary, by: str | None, every: bool) -> Iterator[Table]:
    """The table of the benchmark's columns, or one for each group of all metrics."""
    benchmark, rows = summary.benchmark, summary.table
    title = benchmark.record.BENCHMARK + f" by {by}" * bool(by)
    groups = {} if every else {"": [benchmark.metrics[name] for name in benchmark.columns]}
    for metric in benchmark.metrics.values():
        if every or (metric.group and (metric.over or metric.optional)):
            groups.setdefault(metric.group, []).append(metric)
    for group, metrics in groups.items():
        shown = [it for it in metrics if any(cell.value is not None for cell in rows[it.name])]
        if not shown:
            continue
        says = {
            "group": bool(by),
            "task": rows["task"].nunique() > 1,
            "model": not by or rows["model"].nunique() > 1,
            "documents": True,
            "rounds": rows["rounds"].max() > 1,
            **{metric.name: True for metric in shown},
            "tokens": any(cell.value is not None for cell in rows["tokens"]),
            "unscored": rows["unscored"].max() > 0,
        }
        frame = rows[[name for name, informs in says.items() if informs]]
        frame = frame.replace({"group": {"": "all documents"}})
        for metric in (it for it in shown if not it.interval):
            frame[metric.name] = [Interval(cell.value, sd=cell.sd) for cell in frame[metric.name]]
        heads = {
            it.name: (it.head or it.name) + " ↓" * (it.higher_is_better is False) for it in shown
        }
        heads = {name: head.replace("_", " ") for name, head in heads.items()}
        heads |= {"group": by or "", "documents": "n"}
        yield Table(frame, f"{title}{f': {group}' * bool(group)}", {"tokens": ",.0f"}, heads)
    if benchmark.name == "reform" and not by:
        from lmms_rpts.tasks.reform_eval.dimensions import dimension_tables

        for method, (frame, notes) in dimension_tables(summary.models).items():
            about = f"ReForm-Eval by dimension, {method}, percent; captions: CIDEr x 100"
            about += f" ({'; '.join(notes)})" * bool(notes)
            yield Table(frame, about, forms=dict.fromkeys(frame.columns, ".1f"))


def _sweep(runs: Sequence[Run], words: Sequence[str], files: Sequence[Path]) -> None:
    """Tables of decay by focus height for each run."""
    from lmms_rpts.analysis.sweeping import DECAYS, FOCUS_HEIGHTS, sweep

    grid: dict[str, Any] = {"decay": DECAYS, "focus_height": FOCUS_HEIGHTS}
    for word in " ".join(words).split():
        name, _, values = word.partition("=")
        try:
            kind = {"decay": float, "focus_height": int}[name]
            grid[name] = [kind(value) for value in values.split(",")]
        except (KeyError, ValueError):
            fail(f"--sweep {word}: use decay=0.5,0.9 or focus_height=1,2 (whole numbers)")
    sweeps = {run.label: sweep(run, *grid.values()) for run in runs}
    tables, notes = list[Table](), list[str]()
    for label, means in sweeps.items():
        for name, title in (("rpts", "RPTS"), ("accuracy_rpts", "filtered accuracy")):
            pivot = means.pivot(index="decay", columns="focus_height", values=name)
            pivot.columns = pivot.columns.map("{:g}".format)
            about = f"{label}: {title} by decay (rows) and focus height (columns)"
            tables.append(Table(pivot.reset_index(), about, {"decay": ".2g"}))
        own = means[means["own"]].itertuples()
        settings = [f"decay {it.decay:g} and focus height {it.focus_height}" for it in own]
        notes.append(f"{label} was scored with {', '.join(settings)}.")
    notes.append(
        "Filtered accuracy: share of all responses that are correct and have an RPTS of at least "
        "0.5, as published."
    )

    def draw(kind: str) -> bytes:
        from lmms_rpts.report.plots import draw_sweeps

        return draw_sweeps(sweeps, kind)

    deliver(tables, notes, files, draw=draw)

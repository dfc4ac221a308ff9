"""``lmms-rpts summarize``: a table of models side by side, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.commands.common import (
    PLOTS,
    Runs,
    Validities,
    check_suffixes,
    csv_of,
    fail,
    read_validities,
    spare,
    told,
    write_bytes,
    write_text,
)
from lmms_rpts.escaping import escape_latex, escape_markdown, markdown_table, printable, shorten
from lmms_rpts.runs.rounds import figure_parts, figure_text, token_text

if TYPE_CHECKING:
    from lmms_rpts.analysis.summary import ModelSummary, Summary, TaskSummary

_SUFFIXES = (".csv", ".md", ".tex", *PLOTS)
_BESIDE = ("tokens", "documents", "rounds")
"""Columns in addition to the metrics."""
_ROW_NAMES = {"tokens": "tokens per response"}
_PAPER = ("rpts", "accuracy", "accuracy_rpts", "right_for_wrong_reason")
_SHORT = {
    "rpts": "RPTS",
    "accuracy": "Acc.",
    "accuracy_rpts": r"Acc.$_\mathrm{RPTS}$",
    "right_for_wrong_reason": "RFWR",
    "rpts_guarded": "guarded",
}
"""Short column heads for papers; the comment below the table explains them."""
_SPREAD = (
    "±: sample standard deviation over rounds. [ ]: 95% interval over documents, for a single "
    "round. Lower is better: {}."
)


def summarize(
    runs: Runs,
    task: Annotated[str | None, typer.Option("--task", help="Only this task.")] = None,
    metric: Annotated[
        str, typer.Option("--metric", help="Metric on the vertical axis of the scatter plot.")
    ] = "rpts",
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help=(
                "Write a file: .md, .csv, .tex (booktabs), or .svg, .png or .pdf for a scatter "
                "plot of score against tokens (needs matplotlib). May be repeated."
            ),
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help=(
                "Columns to show, in this order: metrics, tokens, documents, rounds. Default: all, "
                "and in .tex those that fit one column of a two-column paper."
            ),
            show_default=False,
        ),
    ] = None,
    validity: Validities = None,
) -> None:
    """Compare models in one table: metrics with intervals, and a plot of score against tokens.

    Several runs of one model are repeated rounds, shown as mean and sample standard deviation
    (n - 1). A single round is shown with the 95% interval over its documents. With several tasks
    there is one table per task, and one over all documents.
    """
    from lmms_rpts.analysis.summary import summarize as put_side_by_side
    from lmms_rpts.analysis.sweeping import of_task
    from lmms_rpts.analysis.validity import validity_lines, validity_notes
    from lmms_rpts.tasks.rpts_eval.runs import read_runs

    files = check_suffixes(output, _SUFFIXES)
    _check_metric(metric)
    wanted = _check_columns(columns)
    with told(), Console(stderr=True).status("Reading runs and computing intervals ..."):
        known = read_validities(validity)
        found = read_runs(runs)
        spare(found, files, *(each.path for each in known))
        summary = put_side_by_side(found, task)
        shown = [part for run in found if (part := of_task(run, task)) is not None]
        judges = validity_lines(validity_notes(shown, known))
    _show(summary, judges, wanted)
    # Plots are last: a failing plot must not prevent the tables.
    for path in sorted(files, key=lambda path: path.suffix.lower() in PLOTS):
        if path.suffix.lower() in PLOTS:
            write_bytes(path, _scatter(summary.overall, metric, path.suffix.lower()[1:]))
        else:
            write_text(path, _written(path, summary, judges, wanted))


def _check_metric(metric: str) -> None:
    from lmms_rpts.tasks.rpts_eval.results import METRICS

    if metric not in METRICS:
        fail(f"Unknown metric {metric!r}; metrics: {', '.join(METRICS)}")


def _check_columns(columns: str | None) -> tuple[str, ...]:
    """The requested columns; empty for all."""
    wanted = tuple(dict.fromkeys(each.strip() for each in (columns or "").split(",")))
    for name in filter(None, wanted):
        if name not in (*_metrics(), *_BESIDE):
            fail(f"Unknown column {name!r}; columns: {', '.join((*_metrics(), *_BESIDE))}")
    return tuple(filter(None, wanted))


def _written(path: Path, summary: Summary, judges: Sequence[str], wanted: Sequence[str]) -> str:
    kind = path.suffix.lower()
    if kind == ".csv":
        return csv_of(summary.frame())
    if kind == ".md":
        return "\n".join(_markdown(summary, judges, wanted or [*_columns(), *_BESIDE]))
    return "\n".join(_latex(summary, judges, wanted or _PAPER))


def _scatter(table: TaskSummary, metric: str, kind: str) -> bytes:
    from lmms_rpts.report.plots import draw_scatter, points_of

    if all(model.tokens.value is None for model in table.models):
        fail(
            "Cannot draw score against tokens: lmms-eval wrote no token counts for these runs "
            "(token_counts in the samples; not every model wrapper of lmms-eval reports them)"
        )
    if not points_of(table, metric):
        fail(
            f"Cannot draw {metric} against tokens: no model with token counts has a value of "
            f"{metric}"
        )
    return draw_scatter(table, metric, kind)


def _show(summary: Summary, judges: Sequence[str], wanted: Sequence[str]) -> None:
    console = Console()
    for table in summary.tables:
        for part in _parts(table.models, console.width):
            console.print(_table(table, part, wanted))
    console.print(_explained(wanted or _metrics()), soft_wrap=not console.is_terminal, markup=False)
    for warning in summary.warnings:
        console.print(
            Text(f"Note: {printable(warning)}", style="yellow"), soft_wrap=not console.is_terminal
        )
    for line in judges:
        console.print(Text(f"Judge: {printable(line)}"), soft_wrap=not console.is_terminal)


def _parts(models: Sequence[ModelSummary], width: int) -> Iterator[Sequence[ModelSummary]]:
    """The models in groups that fit the width of the terminal."""
    fitting = max(1, (width - 34) // 21)
    for start in range(0, len(models), fitting):
        yield models[start : start + fitting]


def _table(summary: TaskSummary, models: Sequence[ModelSummary], wanted: Sequence[str]) -> Table:
    from lmms_rpts.analysis.metrics import GROUPS

    table = Table(title=Text(_title(summary)), title_justify="left")
    table.add_column("")
    for model in models:
        table.add_column(Text(shorten(model.model, 60)), justify="right", overflow="fold")
    groups = [wanted] if wanted else [*GROUPS.values(), _BESIDE]
    for names in groups:
        for name in names:
            best = summary.best(name) if name not in _BESIDE else ()
            cells = [
                Text(_cell(model, name), style="bold" if model.model in best else "")
                for model in models
            ]
            table.add_row(_ROW_NAMES.get(name, name), *cells)
        table.add_section()
    return table


def _cell(model: ModelSummary, name: str) -> str:
    if name in _BESIDE:
        return token_text(model.tokens) if name == "tokens" else str(getattr(model, name))
    return figure_text(model.metrics[name])


def _title(summary: TaskSummary) -> str:
    return printable(summary.task or "all tasks")


def _columns() -> list[str]:
    # The chain diagnostics would make these tables too wide; a .csv file has them.
    from lmms_rpts.filters.record import DIAGNOSTICS

    return [name for name in _metrics() if name not in DIAGNOSTICS]


def _metrics() -> list[str]:
    from lmms_rpts.tasks.rpts_eval.results import METRICS

    return list(METRICS)


def _explained(shown: Sequence[str]) -> str:
    """Legend of a table of these metrics."""
    from lmms_rpts.analysis.metrics import LOWER_IS_BETTER

    return _SPREAD.format(", ".join(name for name in LOWER_IS_BETTER if name in shown))


def _markdown(summary: Summary, judges: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    for table in summary.tables:
        yield f"### {escape_markdown(_title(table))}"
        yield ""
        rows = (_markdown_cells(table, each, columns) for each in table.models)
        yield from markdown_table(["model", *columns], rows)
        yield ""
    yield escape_markdown(_explained(columns))
    yield ""
    for warning in summary.warnings:
        yield f"- {escape_markdown(warning)}"
    for line in judges:
        yield f"- Judge: {escape_markdown(line)}"
    yield ""


def _markdown_cells(table: TaskSummary, model: ModelSummary, columns: Sequence[str]) -> list[str]:
    cells = [escape_markdown(model.model)]
    for name in columns:
        if name in _BESIDE:
            cells.append(_cell(model, name))
            continue
        value, spread = figure_parts(model.metrics[name])
        value = f"**{value}**" if model.model in table.best(name) else value
        cells.append(f"{value} {escape_markdown(spread)}".strip())
    return cells


def _latex(summary: Summary, judges: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    heads = ["model", *(_latex_head(name) for name in columns)]
    yield "% Needs \\usepackage{booktabs}."
    for table in summary.tables:
        # LaTeX ignores a comment up to the end of its line, and a title is one line.
        yield f"% {_title(table)}"
        yield f"\\begin{{tabular}}{{@{{}}l{'c' * len(columns)}@{{}}}}"
        yield "\\toprule"
        yield f"{' & '.join(heads)} \\\\"
        yield "\\midrule"
        for model in table.models:
            yield f"{' & '.join(_latex_cells(table, model, columns))} \\\\"
            yield f"{' & '.join(_latex_spreads(model, columns))} \\\\"
        yield "\\bottomrule"
        yield "\\end{tabular}"
        yield ""
    named = [f"{short}: {name}" for name, short in _SHORT.items() if name in columns]
    yield f"% {_explained(columns)}"
    yield f"% {'; '.join(named)}"
    for warning in summary.warnings:
        yield f"% {printable(warning)}"
    for line in judges:
        yield f"% Judge: {printable(line)}"
    yield ""


def _latex_head(name: str) -> str:
    return _SHORT.get(name, escape_latex(name))


def _latex_cells(table: TaskSummary, model: ModelSummary, columns: Sequence[str]) -> Iterator[str]:
    yield escape_latex(model.model)
    for name in columns:
        if name in _BESIDE:
            yield _cell(model, name).replace("–", "--").replace("±", "$\\pm$")
            continue
        value, _ = figure_parts(model.metrics[name])
        missing = model.metrics[name].value is None
        best = model.model in table.best(name)
        yield "--" if missing else f"\\textbf{{{value}}}" if best else value


def _latex_spreads(model: ModelSummary, columns: Sequence[str]) -> Iterator[str]:
    """The second line of a row: intervals and standard deviations, small."""
    yield ""
    for name in columns:
        known = name not in _BESIDE and model.metrics[name].value is not None
        spread = figure_parts(model.metrics[name])[1] if known else ""
        spread = spread.replace("± ", "$\\pm$").replace("[", "{[}")
        yield f"{{\\tiny {spread}}}" if spread else ""

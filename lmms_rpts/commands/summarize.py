"""``lmms-rpts summarize``: tables of models side by side, with confidence intervals."""

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
from lmms_rpts.commands.grades import SUFFIXES as GRADE_SUFFIXES
from lmms_rpts.commands.grades import show_grades
from lmms_rpts.escaping import escape_latex, escape_markdown, markdown_table, printable, shorten
from lmms_rpts.runs.rounds import figure_parts, figure_text, token_text

if TYPE_CHECKING:
    from lmms_rpts.analysis.summary import ModelSummary, Summary, TaskSummary
    from lmms_rpts.runs.validity import ValidityFile
    from lmms_rpts.tasks.rpts_eval.runs import Run

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
    benchmark: Annotated[
        str | None,
        typer.Option("--benchmark", help="Only this benchmark. Default: all in the runs."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Break graded answers down by this field. May be repeated. An unknown name lists "
            "the available fields.",
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
    task: Annotated[str | None, typer.Option("--task", help="RPTS: only this task.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", help="RPTS: metric on the vertical axis of the scatter plot. Default: rpts."
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help=(
                "Write a .csv or .md file; for RPTS also .tex (booktabs), or .svg, .png or .pdf "
                "for a scatter plot of score against tokens (needs matplotlib); for graded answers "
                "also .json, with all listed answers and trees. May be repeated."
            ),
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help=(
                "RPTS: columns to show, in this order: metrics, tokens, documents, rounds. "
                "Default: all, and in .tex those that fit one column of a two-column paper."
            ),
            show_default=False,
        ),
    ] = None,
    validity: Validities = None,
) -> None:
    """Compare models in one table per benchmark: metrics with intervals, and breakdowns.

    Works for runs scored by RPTS and for graded answers (ROME, CMMaTH, ReForm-Eval, benchmarks of
    other packages). Several runs of one model are repeated rounds, shown as mean and sample
    standard deviation (n - 1). A single round is shown with the 95% interval over its documents.

    For RPTS with several tasks there is one table per task, and one over all documents.
    """
    from lmms_rpts.tasks.all_runs import read_all_runs
    from lmms_rpts.tasks.benchmark import get_benchmark

    check_suffixes(output, (*_SUFFIXES, ".json"))
    _check_metric(metric)
    wanted = _check_columns(columns)
    with told(), Console(stderr=True).status("Reading the runs ..."):
        chosen = get_benchmark(benchmark) if benchmark else None
        known = read_validities(validity)
        found = read_all_runs(runs)
        there = {"rpts": found.rpts, **found.graded} if found.rpts else found.graded
        all_there = list(map(get_benchmark, there))
        of = [each for each in all_there if chosen in (None, each)]
        spare(found.every, output or (), *(each.path for each in known))
    if chosen and not of:
        titles = ", ".join(each.title for each in all_there)
        fail(f"No run of {chosen.title} in {', '.join(runs)}; there are runs of {titles}")
    if len(of) > 1 and output:
        names = " or ".join(f"--benchmark {each.name}" for each in of)
        fail(f"There are runs of several benchmarks: for -o, choose one with {names}")
    for_grades = {"by": by, "tree": tree, "undecided": undecided, "disagreements": disagreements}
    for_rpts = {"task": task, "metric": metric, "columns": columns, "validity": validity}
    for each in of:
        refused = for_grades if each.grades is None else for_rpts
        if option := next((option for option, value in refused.items() if value), None):
            fail(f"{each.title} does not support --{option}")
        files = check_suffixes(output, _SUFFIXES if each.grades is None else GRADE_SUFFIXES)
    for each in of:
        if each.grades is None:
            _show_rpts(found.rpts, task, metric or "rpts", files, wanted, known)
        else:
            lists = {"undecided": undecided, "disagreements": disagreements}
            show_grades(each, there[each.name], by or (), files, lists, depth if tree else 0)


def _show_rpts(
    runs: Sequence[Run],
    task: str | None,
    metric: str,
    files: Sequence[Path],
    wanted: tuple[str, ...],
    known: Sequence[ValidityFile],
) -> None:
    from lmms_rpts.analysis.summary import summarize as put_side_by_side
    from lmms_rpts.analysis.sweeping import of_task
    from lmms_rpts.analysis.validity import validity_lines, validity_notes

    with told(), Console(stderr=True).status("Computing intervals ..."):
        summary = put_side_by_side(runs, task)
        shown = [part for run in runs if (part := of_task(run, task)) is not None]
        judges = validity_lines(validity_notes(shown, known))
    _show(summary, judges, wanted)
    # Plots are last: a failing plot must not prevent the tables.
    for path in sorted(files, key=lambda path: path.suffix.lower() in PLOTS):
        if path.suffix.lower() in PLOTS:
            write_bytes(path, _scatter(summary.overall, metric, path.suffix.lower()[1:]))
        else:
            write_text(path, _written(path, summary, judges, wanted))


def _check_metric(metric: str | None) -> None:
    from lmms_rpts.tasks.rpts_eval.results import METRICS

    if metric is not None and metric not in METRICS:
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
    from lmms_rpts.tasks.rpts_eval.results import LOWER_IS_BETTER

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

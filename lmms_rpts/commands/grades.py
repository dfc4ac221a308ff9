"""``lmms-rpts grades``: tables of graded answers, of any benchmark; ``rome`` and ``cmmath``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.commands.common import Runs, check_suffixes, csv_of, fail, spare, told, write_text
from lmms_rpts.escaping import escape_markdown, markdown_table, printable

if TYPE_CHECKING:
    from lmms_rpts.runs.reading import Foreign
    from lmms_rpts.tasks.benchmark import Benchmark
    from lmms_rpts.tasks.grade_types import Grading
    from lmms_rpts.tasks.graded import GradeSummary
    from lmms_rpts.tasks.sheets import Sheet

SUFFIXES = (".csv", ".json", ".md")
"""The files that a summary can be written to."""

_ROOMY = 120
_SPREAD = re.compile(r"(?<=\d) (?=[\[±])")

By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help=(
            "Break the numbers down by this field. May be repeated. An unknown name lists the "
            "available fields."
        ),
    ),
]
Tree = Annotated[bool, typer.Option("--tree", help="Show the accuracy by knowledge area.")]
Depth = Annotated[int, typer.Option("--depth", min=1, help="Number of levels shown by --tree.")]
Undecided = Annotated[
    int,
    typer.Option(
        "--undecided", min=0, help="Number of answers to list that the rules left undecided."
    ),
]
Disagreements = Annotated[
    int,
    typer.Option(
        "--disagreements", min=0, help="Number of answers to list on which the graders disagree."
    ),
]
Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        help=(
            "Write the numbers to a .csv, .json or .md file; .json also holds the listed answers "
            "and the trees. May be repeated."
        ),
    ),
]


def grades(
    runs: Runs,
    by: By = None,
    benchmark: Annotated[
        str | None,
        typer.Option("--benchmark", help="Benchmark to summarise, if the folders hold several."),
    ] = None,
    tree: Tree = False,
    depth: Depth = 2,
    undecided: Undecided = 0,
    disagreements: Disagreements = 0,
    output: Output = None,
) -> None:
    """Summarise graded answers of any benchmark: accuracy by category, models side by side.

    Several runs of one model on the same questions are repeated rounds, shown as mean and
    sample
    standard deviation (n - 1). A single round is shown with the 95% interval over its
    questions.
    """
    lists = {"undecided": undecided, "disagreements": disagreements}
    with told():
        chosen = _find_benchmark(runs, benchmark)
    _summarize(chosen, runs, by, output, lists, depth if tree else 0)


def rome(
    runs: Runs, by: By = None, disagreements: Disagreements = 0, output: Output = None
) -> None:
    """Summarise runs of ROME: accuracy overall and by subtask, models side by side.

    Several runs of one model on the same questions are repeated rounds, shown as mean and
    sample
    standard deviation (n - 1). A single round is shown with the 95% interval over its
    questions.
    --by: image_type, image_subtype, reasoning_type, question_type, evaluator or language.
    """
    _summarize("rome", runs, by, output, {"disagreements": disagreements})


def cmmath(
    runs: Runs,
    by: By = None,
    tree: Tree = False,
    depth: Depth = 2,
    undecided: Undecided = 0,
    disagreements: Disagreements = 0,
    output: Output = None,
) -> None:
    """Summarise runs of CMMaTH: accuracy by task and knowledge area, models side by side.

    The tasks ask the same problems with different prompts, so there is no mean over them.
    Several
    runs of one model on the same problems are repeated rounds, shown as mean and sample
    standard
    deviation (n - 1). A single round is shown with the 95% interval over its problems. --by:
    category, grade_group, grade_id, answer_type, form or area (of knowledge).
    """
    lists = {"undecided": undecided, "disagreements": disagreements}
    _summarize("cmmath", runs, by, output, lists, depth if tree else 0)


def _find_benchmark(runs: Sequence[str], name: str | None) -> str:
    """The benchmark whose graded answers these runs hold.

    Raises:
        RunError: if there is none, or there are several and none was chosen.
        BenchmarkError: for an unknown name.
    """
    from lmms_rpts.runs.reading import split_label, types_in
    from lmms_rpts.runs.samples import RunError
    from lmms_rpts.tasks.benchmark import benchmarks, get_benchmark

    graded = {each.name: each for each in benchmarks().values() if each.grades}
    if name is not None:
        if get_benchmark(name).grades is None:
            raise RunError(
                f"{name} has no graded answers; benchmarks with graded answers: {', '.join(graded)}"
            )
        return name
    types = {each.name: resolve_name(str(each.record)) for each in graded.values()}
    there = types_in(runs, types.values())
    found = [
        each
        for each, kind in types.items()
        if kind in there or any(_foreign(graded[each])(split_label(run)[1]) for run in runs)
    ]
    if not found:
        titles = ", ".join(each.title for each in graded.values())
        raise RunError(
            f"No graded answers in {', '.join(runs)}. Pass runs of {titles} with samples "
            "(--log_samples). For runs scored by RPTS use lmms-rpts summarize"
        )
    if len(found) > 1:
        raise RunError(
            "There are graded answers of "
            f"{' and '.join(graded[each].title for each in found)}: pass the "
            f"runs of one benchmark, or choose with --benchmark {' or --benchmark '.join(found)}"
        )
    return found[0]


def _summarize(
    name: str,
    runs: Sequence[str],
    by: Sequence[str] | None,
    output: Sequence[Path] | None,
    lists: Mapping[str, int],
    depth: int = 0,
) -> None:
    """Show and write the grades of a benchmark.

    Args:
        lists: number of answers to list, by option.
        depth: levels of the tree; 0: none.
    """
    from lmms_rpts.runs.reading import read_runs_of
    from lmms_rpts.tasks.benchmark import get_benchmark, record_types
    from lmms_rpts.tasks.graded import summarize_grades
    from lmms_rpts.tasks.sheets import listing_sheet, summary_sheets

    files = check_suffixes(output, SUFFIXES)
    with told(), Console(stderr=True).status("Reading the runs ..."):
        benchmark = get_benchmark(name)
        record = resolve_name(str(benchmark.record))
        found = read_runs_of(record, runs, record_types, _foreign(benchmark))
        spare(found, files)
        grading: Grading = resolve_name(str(benchmark.grades))
        summary = summarize_grades(grading, found, by or ())
    lacking = [option for option, most in lists.items() if most and option not in grading.lists]
    lacking += ["tree"] if depth and grading.tree_sheets is None else []
    if lacking:
        fail(f"{benchmark.title} does not support --{lacking[0]}")
    sheets = summary_sheets(summary)
    if depth and grading.tree_sheets:
        sheets += grading.tree_sheets(summary.trees, depth)
    for path in files:
        # Written before anything is printed: a pipe may be closed (| head).
        write_text(path, _file_text(summary, sheets, path.suffix.lower()))
    console = Console()
    for sheet in sheets:
        _draw(sheet, console)
    _show_notes(summary, console)
    for option, most in lists.items():
        listed = listing_sheet(summary, option, most) if most else None
        if listed is not None:
            _draw(listed, console)


def _file_text(summary: GradeSummary, sheets: Sequence[Sheet], suffix: str) -> str:
    """The content of a file with this suffix."""
    if suffix == ".csv":
        return csv_of(summary.frame())
    if suffix == ".json":
        numbers = summary.to_dict()
        return json.dumps(numbers, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    lines = [line for sheet in sheets for line in _sheet_markdown(sheet)]
    return "\n".join([*lines, *_notes_markdown(summary)])


def _foreign(benchmark: Benchmark) -> Foreign:
    """The reader of results in a benchmark's own format, if it has one."""
    if benchmark.foreign is None:
        return lambda place: None
    found: Foreign = resolve_name(benchmark.foreign)
    return found


def _sentences(summary: GradeSummary) -> list[str]:
    say = summary.grading.sentence
    return [say(each) for each in summary.models] if say else []


def _draw(sheet: Sheet, console: Console) -> None:
    """Show a sheet."""
    roomy = console.width >= _ROOMY
    table = Table(box=box.SIMPLE, show_edge=False, padding=(0, int(roomy)))
    for at, head in enumerate(sheet.heads):
        if at < sheet.texts:
            table.add_column(Text(printable(head)), overflow="fold")
        else:
            table.add_column(Text(printable(head)), justify="right", no_wrap=True)
    for rows in sheet.sections:
        for cells in rows:
            numbers = cells[sheet.texts :]
            # On a narrow terminal, intervals and deviations are below their values.
            shown = numbers if roomy else [_SPREAD.sub("\n", cell) for cell in numbers]
            table.add_row(*map(Text, (*cells[: sheet.texts], *shown)))
        table.add_section()
    # Not as the table's own title, which would be folded to its width.
    console.print(
        Text(printable(sheet.title), style="table.title"), soft_wrap=not console.is_terminal
    )
    console.print(table, "")


def _sheet_markdown(sheet: Sheet) -> Iterator[str]:
    """A sheet as lines of Markdown."""
    yield f"### {escape_markdown(sheet.title)}"
    yield ""
    every = (sheet.heads, *chain.from_iterable(sheet.sections))
    heads, *rows = [[escape_markdown(cell) for cell in cells] for cells in every]
    yield from markdown_table(heads, rows)
    yield ""


def _notes_markdown(summary: GradeSummary) -> Iterator[str]:
    """The notes below the sheets, as lines of Markdown."""
    from lmms_rpts.tasks.sheets import explanation

    yield escape_markdown(explanation(summary))
    yield ""
    for line in (*_sentences(summary), *summary.warnings):
        yield f"- {escape_markdown(line)}"
    yield ""


def _show_notes(summary: GradeSummary, console: Console) -> None:
    """Show the notes below the sheets."""
    from lmms_rpts.tasks.sheets import explanation

    console.print(
        explanation(summary), soft_wrap=not console.is_terminal, markup=False, highlight=False
    )
    for line in _sentences(summary):
        console.print(Text(printable(line)), soft_wrap=not console.is_terminal)
    for warning in summary.warnings:
        console.print(
            Text(f"Note: {printable(warning)}", style="yellow"), soft_wrap=not console.is_terminal
        )

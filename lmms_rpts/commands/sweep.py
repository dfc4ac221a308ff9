"""``lmms-rpts sweep``: scores of a run under other decays and focus heights."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmms_rpts.commands.common import (
    PLOTS,
    Runs,
    check_suffixes,
    csv_of,
    fail,
    spare,
    told,
    write_bytes,
)
from lmms_rpts.escaping import did_you_mean, escape_markdown, markdown_table, printable

if TYPE_CHECKING:
    from lmms_rpts.analysis.sweeping import SweepRow
    from lmms_rpts.tasks.rpts_eval.runs import Run

_HEADS = {
    "decay": "decay",
    "focus_height": "focus height",
    "rpts": "RPTS",
    "filtered_accuracy": "filtered accuracy",
    "accuracy_passing": "accuracy, passing",
    "share_filtered": "share filtered",
}
_SUFFIXES = (".csv", ".json", ".md", *PLOTS)
_Number = TypeVar("_Number", int, float)
Sweeps = Mapping[str, Sequence["SweepRow"]]
Means = Mapping[str, float | None]


def sweep(
    runs: Runs,
    decay: Annotated[
        str, typer.Option("--decay", help="Decays from 0 to 1, separated by commas.")
    ] = "0.3,0.5,0.7,0.9",
    focus_height: Annotated[
        str,
        typer.Option(
            "--focus-height", help="Focus heights (whole numbers from 0), separated by commas."
        ),
    ] = "1,2,3,4",
    threshold: Annotated[
        float, typer.Option("--threshold", help="Minimum RPTS of a response that passes.")
    ] = 0.5,
    task: Annotated[
        str | None, typer.Option("--task", help="Only this task. Default: all documents together.")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help=(
                "Write a file: .csv, .json, .md, or .svg, .png or .pdf for heat maps (needs "
                "matplotlib). May be repeated."
            ),
        ),
    ] = None,
) -> None:
    """Show RPTS and accuracy under other decays and focus heights, without judge calls.

    The judge's scores come from the run; the RPTS of each response is recomputed from them.

    RPTS: mean RPTS. A response passes if its RPTS is at least the threshold. Filtered accuracy:
    share of all responses that are correct and pass, as published. Accuracy, passing: accuracy
    among the responses that pass. Share filtered: share of the scored responses that do not pass.

    Means are computed as in lmms-eval's table: first over the responses of a document, then
    over
    the documents that have a value. Unscored responses are left out. The run's own settings are
    always shown, marked with a *. The guarded score does not depend on these settings and is
    shown once.
    """
    from lmms_rpts.analysis.sweeping import check_settings, guarded_mean, sweep_rows
    from lmms_rpts.tasks.rpts_eval.runs import read_runs

    decays = _numbers(decay, float, "--decay", "a number from 0 to 1, as in 0.5,0.9")
    heights = _numbers(focus_height, int, "--focus-height", "a whole number from 0, as in 1,2")
    with told():
        check_settings(decays, heights, threshold)
    files = check_suffixes(output, _SUFFIXES)
    with told(), Console(stderr=True).status("Reading the run and recomputing scores ..."):
        found = read_runs(runs)
        spare(found, files)
        parts = {run.label: _part(run, task) for run in found}
        sweeps = {
            label: sweep_rows(part, decays, heights, threshold) for label, part in parts.items()
        }
        guarded = {label: guarded_mean(part) for label, part in parts.items()}
        contents = {path: _written(path, sweeps, guarded, threshold) for path in files}
    _show(sweeps, guarded, threshold)
    for path, content in contents.items():
        write_bytes(path, content)


def _numbers(text: str, kind: Callable[[str], _Number], option: str, what: str) -> list[_Number]:
    numbers = []
    for word in text.split(","):
        try:
            numbers.append(kind(word.strip()))
        except ValueError:
            given = f"{word.strip()!r} in {text!r}" if text.strip() else "nothing"
            fail(f"{option}: {given} is invalid; expected {what}")
    return numbers


def _part(run: Run, task: str | None) -> Run:
    from lmms_rpts.runs.run import of_task

    part = of_task(run, task)
    if part is None:
        hint = did_you_mean(str(task), run.tasks)
        fail(f"{run.label} has no task {task}.{hint} Its tasks: {', '.join(run.tasks)}")
    return part


def _show(sweeps: Sweeps, guarded: Means, threshold: float) -> None:
    console = Console()
    for label, rows in sweeps.items():
        table = Table(title=Text(printable(label)), title_justify="left")
        for head in _HEADS.values():
            table.add_column(head, justify="right")
        for _, part in groupby(rows, attrgetter("decay")):
            for row in part:
                table.add_row(*_cells(row), style="bold" if row.own else None)
            table.add_section()
        console.print(table)
        if sum(row.own for row in rows) > 1:
            console.print(
                "This run was scored under several settings, so no single setting reproduces its "
                "numbers"
            )
        console.print(_note(guarded[label]), soft_wrap=not console.is_terminal)
    console.print(_legend(threshold), soft_wrap=not console.is_terminal)


def _legend(threshold: float) -> str:
    return (
        f"* the run's own setting. Filtered accuracy: share of all responses that are correct and "
        f"have an RPTS of at least {threshold:g}, as published. Accuracy, passing: accuracy among "
        "the responses with this RPTS. Share filtered: share of the scored responses below it."
    )


def _note(guarded: float | None) -> str:
    if guarded is None:
        return "The guarded score does not depend on these settings; this run has none."
    return f"The guarded score is {guarded:.3f} under all settings."


def _cells(row: SweepRow) -> list[str]:
    mark = "* " if row.own else ""
    values = [getattr(row, name) for name in list(_HEADS)[2:]]
    shown = ["–" if _is_nan(value) else f"{value:.3f}" for value in values]
    return [f"{mark}{row.decay:g}", str(row.focus_height), *shown]


def _written(path: Path, sweeps: Sweeps, guarded: Means, threshold: float) -> bytes:
    kind = path.suffix.lower()
    if kind in PLOTS:
        from lmms_rpts.analysis.sweeping import frame_of
        from lmms_rpts.report.plots import draw_heatmaps

        frames = {label: frame_of(rows) for label, rows in sweeps.items()}
        return draw_heatmaps(frames, threshold, kind[1:])
    texts = {".csv": _csv, ".json": _json, ".md": _markdown}
    return texts[kind](sweeps, guarded, threshold).encode("utf-8", errors="replace")


def _csv(sweeps: Sweeps, _guarded: Means, threshold: float) -> str:
    # One row per setting. The guarded score is the same for all settings, so it is not included.
    import pandas as pd

    from lmms_rpts.analysis.sweeping import frame_of

    frames = [frame_of(rows).assign(threshold=threshold) for rows in sweeps.values()]
    whole = pd.concat(frames, keys=list(sweeps), names=["run", None]).droplevel(1)
    return csv_of(whole.reset_index())


def _json(sweeps: Sweeps, guarded: Means, threshold: float) -> str:
    listed = [
        {
            "run": label,
            "threshold": threshold,
            "rpts_guarded": guarded[label],
            "settings": [
                {key: None if _is_nan(value) else value for key, value in asdict(row).items()}
                for row in rows
            ],
        }
        for label, rows in sweeps.items()
    ]
    return json.dumps(listed, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _markdown(sweeps: Sweeps, guarded: Means, threshold: float) -> str:
    lines = []
    for label, rows in sweeps.items():
        lines += [f"### {escape_markdown(label)}", ""]
        cells = ([escape_markdown(cell) for cell in _cells(row)] for row in rows)
        lines += [*markdown_table(list(_HEADS.values()), cells), ""]
        lines += [escape_markdown(_note(guarded[label])), ""]
    return "\n".join([*lines, escape_markdown(_legend(threshold)), ""])

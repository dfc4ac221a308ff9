"""``lmms-rpts sweep``: scores of a run under other decays and focus heights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

from lmms_rpts.analysis.tables import Best, Sheet
from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.commands.blocks import Block, Line, Output
from lmms_rpts.commands.common import PLOTS, Runs, check_suffixes, fail, protect_inputs
from lmms_rpts.stats.figures import figure

if TYPE_CHECKING:
    import pandas as pd

    from lmms_rpts.runs.run import Run

_HEADS = {
    "decay": "decay",
    "focus_height": "focus height",
    "rpts": "RPTS",
    "filtered_accuracy": "filtered accuracy",
    "accuracy_passing": "accuracy, passing",
    "share_filtered": "share filtered",
}
_SUFFIXES = (".csv", ".json", ".md", ".tex", *PLOTS)
_Rows = Sequence[Mapping[str, Any]]
_Number = TypeVar("_Number", int, float)


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
            help="Write a file: .csv, .json, .md, .tex, or .svg, .png or .pdf for heat maps (needs "
            "matplotlib)."
            " May be repeated.",
        ),
    ] = None,
) -> None:
    """Show RPTS and accuracy under other decays and focus heights, without judge calls.

    The judge's scores come from the run; the RPTS of each response is recomputed from them.

    RPTS: mean RPTS. A response passes if its RPTS is at least the threshold. Filtered accuracy:
    share of all responses that are correct and pass, as published. Accuracy, passing: accuracy
    among the responses that pass. Share filtered: share of the scored responses that do not pass.

    Means are computed as in lmms-eval's table: first over the responses of a document, then over
    the documents that have a value. Unscored responses are left out. The run's own settings are
    always shown, marked with a *.
    """
    from lmms_rpts.analysis.sweeping import check_settings, sweep_rows
    from lmms_rpts.runs.reading import read_runs
    from lmms_rpts.scoring.record import RptsRecord

    decays = _numbers(decay, float, "--decay", "a number from 0 to 1, as in 0.5,0.9")
    heights = _numbers(focus_height, int, "--focus-height", "a whole number from 0, as in 1,2")
    check_settings(decays, heights, threshold)
    files = check_suffixes(output, _SUFFIXES)
    with Console(stderr=True).status("Reading the run and recomputing scores ..."):
        found = read_runs(runs, {RptsRecord.SCHEMA: RptsRecord})
        protect_inputs(found, files)
        parts = [_part(run, task) for run in found]
        rows = {part.label: sweep_rows(part, decays, heights, threshold) for part in parts}
    Output(
        list(_blocks(rows, threshold)),
        lambda: _frame(rows, threshold),
        lambda: [
            {
                "run": label,
                "threshold": threshold,
                "settings": [
                    {name: _known(value) for name, value in row.items()} for row in rows[label]
                ],
            }
            for label in rows
        ],
        draw=lambda kind: _drawn(kind, rows, threshold),
    ).deliver(files)


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


def _blocks(sweeps: Mapping[str, _Rows], threshold: float) -> Iterator[Block]:
    for label, rows in sweeps.items():
        sections = [
            [list(map(Best if row["own"] else str, _cells(row))) for row in part]
            for _, part in groupby(rows, itemgetter("decay"))
        ]
        yield Sheet(label, list(_HEADS.values()), 0, sections)
        if sum(row["own"] for row in rows) > 1:
            yield Line(
                "This run was scored under several settings, so no single setting reproduces its "
                "numbers"
            )
    yield Line(
        f"* the run's own setting. Filtered accuracy: share of all responses that are correct and "
        f"have an RPTS of at least {threshold:g}, as published. Accuracy, passing: accuracy among "
        "the responses with this RPTS. Share filtered: share of the scored responses below it."
    )


def _cells(row: Mapping[str, Any]) -> list[str]:
    mark = "* " if row["own"] else ""
    values = [figure(_known(row[name])) for name in list(_HEADS)[2:]]
    return [f"{mark}{row['decay']:g}", str(row["focus_height"]), *values]


def _drawn(kind: str, sweeps: Mapping[str, _Rows], threshold: float) -> bytes:
    import pandas as pd

    from lmms_rpts.report.plots import draw_heatmaps

    frames = {label: pd.DataFrame(rows) for label, rows in sweeps.items()}
    return draw_heatmaps(frames, threshold, kind)


def _frame(sweeps: Mapping[str, _Rows], threshold: float) -> pd.DataFrame:
    """One row per setting."""
    import pandas as pd

    frame: pd.DataFrame = pd.DataFrame(
        {"run": label, **row, "threshold": threshold}
        for label, rows in sweeps.items()
        for row in rows
    )
    return frame


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value

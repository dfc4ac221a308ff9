"""``lmms-rpts sweep``: scores of a run under other decays and focus heights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

from lmms_rpts.commands.blocks import Block, Line, show, write_files
from lmms_rpts.commands.common import (
    PLOTS,
    Runs,
    check_suffixes,
    fail,
    spare,
    told,
    write_bytes,
)
from lmms_rpts.escaping import did_you_mean
from lmms_rpts.sheet import Best, Sheet

if TYPE_CHECKING:
    import pandas as pd

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
_SUFFIXES = (".csv", ".json", ".md", ".tex", *PLOTS)
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
                "Write a file: .csv, .json, .md, .tex, or .svg, .png or .pdf for heat maps (needs "
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
        plots = [path for path in files if path.suffix.lower() in PLOTS]
        drawn = {path: _drawn(path.suffix.lower()[1:], sweeps, threshold) for path in plots}
    blocks = list(_blocks(sweeps, guarded, threshold))
    # Written before anything is printed: a pipe may be closed (| head).
    write_files(
        [path for path in files if path not in drawn],
        blocks,
        lambda: _frame(sweeps, threshold),
        lambda: _plain(sweeps, guarded, threshold),
    )
    for path, content in drawn.items():
        write_bytes(path, content)
    show(blocks, Console())


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


def _blocks(sweeps: Sweeps, guarded: Means, threshold: float) -> Iterator[Block]:
    for label, rows in sweeps.items():
        sections = [
            [list(map(Best if row.own else str, _cells(row))) for row in part]
            for _, part in groupby(rows, attrgetter("decay"))
        ]
        yield Sheet(label, list(_HEADS.values()), 0, sections)
        if sum(row.own for row in rows) > 1:
            yield Line(
                "This run was scored under several settings, so no single setting reproduces its "
                "numbers"
            )
        yield Line(_note(guarded[label]))
    yield Line(_legend(threshold))


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


def _drawn(kind: str, sweeps: Sweeps, threshold: float) -> bytes:
    from lmms_rpts.analysis.sweeping import frame_of
    from lmms_rpts.report.plots import draw_heatmaps

    frames = {label: frame_of(rows) for label, rows in sweeps.items()}
    return draw_heatmaps(frames, threshold, kind)


def _frame(sweeps: Sweeps, threshold: float) -> pd.DataFrame:
    """One row per setting. The guarded score is the same for all settings, and not included."""
    import pandas as pd

    from lmms_rpts.analysis.sweeping import frame_of

    frames = [frame_of(rows).assign(threshold=threshold) for rows in sweeps.values()]
    whole = pd.concat(frames, keys=list(sweeps), names=["run", None]).droplevel(1)
    frame: pd.DataFrame = whole.reset_index()
    return frame


def _plain(sweeps: Sweeps, guarded: Means, threshold: float) -> list[dict[str, Any]]:
    return [
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


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)

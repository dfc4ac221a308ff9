"""``lmms-rpts export``: write the steps of runs to files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import Runs, spare


def export(
    runs: Runs,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="A .parquet, .jsonl or .csv file; an existing file is replaced."
        ),
    ],
) -> None:
    """Write all steps of runs, one row per step. docs/export.md describes the columns."""
    from lmms_rpts.analysis.dataframes import format_of, steps_frame, write_frame
    from lmms_rpts.tasks.rpts_eval.runs import read_runs

    format_of(output)
    found = read_runs(runs)
    spare(found, [output])
    frame = steps_frame(found)
    size = write_frame(frame, output)
    responses = sum(len(run.responses) for run in found)
    typer.echo(
        f"{len(frame):,} steps of {responses:,} responses written to {output} "
        f"({size / 1e3:,.1f} kB)"
    )

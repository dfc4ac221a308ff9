"""``lmms-rpts export``: write the steps of runs to files for other programs."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import OptionalRuns, fail, protect_inputs


def export(
    runs: OptionalRuns = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A .parquet, .jsonl or .csv file, which is replaced.",
            show_default=False,
        ),
    ] = None,
    by_response: Annotated[
        bool,
        typer.Option(
            "--responses", help="One row per response, also for runs without reasoning steps."
        ),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of records instead.")
    ] = False,
) -> None:
    """Write all steps of runs, or all responses. docs/export.md describes the columns."""
    if schema:
        from lmms_rpts.tasks.registry import record_schema

        typer.echo(json.dumps(record_schema(), indent=2))
        return
    if not runs or output is None:
        fail("Pass RUN... and -o FILE, or --schema")
    from lmms_rpts.analysis.dataframes import format_of, responses_frame, steps_frame, write_frame
    from lmms_rpts.analysis.reading import read_all_runs

    format_of(output)
    there = read_all_runs(runs)
    every = [*chain(*there.values())]
    found = every if by_response else there.get("rpts", ())
    if not found:
        fail("These runs have no reasoning steps: use --responses for one row per response")
    protect_inputs(every, [output])
    frame = responses_frame(found) if by_response else steps_frame(found)
    responses = f"{sum(len(run.responses) for run in found):,} responses"
    what = responses if by_response else f"{len(frame):,} steps of {responses}"
    size = write_frame(frame, output)
    typer.echo(f"{what} written to {output} ({size / 1e3:,.1f} kB)")

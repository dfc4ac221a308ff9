"""``lmms-rpts export``: write the steps or responses of runs to a file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import Runs, check_suffixes, fail, fail_to_write, protect_inputs

_SUFFIXES = (".parquet", ".jsonl", ".csv")


def export(
    runs: Runs,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="A .parquet, .jsonl or .csv file, which is replaced."),
    ],
    by_response: Annotated[
        bool,
        typer.Option(
            "--responses", help="One row per response, also for runs without reasoning steps."
        ),
    ] = False,
) -> None:
    """Write all steps of runs, or all responses. docs/python.md describes the columns."""
    from lmms_rpts.analysis.frames import read_runs, responses_frame, steps_frame
    from lmms_rpts.commands.tables import for_spreadsheets
    from lmms_rpts.runs.files import draft_of

    check_suffixes([output], _SUFFIXES)
    read = read_runs(runs)
    protect_inputs(read, [output])
    frame = responses_frame(read) if by_response else steps_frame(read)
    if frame.empty:
        fail("These runs have no reasoning steps: use --responses for one row per response")
    try:
        with draft_of(output) as draft:
            if output.suffix.lower() == ".parquet":
                frame.to_parquet(draft, engine="pyarrow", index=False)
            elif output.suffix.lower() == ".jsonl":
                frame.to_json(draft, orient="records", lines=True, force_ascii=False)
            else:
                # Without a byte order mark, Excel assumes another encoding.
                for_spreadsheets(frame).to_csv(draft, index=False, encoding="utf-8-sig")
    except OSError as error:
        fail_to_write(output, error)
    responses = sum(len(run.responses) for run in read)
    rows = f"{responses:,} responses" if by_response else f"{len(frame):,} steps"
    typer.echo(f"{rows} written to {output} ({output.stat().st_size / 1e3:,.1f} kB)")

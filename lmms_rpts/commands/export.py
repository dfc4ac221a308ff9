"""``lmms-rpts export``: write the steps of runs to files for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from lmms_rpts.commands.common import (
    Comments,
    Runs,
    Validities,
    fail,
    protect_inputs,
    read_validities,
)


def export(
    runs: Runs,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A .parquet, .jsonl or .csv file, which is replaced; or, without a suffix, a "
            "folder for datasets.load_dataset: Parquet, and a card that names judge, validity and "
            "licences.",
        ),
    ],
    by_response: Annotated[
        bool,
        typer.Option(
            "--responses", help="One row per response, also for runs without reasoning steps."
        ),
    ] = False,
    layout: Annotated[
        Literal["table", "trl"],
        typer.Option(
            "--format",
            help="trl: one row per response with prompt, completions and labels, to train a "
            "process reward model with TRL.",
        ),
    ] = "table",
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold", min=0, max=1, help="Lowest score of a step with the label true."
        ),
    ] = 0.5,
    validity: Validities = None,
    comments: Comments = None,
) -> None:
    """Write all steps of runs, or all responses. docs/export.md describes the columns."""
    from lmms_rpts.analysis.dataframes import (
        add_comments,
        format_of,
        responses_frame,
        steps_frame,
        write_frame,
    )
    from lmms_rpts.tasks.all_runs import read_all_runs

    trl, folder = layout == "trl", not output.suffix and not output.name.startswith(".")
    if not folder and format_of(output) == ".csv" and trl:
        fail("CSV holds no lists: use .parquet, .jsonl or a folder for --format trl")
    if trl and comments:
        fail("--format trl has no columns for --comments: leave one of them out")
    if trl and by_response:
        fail("--format trl has one row per response: leave out --responses")
    known = read_validities(validity)
    there = read_all_runs(runs)
    found = there.every if by_response else there.get("rpts", ())
    if not by_response and "rpts" not in there:
        fail("These runs have no reasoning steps: use --responses for one row per response")
    protect_inputs(there.every, [output], *(each.path for each in known), *(comments or ()))
    responses = sum(len(run.responses) for run in found)
    what = f"{responses:,} responses"
    facts: Mapping[str, int] = {"responses": responses}
    if trl:
        from lmms_rpts.analysis.export import training_frame

        frame, facts = training_frame(found, threshold)
        if frame.empty:
            fail("No step of these runs has a score: score them with a judge (lmms-rpts score)")
        left_out = facts["steps left out: no score"]
        labelled = facts["steps labelled right"] + facts["steps labelled wrong"]
        what = f"{labelled:,} labelled steps of {what} ({left_out:,} without a score left out)"
    else:
        frame = responses_frame(found) if by_response else steps_frame(found)
        if comments:
            add_comments(frame, there.every, comments)
        what = what if by_response else f"{len(frame):,} steps of {what}"
    if folder:
        from lmms_rpts.analysis.export import dataset_card, write_folder

        card = partial(dataset_card, found, known, facts, threshold if trl else None)
        size = write_folder(frame, output, card)
    else:
        size = write_frame(frame, output)
    typer.echo(f"{what} written to {output} ({size / 1e3:,.1f} kB)")

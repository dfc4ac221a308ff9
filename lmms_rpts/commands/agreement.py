"""``lmms-rpts agreement``: agreement of judges with people, or with each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lmms_rpts.base.rows import SUFFIXES as ROWS
from lmms_rpts.commands.common import OneRun, Output, check_suffixes, fail, protect_inputs
from lmms_rpts.commands.tables import SUFFIXES, Table, deliver

_HEADS = {"mae": "MAE", "spearman": "Spearman", "pearson": "Pearson"}
_EXPLAINED = (
    "MAE: mean absolute difference. Spearman, Pearson: correlations. kappa: Cohen's kappa with "
    "quadratic weights (Cohen 1968), scores rounded to one decimal (11 levels, 0.0 to 1.0). bias: "
    "mean of the judge minus {}. [ ]: 95% bootstrap interval over documents. All rows are over the "
    "same steps."
)


def agreement(
    run: OneRun,
    others: Annotated[
        list[str],
        typer.Argument(
            metavar="OTHER...",
            help="Other runs of the same responses, and ratings of people: files that the rating "
            "mode of the report saved, one per rater, or tables with doc_id or id, step and human.",
            show_default=False,
        ),
    ],
    output: Output = None,
) -> None:
    """Measure how well judges' step scores agree with people, or with the judge of the first run.

    With ratings of people, each run is compared with the mean of the raters; without them, each
    other run is compared with the first.

      lmms-rpts agreement results/small ratings-ann.json ratings-bob.json

      lmms-rpts agreement GPT=results/small Qwen=rescored human.csv -o table4.tex
    """
    from lmms_rpts.analysis.agreements import agreement as measure
    from lmms_rpts.analysis.agreements import reasons_text
    from lmms_rpts.analysis.frames import read_runs

    files = check_suffixes(output, SUFFIXES)
    # Read separately: together, they would be sorted, and runs without shared documents joined.
    runs, ratings = read_runs([run]), list[Path]()
    for other in others:
        path = Path(other).expanduser()
        # The files of runs are samples and results.
        if path.suffix in ROWS and not re.search(r"_samples_|_results\.json$", path.name):
            ratings.append(path)
        else:
            runs += read_runs([other])
    protect_inputs(runs, files, *ratings)
    if len(runs) < 2 and not ratings:
        fail(f"{run} is the only run: pass another run of its responses, or ratings of people")
    with Console(stderr=True).status("Comparing the scores ..."):
        result = measure(runs, ratings or None)
    notes = [_EXPLAINED.format(result.reference)]
    if result.left_out:
        notes.append(f"Note: steps left out: {reasons_text(result.left_out)}.")
    title = f"Agreement with {result.reference}"
    deliver([Table(result.table, title, {"bias": "+.3f"}, _HEADS)], notes, files)

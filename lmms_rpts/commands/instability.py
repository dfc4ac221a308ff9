"""``lmms-rpts instability``: what a score owes to the wording, the orders and the sampling."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lmms_rpts.commands.blocks import measured
from lmms_rpts.commands.common import PLOTS, Runs, check_suffixes, outputs, protect_inputs


def instability(
    runs: Runs,
    task: Annotated[str | None, typer.Option("--task", help="Only this task.")] = None,
    half_width: Annotated[
        float,
        typer.Option(
            "--half-width",
            min=0.0001,
            max=1.0,
            help="Half-width of the interval of a mean for which the number of wordings is wanted.",
        ),
    ] = 0.02,
    listed: Annotated[
        int,
        typer.Option(
            "--list",
            min=0,
            help="Number of samples to list for which the worst wording is worse than the others; "
            ".json files have all.",
        ),
    ] = 0,
    output: Annotated[
        list[Path] | None,
        outputs(
            "Write a file: .md, .tex, .csv, .json, or .svg, .png or .pdf with the parts of the "
            "variance (needs matplotlib)."
        ),
    ] = None,
) -> None:
    """Show what scores owe to the wording, to orders, marks and sampling.

    For runs of expanded tasks (LMMS_RPTS_PERTURB), and for ReForm-Eval, whose samples are asked in
    several wordings. Shows the spread over draws, the parts of the variance, bias to positions, the
    worst wording, how many wordings are enough, and whether a ranking would turn.

      LMMS_RPTS_PERTURB=wording=5 lmms-eval --tasks rpts_eval ... --output_path results

      lmms-rpts instability results
    """
    from lmms_rpts.analysis.instability import instability_of
    from lmms_rpts.analysis.measured import measures_sheet
    from lmms_rpts.tasks.all_runs import read_all_runs

    files = check_suffixes(output, (".csv", ".json", ".md", ".tex", *PLOTS))
    with Console(stderr=True).status("Reading the runs and computing intervals ..."):
        there = read_all_runs(runs)
        protect_inputs(there.every, files)
        found, samples = instability_of(there, half_width, task)

    def draw(kind: str) -> bytes:
        from lmms_rpts.report.plots import draw_parts

        return draw_parts(found.tables["Parts of the variance"], kind)

    title = f"{min(listed, len(samples))} of {len(samples)} samples that the worst wording lowers"
    details = [measures_sheet(title, samples[:listed])] if samples[:listed] else []
    shown = measured(found, draw=draw, details=details)
    whole = {**asdict(found), "samples": samples}
    replace(shown, plain=lambda: whole).deliver(files)

"""``lmms-rpts rate``: write a page on which human annotators rate steps of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import (
    Images,
    IncludePath,
    OneRun,
    check_suffixes,
    image_advice,
    protect_inputs,
)


def rate(
    run: OneRun,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output page, FILE.html.")] = Path(
        "rate.html"
    ),
    steps: Annotated[
        int,
        typer.Option(
            "--steps",
            min=1,
            max=10_000,
            help="Minimum number of steps to sample; only whole responses are taken.",
        ),
    ] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the sample.")] = 0,
    images: Images = None,
    include_path: IncludePath = None,
) -> None:
    """Collect human ratings for a sample of steps, to measure how far a judge can be trusted.

    The page opens from disk and needs no network. It contains neither the judge's scores nor
    the model's name. Send it to each rater; agreement and validate read the files that it saves.

      lmms-rpts rate results/small -o rate.html

      lmms-rpts agreement results/small ratings-ann.json ratings-bob.json
    """
    check_suffixes([output], (".html", ".htm"))
    from lmms_rpts.analysis.ratings import draw_sample
    from lmms_rpts.analysis.reading import read_run
    from lmms_rpts.report.rating import write_rating_page

    found = read_run(run)
    protect_inputs([found], [output], page_of="rate")
    sample = draw_sample(found, steps, seed)
    written = write_rating_page(sample, output, images=images, include_path=include_path)
    typer.echo(
        f"{written.path}: {written.steps} steps of {written.responses} responses, "
        f"{written.images} images, {written.size / 1e6:,.1f} MB"
    )
    if written.steps < steps:
        typer.echo("These are all judged steps of the run.", err=True)
    if sample.too_long:
        typer.echo(
            f"Responses left out because a text is too long to read: {sample.too_long}.", err=True
        )
    if missing := written.images_wanted - written.images:
        typer.echo(
            f"{missing} of {written.images_wanted} images were not found or cannot be read, and "
            f"raters need them: {image_advice(found.tasks, include_path)}.",
            err=True,
        )

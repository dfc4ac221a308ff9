"""``lmms-rpts rate``: write a page on which human annotators rate steps of a run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import (
    Images,
    IncludePath,
    OneRun,
    check_suffixes,
    fail,
    image_advice,
    protect_inputs,
)


def rate(
    run: OneRun,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output page, FILE.html.")] = Path(
        "rate.html"
    ),
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            min=1,
            max=10_000,
            help="Minimum number of steps to sample; only whole responses are taken. With "
            "--relations: number of documents.",
            show_default="100; with --relations, all documents",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the sample.")] = 0,
    overall: Annotated[
        bool, typer.Option("--overall", help="Ask for a score of each response as a whole as well.")
    ] = False,
    relations: Annotated[
        bool,
        typer.Option(
            "--relations",
            help="Ask only how images and texts relate: guided, adversarial or independent.",
        ),
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="With --relations: the judge that proposes labels, one request per document. "
            "Raters see a proposal after their own label.",
        ),
    ] = None,
    images: Images = None,
    include_path: IncludePath = None,
) -> None:
    """Collect human ratings for a sample of steps, to measure how far a judge can be trusted.

    The page opens from disk and needs no network. It contains neither the judge's scores nor
    the model's name. Send it to each rater; agreement and validate read the files that it saves.

    With --relations, raters label documents; LMMS_RPTS_RELATIONS names their files for all tables.

      lmms-rpts rate results/small -o rate.html

      lmms-rpts agreement results/small ratings-ann.json ratings-bob.json
    """
    check_suffixes([output], (".html", ".htm"))
    if (judge and not relations) or (overall and relations):
        fail("--judge needs --relations, and --overall excludes it")
    from lmms_rpts.analysis.ratings import STEPS, draw_documents, draw_sample, with_proposals
    from lmms_rpts.report.rating import write_rating_page
    from lmms_rpts.tasks.rpts_eval.runs import read_run

    found = read_run(run)
    protect_inputs([found], [output], page_of="rate")
    if relations:
        sample = draw_documents(found, steps, seed)
        sample = with_proposals(sample, judge) if judge else sample
    else:
        sample = draw_sample(found, steps or STEPS, seed, overall)
    written = write_rating_page(sample, output, images=images, include_path=include_path)
    asked = (
        f"{written.steps} documents, {len(sample.proposals)} proposals of the judge"
        if relations
        else f"{written.steps} steps of {written.responses} responses"
    )
    typer.echo(f"{written.path}: {asked}, {written.images} images, {written.size / 1e6:,.1f} MB")
    if sample.failures:
        (error, _), *_ = Counter(sample.failures).most_common()
        typer.echo(
            f"Documents without a proposal: {len(sample.failures)} (most often: {error}).", err=True
        )
    if not relations and written.steps < (steps or STEPS):
        typer.echo("These are all judged steps of the run.", err=True)
    if sample.too_long:
        kind = "Documents" if relations else "Responses"
        typer.echo(
            f"{kind} left out because a text is too long to read: {sample.too_long}.", err=True
        )
    if missing := written.images_wanted - written.images:
        typer.echo(
            f"{missing} of {written.images_wanted} images were not found or cannot be read, and "
            f"raters need them: {image_advice(found.tasks, include_path)}.",
            err=True,
        )

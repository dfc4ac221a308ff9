"""``lmms-rpts report``: write runs as HTML pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.base.escaping import count, printable
from lmms_rpts.commands.common import (
    Images,
    ImageSize,
    IncludePath,
    Runs,
    fail,
    image_advice,
    protect_inputs,
)


def report(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="FILE.html to write.")] = Path(
        "report.html"
    ),
    images: Images = None,
    include_path: IncludePath = None,
    no_images: Annotated[bool, typer.Option("--no-images", help="Leave out the images.")] = False,
    image_size: ImageSize = 480,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=0,
            help="Maximum number of instances per benchmark without RPTS scores, those with wrong "
            "answers first; 0: all. Default: 5000.",
            show_default=False,
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Set the figures beside the runs that papers and leaderboards printed, where a "
            "benchmark has them. They were not measured here.",
        ),
    ] = False,
    title: Annotated[str | None, typer.Option("--title", help="Title of the report.")] = None,
) -> None:
    """Show where the reasoning broke: metrics, and every instance with its reasoning as a tree.

    Several runs are shown side by side. The file needs no network and opens from disk. It contains
    the images and texts of the benchmark.

      lmms-rpts report results -o report.html

      lmms-rpts report small=results/a large=results/b -o report.html
    """
    from lmms_rpts.analysis.reading import read_runs
    from lmms_rpts.report.writing import write_report

    check_page(output)
    found = read_runs(runs)
    protect_inputs(found, [output], page_of="report")
    written = write_report(
        found,
        output.expanduser(),
        title=title,
        with_images=not no_images,
        images=images,
        include_path=include_path,
        longest_side=image_size,
        limit=limit,
        published=published,
    )
    typer.echo(
        f"{written.path}: {count(written.instances, 'instance')}, "
        f"{count(written.images, 'image')}, {written.size / 1e6:,.1f} MB"
    )
    for said in written.left_out:
        typer.echo(f"Note: {printable(said)}.", err=True)
    missing = written.images_wanted - written.images
    if missing and not no_images:
        tasks = {task for run in found for task in run.tasks}
        typer.echo(
            f"{missing} of {written.images_wanted} images were not found or cannot be read: "
            f"{image_advice(tasks, include_path)}.",
            err=True,
        )


def check_page(output: Path) -> None:
    """Fail unless a report may be written there; to be called before any judge call."""
    if output.suffix.lower() not in (".html", ".htm"):
        fail(f"Cannot write {output}: use FILE.html. To get a PDF, print the page from a browser")
    protect_inputs([], [output], page_of="report")

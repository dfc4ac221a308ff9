"""``lmms-rpts report``: write runs as one HTML page, or a page for raters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.base.escaping import count, printable
from lmms_rpts.commands.common import PAGES, IncludePath, Runs, check_suffixes, protect_inputs


def report(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="FILE.html to write.")] = Path(
        "report.html"
    ),
    rate: Annotated[
        bool,
        typer.Option(
            "--rate",
            help="Write a page on which people rate at least 100 steps of one run; it shows "
            "neither scores nor the model's name. lmms-rpts agreement reads the files it saves.",
        ),
    ] = False,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            help="Folder of the images. Default: the place that the setting for the data (such as "
            "RPTS_PATH) names.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    include_path: IncludePath = None,
) -> None:
    """Show where the reasoning broke: metrics, and every instance with its reasoning as a tree.

    Several runs are shown side by side. The file needs no network and opens from disk. It contains
    the images and texts of the benchmark.

      lmms-rpts report results -o report.html

      lmms-rpts report small=results/a large=results/b -o report.html

      lmms-rpts report results/small --rate -o rate.html
    """
    from lmms_rpts.analysis.frames import read_runs
    from lmms_rpts.report.write import write_report

    check_suffixes([output], PAGES)
    chosen = read_runs(runs)
    protect_inputs(chosen, [output])
    written = write_report(
        chosen, output.expanduser(), images=images, include_path=include_path, rate=rate
    )
    typer.echo(
        f"{written.path}: {count(written.instances, 'response' if rate else 'instance')}, "
        f"{count(written.images, 'image')}, {written.size / 1e6:,.1f} MB"
    )
    for note in written.notes:
        typer.echo(f"Note: {printable(note)}.", err=True)
    if missing := written.images_wanted - written.images:
        typer.echo(
            f"{missing} of {written.images_wanted} images were not found or cannot be read: "
            "use --images or --include_path FOLDER, or set the data's path (such as RPTS_PATH).",
            err=True,
        )

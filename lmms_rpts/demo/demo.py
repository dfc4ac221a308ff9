"""``lmms-rpts demo``: two fictional models with the same accuracy, compared offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results and samples.")
    ] = Path("demo-results"),
) -> None:
    """Compare two fictional models with the same accuracy, offline.

    Runs lmms-eval on the bundled instances, with prepared responses and the lexical judge. Shows
    what accuracy hides. Exits with 1 if anything failed.
    """
    from lmms_rpts.demo.run import run_demo

    run_demo(output)

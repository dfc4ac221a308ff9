"""``lmms-rpts demo``: two fictional models with the same accuracy, compared offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import fail


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results and samples.")
    ] = Path("demo-results"),
) -> None:
    """Compare two fictional models with the same accuracy, offline.

    Runs lmms-eval on the bundled instances, with prepared responses and the lexical judge. Shows
    what accuracy hides. Exits with 1 if anything failed.
    """
    from lmms_rpts.demo.run import DemoError, run_demo

    try:
        run_demo(output)
    except DemoError as error:
        fail(f"The demo failed: {error}")

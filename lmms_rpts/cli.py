"""The ``lmms-rpts`` command; what is slow to import (pandas, openai) is imported when needed."""

from __future__ import annotations

import inspect
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts import __version__
from lmms_rpts.base.settings import CONFIG, set_variables
from lmms_rpts.commands.agreement import agreement
from lmms_rpts.commands.common import plain_log, with_settings
from lmms_rpts.commands.compare import compare
from lmms_rpts.commands.doctor import doctor
from lmms_rpts.commands.estimate import estimate
from lmms_rpts.commands.export import export
from lmms_rpts.commands.init import init
from lmms_rpts.commands.report import report
from lmms_rpts.commands.score import score
from lmms_rpts.commands.summarize import summarize
from lmms_rpts.commands.validate import validate
from lmms_rpts.demo.demo import demo

app = typer.Typer(
    help="Did the model reason its way to the answer, or just land on it? "
    "Evaluate models with `lmms-eval --tasks rpts_eval`; this command does everything else.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Before a run": (init, doctor, estimate, demo),
    "Look at runs": (report, summarize, compare, export),
    "Judges and their answers": (score, validate, agreement),
}
for panel, commands in PANELS.items():
    for command in commands:
        # Each paragraph on one line, for the terminal to wrap; but not indented ones, the examples
        text = re.sub(r"(?<!\n)\n(?![\n ])", " ", inspect.cleandoc(command.__doc__ or ""))
        app.command(rich_help_panel=panel, help=text)(with_settings(command))


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="File of settings. Default: LMMS_RPTS_CONFIG, or rpts.toml in the working "
            "directory.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Options that all commands share."""
    if version:
        typer.echo(f"lmms-rpts {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command")
    if config is not None:
        set_variables(**{CONFIG: str(config.absolute())})
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal can't show must not cause a traceback.
            stream.reconfigure(errors="backslashreplace")
    plain_log()

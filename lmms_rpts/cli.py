"""The ``lmms-rpts`` command."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts import __version__
from lmms_rpts.base.terminal import plain_log
from lmms_rpts.commands.agreement import agreement
from lmms_rpts.commands.common import Config, complain, paragraphs, with_settings
from lmms_rpts.commands.compare import compare
from lmms_rpts.commands.doctor import doctor
from lmms_rpts.commands.estimate import estimate
from lmms_rpts.commands.export import export
from lmms_rpts.commands.init import init
from lmms_rpts.commands.rate import rate
from lmms_rpts.commands.report import report
from lmms_rpts.commands.score import score
from lmms_rpts.commands.summarize import summarize
from lmms_rpts.commands.sweep import sweep
from lmms_rpts.commands.validate import validate

app = typer.Typer(
    help="Did the model reason its way to the answer, or just land on it? "
    "Evaluate models with `lmms-eval --tasks rpts_eval`; this command does everything else.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_PREPARE, _LOOK, _JUDGE = "Before a run", "Look at runs", "Judges and their answers"

for panel, commands in {
    _PREPARE: (init, doctor, estimate),
    _LOOK: (report, summarize, compare, sweep, export),
    _JUDGE: (score, validate, rate, agreement),
}.items():
    for command in commands:
        # The doctor lists a misspelt setting among the other problems.
        checked = with_settings(command, refuse=command is not doctor)
        app.command(rich_help_panel=panel, help=paragraphs(command.__doc__))(checked)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lmms-rpts {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    config: Config = None,
) -> None:
    """Options that all commands share."""
    if config is not None:
        from lmms_rpts.base.settings import options_given

        context.with_resource(options_given(config))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal can't show must not cause a traceback.
            stream.reconfigure(errors="backslashreplace")
    plain_log(complain)


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
        typer.echo(f"The demo failed: {error}", err=True)
        raise typer.Exit(1) from None


app.command(rich_help_panel=_PREPARE, help=paragraphs(demo.__doc__))(demo)

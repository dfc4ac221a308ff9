"""The ``lmms-rpts`` command; each of its commands is imported when it is called."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lmms_rpts import __version__
from lmms_rpts.base.settings import CONFIG, set_variables
from lmms_rpts.commands.common import paragraphs, plain_log, with_settings

_PANELS = {
    "Before a run": ("init", "doctor", "estimate", "demo"),
    "Look at runs": ("report", "summarize", "compare", "sweep", "export"),
    "Judges and their answers": ("score", "validate", "rate", "agreement"),
}
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return [*_PANEL_OF]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # All are imported for an unknown name, to suggest the nearest one.
        for name in {cmd_name} & {*_PANEL_OF} or _PANEL_OF:
            if name not in self.commands:
                room = "demo" if name == "demo" else "commands"
                function = getattr(import_module(f"lmms_rpts.{room}.{name}"), name)
                single, text = typer.Typer(add_completion=False), paragraphs(function.__doc__)
                command = single.command(name, rich_help_panel=_PANEL_OF[name], help=text)
                command(with_settings(function))
                self.commands[name] = typer.main.get_command(single)
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=_Commands,
    help="Did the model reason its way to the answer, or just land on it? "
    "Evaluate models with `lmms-eval --tasks rpts_eval`; this command does everything else.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lmms-rpts {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
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
    if config is not None:
        set_variables(**{CONFIG: str(config.absolute())})
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal can't show must not cause a traceback.
            stream.reconfigure(errors="backslashreplace")
    plain_log()

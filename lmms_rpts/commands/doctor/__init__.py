"""``lmms-rpts doctor``: check the installation, settings, judge and data before a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from lmms_rpts.base.escaping import count
from lmms_rpts.base.settings import set_variables
from lmms_rpts.commands.common import Judge, fail

if TYPE_CHECKING:
    from lmms_rpts.commands.doctor.examination import Stage
    from lmms_rpts.tasks.data import Check

_STYLES = {"ok": "green", "problem": "bold red", "not checked": "yellow"}
# Widths of columns.
_STATE, _NAME = 13, 14


def doctor(
    judge: Judge = None,
    offline: Annotated[bool, typer.Option("--offline", help="Make no judge call.")] = False,
    load: Annotated[
        bool, typer.Option("--load", help="Load the model of an hf: judge and call it.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Skip the slow checks, which import torch and lmms-eval."),
    ] = False,
    include_path: Annotated[
        Path | None,
        typer.Option(
            "--include_path",
            help="Folder with your own tasks. Only these, their data and images, and the judge "
            "are checked.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check the installation, the settings, the judge and the data, and show how to fix problems.

    A judge that costs money gets two short requests. Exits with 1 if there is a problem.
    """
    console, waiting = Console(highlight=False, soft_wrap=True), Console(stderr=True)
    status = waiting.status("")

    def notify(note: str) -> None:
        status.update(escape(note))
        if not waiting.is_terminal:
            typer.echo(note, err=True)

    checks = []
    if judge:
        set_variables(LMMS_RPTS_JUDGE=judge)
    for stage in _plan(judge, offline, load, quick, include_path, notify):
        status.update(f"{stage.doing} ...")
        with status:
            found = stage.perform()
        checks += found
        if not as_json:
            for check in found:
                console.print(_line(check))
    problems = sum(check.state == "problem" for check in checks)
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in checks], indent=2, ensure_ascii=False))
    else:
        unchecked = sum(check.state == "not checked" for check in checks)
        verdict = count(problems, "problem") if problems else "No problem found"
        console.print(f"\n{verdict}{f'; {unchecked} not checked' if unchecked else ''}.")
    if problems:
        raise typer.Exit(1)


def _plan(
    judge: str | None,
    offline: bool,
    load: bool,
    quick: bool,
    include_path: Path | None,
    notify: Callable[[str], None],
) -> list[Stage]:
    try:
        from lmms_rpts.commands.doctor.examination import plan
    except Exception as error:  # a broken package may raise anything when it is imported
        fail(
            f"Cannot load lmms-rpts ({type(error).__name__}: {error}). A package that it needs is "
            "missing, broken or has the wrong version: pip install --upgrade lmms-rpts (in a "
            "checkout: pip install .)"
        )
    return plan(include_path, judge=judge, offline=offline, load=load, quick=quick, notify=notify)


def _line(check: Check) -> Text:
    """One line per check; further lines are indented, and the remedy is below.

    After a name that is wider than its column, the message begins on the next line.
    """
    said = check.said + (f"\n-> {check.remedy}" if check.remedy else "")
    text = Text(f"{check.state:<{_STATE}}", style=_STYLES[check.state])
    if len(check.name) > _NAME:
        text.append(check.name, style="bold")
        said = f"\n{said}"
    else:
        text.append(f"{check.name:<{_NAME}} ", style="bold")
    text.append(said.replace("\n", "\n" + " " * _STATE), style="default not bold")
    return text

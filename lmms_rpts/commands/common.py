"""Helpers that the commands share: arguments, error messages, output files."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
import wrapt
from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import refuse_unknown, with_variables
from lmms_rpts.tasks.registry import SETTINGS_TABLES

if TYPE_CHECKING:
    from loguru import Message

    from lmms_rpts.runs.run import Run

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="Folders that lmms-eval wrote with --log_samples --output_path, or single samples "
        "files. NAME=FOLDER sets the name of a run.",
        show_default=False,
    ),
]
OneRun = Annotated[
    str, typer.Argument(metavar="RUN", help="Folder or samples file, perhaps named: NAME=FOLDER.")
]
Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        help="Write a file: .csv, .json, .md, .tex; see above for others. May be repeated.",
        show_default=False,
    ),
]
IncludePath = Annotated[
    Path | None,
    typer.Option(
        "--include_path",
        help="Folder with your own task files, as for lmms-eval.",
        exists=True,
        show_default=False,
    ),
]
Judge = Annotated[str | None, typer.Option("--judge", help="The judge; overrides LMMS_RPTS_JUDGE.")]
PLOTS = (".svg", ".pdf")
"""Suffixes of files that matplotlib draws."""
PAGES = (".html", ".htm")
_WARNING = 30  # the number of this level of messages


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """A command that first refuses misspelt settings.

    Errors that the user can fix are one message, with status 1. ``--help`` works with any settings.
    """

    @functools.wraps(command)
    def checked(*args: Any, **options: Any) -> None:
        try:
            # The doctor lists a misspelt setting among the other problems; the demo uses none.
            if command.__name__ not in ("doctor", "demo"):
                refuse_unknown(SETTINGS_TABLES)
            command(*args, **options)
        except UserError as error:
            fail(error)

    return checked


def same_command(without: Collection[str] = (), *more: str) -> str:
    """This command with the settings that variables give it, to be run again.

    ``without``: options with a value that are left out; ``more``: words that are added.
    """
    words = list[str]()
    for before, word in zip(["", *sys.argv[1:]], sys.argv[1:], strict=False):
        if before not in without and word.partition("=")[0] not in without:
            words.append(word)
    return with_variables(["lmms-rpts", *words, *more], SETTINGS_TABLES)


def fail(reason: object) -> NoReturn:
    """Print the reason to the error stream and exit with status 1."""
    complain(reason)
    raise typer.Exit(1)


def complain(reason: object) -> None:
    """Print to the error stream, without control characters."""
    typer.echo("\n".join(map(visible, str(reason).split("\n"))), err=True)


def check_suffixes(paths: Sequence[Path] | None, allowed: tuple[str, ...]) -> Sequence[Path]:
    """The files to write; fails before any work if one of them has a suffix that is not allowed."""
    for path in paths or []:
        if path.suffix.lower() not in allowed:
            fail(f"Cannot write {path}: use a file name that ends in {', '.join(allowed)}")
        if path.suffix.lower() in PLOTS and find_spec("matplotlib") is None:
            fail(f'Drawing {path} needs matplotlib: pip install "lmms-rpts[plots]"')
    return paths or []


def fail_to_write(path: Path, error: Exception) -> NoReturn:
    """Exit with the message that a file or folder cannot be written."""
    fail(f"Cannot write to {path}: {getattr(error, 'strerror', None) or error}")


def protect_inputs(inputs: Iterable[Run], outputs: Iterable[Path], *others: Path) -> None:
    """Fail, before the costly part, if a file to write is an input file or cannot be written."""
    from lmms_rpts.runs.files import check_writable
    from lmms_rpts.runs.reading import results_beside

    samples = [file for run in inputs for file in run.files]
    read = {path.resolve() for path in (*samples, *map(results_beside, samples), *others)}
    for output in outputs:
        if output.expanduser().resolve() in read:
            fail(f"{output} is one of the input files: choose another name with -o")
        try:
            check_writable(output)
        except OSError as error:
            fail_to_write(output, error)


def plain_log() -> None:
    """Show log messages as lines without time and place, for this process.

    Shown are warnings and errors, and information of this package.
    """

    def show(message: Message) -> None:
        mark = "Warning: " if message.record["level"].no >= _WARNING else ""
        complain(f"{mark}{message.rstrip()}")

    def begin(module: object = None) -> None:
        logger.remove()
        logger.add(show, format="{message}", filter={"": "WARNING", "lmms_rpts": "INFO"})

    begin()
    # Importing it replaces all handlers by one that writes to standard output.
    wrapt.register_post_import_hook(begin, "lmms_eval.models")

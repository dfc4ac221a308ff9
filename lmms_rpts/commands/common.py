"""Helpers that the commands share: arguments, error messages, output files."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
import wrapt
from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import refuse_unknown, with_variables
from lmms_rpts.runs.files import draft_of
from lmms_rpts.tasks.registry import SETTINGS_TABLES, benchmark_of

if TYPE_CHECKING:
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
    str,
    typer.Argument(
        metavar="RUN",
        help="Folder that lmms-eval wrote with --log_samples --output_path, or a samples file. "
        "NAME=FOLDER sets the name of the run.",
        show_default=False,
    ),
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
Images = Annotated[
    Path | None,
    typer.Option(
        "--images",
        help="Folder of the images. Default: the place that the setting for the data (such as "
        "RPTS_PATH) names.",
        exists=True,
        file_okay=False,
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
# The mark that each page has of the command that wrote it
_PAGE = re.compile(rb'<meta name="generator" content="lmms-rpts [^" ]{1,100} ([a-z]{1,20})">')
PLOTS = (".svg", ".pdf")
"""Suffixes of files that matplotlib draws."""


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


def paragraphs(docstring: str | None) -> str:
    """A docstring as ``--help`` text: each paragraph on one line, for the terminal to wrap.

    Indented paragraphs, such as examples, are unchanged.
    """
    blocks = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(
        block if block.startswith(" ") else " ".join(block.split("\n")) for block in blocks
    )


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


def protect_inputs(
    inputs: Iterable[Run], outputs: Iterable[Path], *others: Path, page_of: str = ""
) -> None:
    """Fail if an output file is one of the input files, or a page of another program.

    ``page_of``: the command that writes pages to ``outputs``; it may overwrite only its own.
    """
    from lmms_rpts.runs.reading import results_beside

    samples = [file for run in inputs for file in run.files]
    read = {path.resolve() for path in (*samples, *map(results_beside, samples), *others)}
    for output in outputs:
        place = output.expanduser()
        if place.resolve() in read:
            fail(f"{output} is one of the input files: choose another name with -o")
        try:
            own = not page_of or may_overwrite(place, page_of)
        except OSError as error:
            fail(f"Cannot read {output}: {error.strerror}")
        if not own:
            fail(
                f"{output} was not written by lmms-rpts {page_of}: use another file name, or "
                "delete it first"
            )


def may_overwrite(page: Path, command: str) -> bool:
    """Whether a command may overwrite a file: there is none, it is empty, or it is its own page."""
    if not os.path.isfile(page):  # False also for a name that is too long
        return True
    with page.open("rb") as content:
        start = content.read(4096)
    if not start:
        return True
    found = _PAGE.search(start)
    return found is not None and found[1] == command.encode("ascii")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically, create its folder, and report its name."""
    if isinstance(content, str):
        content = content.encode("utf-8", errors="replace")
    try:
        with draft_of(path) as draft:
            draft.write_bytes(content)
    except OSError as error:
        fail_to_write(path, error)
    typer.echo(f"Written: {path}", err=True)


def image_advice(tasks: Collection[str], include_path: Path | None) -> str:
    """Advice if images of runs of these tasks are missing."""
    known = {task: benchmark_of(task) for task in tasks}
    variables = {each.data_variable for each in known.values() if each} - {""}
    ways = ["use --images FOLDER", *(f"set {each}" for each in sorted(variables))]
    if not all(known.values()):
        ways.append(
            "use --include_path FOLDER with the folder of your task files"
            if include_path is None
            else "add the missing images to the folder that the task file below "
            f"{include_path} sets"
        )
    return ", or ".join(ways)


# --- log messages as plain lines -----------------------------------------------------------------

_WARNING = 30
_handler = 0  # loguru's own at first, which writes to standard error
_is_hooked = False


def plain_log() -> None:
    """Show log messages as lines without time and place, for this process.

    Shown are warnings and errors, and information of this package.
    """
    global _handler, _is_hooked
    if not _is_hooked:
        _is_hooked = True
        # Importing it replaces all handlers by one that writes to standard output.
        wrapt.register_post_import_hook(_restore, "lmms_eval.models")
    with suppress(ValueError):  # removed already
        logger.remove(_handler)
    _handler = logger.add(
        lambda message: complain(
            f"{'Warning: ' * (message.record['level'].no >= _WARNING)}{message.rstrip()}"
        ),
        level="INFO",
        format="{message}",
        filter=lambda record: (
            (record["name"] or "").startswith("lmms_rpts") or record["level"].no >= _WARNING
        ),
    )


def _restore(module: object) -> None:
    logger.remove()
    plain_log()

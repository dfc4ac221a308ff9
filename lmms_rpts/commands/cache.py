"""``lmms-rpts cache``: show, clear and export the cache of judge replies."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from lmms_rpts.commands.common import fail, with_settings
from lmms_rpts.escaping import visible
from lmms_rpts.report import thumbnails
from lmms_rpts.settings import load_settings

if TYPE_CHECKING:
    from lmms_rpts.judging.cache import Answer

app = typer.Typer(
    help="Show, clear or export the cache of judge replies.",
    no_args_is_help=True,
)
Folder = Annotated[
    Path | None,
    typer.Option("--folder", help="Folder of the cache. Default: LMMS_RPTS_CACHE."),
]


@app.command()
@with_settings
def info(folder: Folder = None) -> None:
    """Show the number of cached replies per judge, with their tokens."""
    from lmms_rpts.judging.cache import FILE

    place = _place(folder)
    if (place / FILE).exists():
        _print_answers(place / FILE)
    else:
        missing = "" if place.exists() else " The folder does not exist."
        typer.echo(f"No cached replies in {place}.{missing}")
    sizes = [each.size for each in thumbnails.stored(place / thumbnails.FOLDER)]
    if sizes:
        said = f"{len(sizes):,} thumbnails of reports ({sum(sizes) / 1e6:,.1f} MB)"
        typer.echo(f"{said} in {place / thumbnails.FOLDER}")


def _print_answers(file: Path) -> None:
    answers: Counter[tuple[str, str, str]] = Counter()
    tokens: Counter[tuple[str, str, str]] = Counter()
    found = _read(file.parent)
    for answer in found:
        group = (answer.judge, answer.kind, answer.prompt_version)
        answers[group] += 1
        tokens[group] += answer.usage.tokens if answer.usage else 0
    # A line, not the table's title: a title is wrapped to the width of the table.
    typer.echo(f"{file} ({file.stat().st_size / 1e6:,.1f} MB)")
    table = Table("judge", "question", "prompts")
    for name in ("answers", "tokens"):
        table.add_column(name, justify="right")
    for group in sorted(answers):
        table.add_row(*group, f"{answers[group]:,}", f"{tokens[group]:,}")
    console = Console()
    console.print(table)
    if found:
        times = sorted(datetime.fromtimestamp(each.created).astimezone() for each in found)
        first, last = (f"{each:%Y-%m-%d %H:%M}" for each in (times[0], times[-1]))
        console.print(f"{len(found):,} replies, from {first} to {last}")


@app.command()
@with_settings
def clear(
    folder: Folder = None,
    judge: Annotated[
        str | None, typer.Option("--judge", help="Only replies of this judge, as shown by info.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete cached replies. They will be requested, and paid for, again.

    Without --judge the thumbnails of reports are deleted as well.
    """
    from lmms_rpts.judging.cache import FILE, CacheError, LockedError, delete_file, remove_answers

    place = _place(folder)
    if judge is not None:
        _check_judge(place, judge)
    if not yes:
        which = f" of {judge}" if judge else ""
        typer.confirm(f"Delete {_count(place, judge)}replies{which} in {place}?", abort=True)
    try:
        pictures = 0 if judge else thumbnails.clear(place / thumbnails.FOLDER)
        if pictures:
            typer.echo(f"{pictures:,} thumbnails deleted")
        if not pictures or (place / FILE).exists():
            typer.echo(f"{remove_answers(place, judge):,} replies deleted")
    except OSError as error:
        fail(f"Cannot delete {error.filename or place}: {error.strerror or error}")
    except CacheError as error:
        if judge or not (place / FILE).is_file() or isinstance(error, LockedError):
            fail(error)
        try:
            delete_file(place)
        except OSError as fault:
            fail(f"Cannot delete {place / FILE}: {fault.strerror or fault}")
        typer.echo(f"{error}\nThe file was deleted.")


@app.command()
@with_settings
def export(
    folder: Folder = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .jsonl file. Default: the terminal.")
    ] = None,
) -> None:
    """Write all replies as JSON lines, with the request, the judge and the whole reply."""
    place = _place(folder)
    answers = _read(place)
    try:
        with output.open("w", encoding="utf-8") if output else nullcontext(sys.stdout) as out:
            for answer in answers:
                out.write(json.dumps(_as_json(answer), ensure_ascii=False) + "\n")
    except OSError as error:
        fail(f"Cannot write to {output or 'the terminal'}: {error.strerror}")
    if output:
        typer.echo(f"{len(answers):,} replies written to {output}")


def _as_json(answer: Answer) -> dict[str, object]:
    usage = answer.usage
    return {
        "judge": answer.judge,
        "kind": answer.kind,
        "prompt_version": answer.prompt_version,
        "messages": answer.messages,
        "reply": answer.reply,
        "input_tokens": usage and usage.input_tokens,
        "output_tokens": usage and usage.output_tokens,
        "created": datetime.fromtimestamp(answer.created, timezone.utc).isoformat(),
        "key": answer.key,
    }


def _check_judge(place: Path, judge: str) -> None:
    """Fail with a list of the cached judges if there are no replies of this one."""
    from lmms_rpts.judging.cache import FILE

    judges = {answer.judge for answer in _read(place)} if (place / FILE).is_file() else {judge}
    if judge not in judges:
        known = ", ".join(map(visible, sorted(judges))) or "none"
        fail(f"No cached replies of {judge} in {place}; judges with cached replies: {known}")


def _count(place: Path, judge: str | None) -> str:
    """The number of replies, as part of a question."""
    from lmms_rpts.judging.cache import CacheError, count_answers

    try:
        return f"{count_answers(place, judge):,} of {count_answers(place):,} "
    except CacheError:
        return "all "


def _read(place: Path) -> list[Answer]:
    from lmms_rpts.judging.cache import CacheError, read_answers

    try:
        return list(read_answers(place))
    except CacheError as error:
        fail(error)


def _place(folder: Path | None) -> Path:
    if folder is not None:
        if not folder.expanduser().is_dir():
            fail(f"--folder: {folder} is not a folder")
        return folder.expanduser()
    found = load_settings().cache
    if found is None:
        fail("LMMS_RPTS_CACHE is off: set the folder with --folder")
    return found

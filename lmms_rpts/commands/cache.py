"""``lmms-rpts cache``: show, clear and export the cache of judge replies, and import others."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import load_settings
from lmms_rpts.commands.common import fail, with_settings

app = typer.Typer(
    help="Show, clear or export the cache of judge replies; import results of batches.",
    no_args_is_help=True,
)
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Folder of the cache. Default: LMMS_RPTS_CACHE.")
]

_GROUPS = """SELECT judge, kind, prompt_version, COUNT(*),
    SUM(COALESCE(input_tokens + output_tokens, 0)), MIN(created), MAX(created)
    FROM answers GROUP BY judge, kind, prompt_version ORDER BY judge, kind, prompt_version"""
_ALL = """SELECT judge, kind, prompt_version, request AS messages, reply, input_tokens,
    output_tokens, created, key FROM answers ORDER BY created, key"""
_DELETE = "DELETE FROM answers WHERE :judge IS NULL OR judge = :judge"
_DELETE_RESULTS = """DELETE FROM requests WHERE line IS NOT NULL AND batch IS NULL
    AND judge IS IFNULL(:judge, judge)"""
# What to do about lines of results, by their outcome
_OUTCOMES = {
    "answered": "answered",
    "refused": "refused by the judge for good",
    "failed": "failed or expired: the next round has them again",
    "known": "results that are here already",
    "unknown": "with an id that no request has: results of another cache (LMMS_RPTS_CACHE)?",
    "damaged": "not lines of results: get the file again",
    "request": "requests, not results: this file is the input of a batch",
    "model": "answered by another model than the one that was asked",
}


@app.command()
@with_settings
def info(folder: Folder = None) -> None:
    """Show the number of cached replies per judge, with their tokens."""
    place = _place(folder)
    if _file(place).exists():
        _print_groups(place)
    else:
        missing = "" if place.exists() else " The folder does not exist."
        typer.echo(f"No cached replies in {place}.{missing}")


def _print_groups(place: Path) -> None:
    groups, file = _select(place, _GROUPS), _file(place)
    # A line, not the table's title: a title is wrapped to the width of the table.
    typer.echo(f"{file} ({file.stat().st_size / 1e6:,.1f} MB)")
    table = Table("judge", "question", "prompts")
    for name in ("answers", "tokens"):
        table.add_column(name, justify="right")
    for judge, kind, prompts, count, tokens, *_ in groups:
        table.add_row(judge, kind, prompts, f"{count:,}", f"{tokens:,}")
    console = Console()
    console.print(table)
    if groups:
        *_, counts, _, firsts, lasts = zip(*groups, strict=True)
        first, last = map(datetime.fromtimestamp, (min(firsts), max(lasts)))
        span = f"from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
        console.print(f"{sum(counts):,} replies, {span}")


@app.command()
@with_settings
def clear(
    folder: Folder = None,
    judge: Annotated[
        str | None, typer.Option("--judge", help="Only replies of this judge, as shown by info.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete cached replies. They will be requested, and paid for, again."""
    from lmms_rpts.judging.cache import CacheError, DamagedError, delete_file, open_answers

    place = _place(folder)
    if judge is not None and _file(place).is_file():
        judges = [each for (each,) in _select(place, "SELECT DISTINCT judge FROM answers")]
        if judge not in judges:
            known = ", ".join(map(visible, sorted(judges))) or "none"
            fail(f"No cached replies of {judge} in {place}; judges with cached replies: {known}")
    if not yes:
        which = f" of {judge}" if judge else ""
        typer.confirm(f"Delete all replies{which} in {place}?", abort=True)
    try:
        with open_answers(place) as connection:
            deleted = connection.execute(_DELETE, {"judge": judge}).rowcount
            connection.execute(_DELETE_RESULTS, {"judge": judge})
            connection.execute("VACUUM")  # else the file stays as large as it was
        typer.echo(f"{deleted:,} replies deleted")
    except DamagedError as error:
        if judge:
            fail(error)
        delete_file(place)
        typer.echo(f"{error}\nThe file was deleted.")
    except CacheError as error:
        fail(error)
    except OSError as error:
        fail(f"Cannot delete {error.filename or place}: {error.strerror or error}")


@app.command()
@with_settings
def export(
    folder: Folder = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .jsonl file. Default: the terminal.")
    ] = None,
) -> None:
    """Write all replies as JSON lines, with the request, the judge and the whole reply."""
    rows = _select(_place(folder), _ALL)
    try:
        with output.open("w", encoding="utf-8") if output else nullcontext(sys.stdout) as out:
            for row in map(dict, rows):
                row["messages"] = json.loads(row["messages"])
                row["created"] = datetime.fromtimestamp(row["created"], timezone.utc).isoformat()
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        fail(f"Cannot write to {output or 'the terminal'}: {error.strerror}")
    if output:
        typer.echo(f"{len(rows):,} replies written to {output}")


@app.command("import")
@with_settings
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Results, as a batch API or vllm run-batch writes them (.jsonl).",
            exists=True,
            dir_okay=False,
        ),
    ],
    folder: Folder = None,
) -> None:
    """Take the results of batches (docs/batch.md), in any order, whole or not.

    The files may be taken again. The exit status is 1 if a file has no result.
    """
    from lmms_rpts.judging.batches import BatchStore
    from lmms_rpts.judging.cache import CacheError

    store, useless = BatchStore(_place(folder)), False
    for path in files:
        try:
            with path.open("rb") as lines:
                counts = store.take(lines)
        except (OSError, CacheError) as error:
            fail(f"Cannot take {path}: {error}")
        useless |= counts.keys() <= {"damaged", "request", "unknown"}
        typer.echo(f"{path}:")
        for outcome, meaning in _OUTCOMES.items():
            own = [each for each in counts.most_common() if each[0].partition(": ")[0] == outcome]
            for example in [visible(name.partition(": ")[2]) for name, _ in own[:1]]:
                said = f"{meaning}; most often: {example}" if example else meaning
                typer.echo(f"{sum(count for _, count in own):>9,} {said}")
    raise typer.Exit(useless)


def _select(place: Path, query: str) -> list[Any]:
    from lmms_rpts.judging.cache import CacheError, open_answers

    try:
        with open_answers(place) as connection:
            return connection.execute(query).fetchall()
    except CacheError as error:
        fail(error)


def _file(place: Path) -> Path:
    from lmms_rpts.judging.cache import FILE

    return place / FILE


def _place(folder: Path | None) -> Path:
    if folder is not None:
        if not folder.expanduser().is_dir():
            fail(f"--folder: {folder} is not a folder")
        return folder.expanduser()
    found = load_settings().cache
    if found is None:
        fail("LMMS_RPTS_CACHE is off: set the folder with --folder")
    return found

"""Repair of a damaged cache file: it is renamed, and readable rows are copied to a new one."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lmms_rpts.judging.cache_file import (
    LOCKED_FOR,
    VERSION,
    CacheError,
    check_columns,
    connect_alone,
    is_damage,
    locked,
)

CHECKED_FOR = 10.0
"""Seconds for examining a file, after which the reported error counts as damage."""

SALVAGED_FOR = 20.0
"""Maximum number of seconds for copying replies from a damaged file."""

_AT_ONCE = 500
"""Number of rows read and written at a time."""

_KEEP = "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ROWS = "SELECT rowid, * FROM answers WHERE rowid > ? ORDER BY rowid LIMIT ?"
_GREATEST = 2**62
"""Upper bound of row numbers, with room for one step."""

Row = tuple[Any, ...]
"""A row of the table, starting with its key."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A damaged file that was replaced.

    Attributes:
        path: its new name.
        copied: number of replies that were copied to the new file.
        complete: whether time and space sufficed to try all rows.
    """

    path: Path
    copied: int
    complete: bool


def set_aside(path: Path, inode: int | None) -> SetAside | None:
    """Rename the damaged file at ``path`` and create a new one.

    Args:
        path: the file.
        inode: inode of the damaged file; None: of the current file.

    Returns:
        The replaced file; None if another process replaced it, or if it is not damaged after all.

    Raises:
        OSError: if the file cannot be locked or renamed.
    """
    with locked(path, alone=True):
        # Another process may have replaced the file already: the new one must not be renamed.
        if inode is not None and path.stat().st_ino != inode:
            return None
        if not _is_damaged(path):
            return None
        aside = _free_name(path)
        # The file itself is renamed last, so that after a kill the damage is found again.
        for end in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{end}").rename(f"{aside}{end}")
        return _salvage(aside, path)


def _free_name(path: Path) -> Path:
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    name, number = f"{path}.damaged-{stamp}", 1
    while any(Path(f"{name}{end}").exists() for end in ("", "-wal", "-shm")):
        number += 1
        name = f"{path}.damaged-{stamp}-{number}"
    return Path(name)


def _is_damaged(path: Path) -> bool:
    """Whether a new connection finds damage as well."""
    until = time.monotonic() + CHECKED_FOR
    try:
        with contextlib.closing(_connect(path, until)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                return False
            check_columns(connection, path, version)
            found: Row = connection.execute("PRAGMA integrity_check(1)").fetchone()
            return found != ("ok",)
    except (sqlite3.Error, ValueError, CacheError) as error:
        return is_damage(error) or (str(error) == "interrupted" and time.monotonic() >= until)


def _connect(path: Path, until: float) -> sqlite3.Connection:
    """A read-only connection that is interrupted after a time limit."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=LOCKED_FOR)
    connection.set_progress_handler(lambda: time.monotonic() >= until, 10_000)
    return connection


def _salvage(damaged: Path, path: Path) -> SetAside:
    """Copy the answers that can be read to a new file at ``path``."""
    until = time.monotonic() + SALVAGED_FOR
    copied, complete = 0, True
    try:
        with (
            contextlib.closing(connect_alone(path)) as new,
            contextlib.closing(_connect(damaged, until)) as old,
        ):
            # A truncated file cannot be opened otherwise.
            old.execute("PRAGMA writable_schema = ON")
            for rows in _readable(old, until):
                with new:
                    copied += new.executemany(_KEEP, rows).rowcount
            complete = time.monotonic() < until
    except (sqlite3.Error, OSError, ValueError) as error:
        complete = is_damage(error)  # no row is readable, as opposed to a full disk
    return SetAside(damaged, copied, complete)


def _readable(connection: sqlite3.Connection, until: float) -> Iterator[list[Row]]:
    """The readable rows, in batches and in the order of their numbers.

    Reading stops at a damaged page: batches get smaller down to one row, then that row is skipped.
    The more rows are skipped in a row, the larger the steps, up to the last number.
    """
    last, most, left_out = 0, _AT_ONCE, 0
    while last < _GREATEST and time.monotonic() < until:
        try:
            found = connection.execute(_ROWS, (last, most)).fetchall()
        except (sqlite3.Error, ValueError):
            if most > 1:
                most //= 2
            else:
                step = 1 + left_out // 100
                last, left_out = last + step, left_out + step
            continue
        if not found:
            return
        yield [row[1:] for row in found if _is_sound(row[1:])]
        last, most, left_out = found[-1][0], min(_AT_ONCE, 2 * most), 0


def _is_sound(row: Row) -> bool:
    """Whether a row of a damaged file is one that ``AnswerCache`` may have written."""
    *texts, first, second, third, created = row
    try:
        json.loads(texts[4])
    except (TypeError, ValueError):
        return False
    tokens = all(each is None or isinstance(each, int) for each in (first, second, third))
    return tokens and isinstance(created, float) and all(isinstance(each, str) for each in texts)

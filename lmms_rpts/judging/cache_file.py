"""The cache's SQLite file: opening, schema and lock."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

FILE = "answers.sqlite"
VERSION = 1
LOCKED_FOR = 5.0
"""Seconds to wait for another process that writes."""

REPAIRED_FOR = 40.0
"""Seconds to wait for another process that replaces a damaged file."""

COLUMNS = (
    *("key", "judge", "kind", "prompt_version", "request", "reply"),
    *("input_tokens", "output_tokens", "reasoning_tokens", "created"),
)
_CREATE = """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, kind TEXT NOT NULL, prompt_version TEXT NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    reasoning_tokens INTEGER, created REAL NOT NULL)"""
# Versions that know no claims read and write the file as before, so it stays version 1.
_CREATE_CLAIMS = """CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL) WITHOUT ROWID"""


class CacheError(Exception):
    """The file of answers can't be used; the message says which and why."""


class DamagedError(CacheError):
    """The file of answers is not as lmms-rpts wrote it."""


class LockedError(CacheError):
    """Another process holds the file of answers."""


# ValueError: SQLite quotes a spoilt file in its messages, and they can't be decoded.
FAULTS = (sqlite3.Error, OSError, ValueError, OverflowError, CacheError)


def is_damage(error: Exception) -> bool:
    """Whether ``error`` says that the content of the file is damaged.

    A file that is locked or read-only, a full disk and another version are no damage. Before
    Python 3.11 the message is the only way to tell SQLITE_CORRUPT and SQLITE_NOTADB.
    """
    if isinstance(error, sqlite3.DatabaseError):
        return any(words in str(error) for words in ("malformed", "not a database"))
    return isinstance(error, DamagedError | UnicodeDecodeError)


def connect(path: Path) -> tuple[sqlite3.Connection, int]:
    """Open the file for writing, made if it isn't there; also its inode."""
    with locked(path):
        return connect_alone(path), path.stat().st_ino


def connect_alone(path: Path) -> sqlite3.Connection:
    """As ``connect``, for who holds the lock already."""
    connection = sqlite3.connect(path, timeout=LOCKED_FOR)
    try:
        _switch_to_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                raise CacheError(f"{path} was written by another version of lmms-rpts")
            connection.execute(_CREATE)
            check_columns(connection, path, version)
            connection.execute(_CREATE_CLAIMS)
            connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def check_columns(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Raise where the table of answers is another one."""
    found = tuple(row[1] for row in connection.execute("PRAGMA table_info(answers)"))
    if found == COLUMNS:
        return
    if version == VERSION:
        raise DamagedError(f"its table has the columns {', '.join(found)}")
    raise CacheError(f"{path} is a database of another program")


def connect_to_read(path: Path, fault: Exception) -> sqlite3.Connection:
    """Where nothing can be written, on a full disk say; raises ``fault`` if nothing can be read."""
    if "locked" in str(fault) or not path.is_file():
        raise fault
    # What stands in the -wal file is seen by the first way only, which a read-only place forbids.
    for way in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True)
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                connection.execute("SELECT 1 FROM answers LIMIT 1").fetchone()
                return connection
        except (sqlite3.Error, ValueError):
            pass
        connection.close()
    raise fault


@contextlib.contextmanager
def locked(path: Path, alone: bool = False) -> Iterator[None]:
    """Keep the file of this name from being replaced; ``alone``: to replace it.

    It is held while a connection is opened, and not longer: SQLite finds the -wal and -shm files
    by name, and must not find those of another file. Where there can be no lock, in a read-only
    folder say, the file can't be replaced either.

    Raises:
        OSError: if others hold it for too long; with ``alone`` also if there can be no lock.
    """
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        if alone:
            raise
        yield
        return
    try:
        _wait_for(lock, path, alone)
        yield
    finally:
        os.close(lock)


def _wait_for(lock: int, path: Path, alone: bool) -> None:
    try:
        import fcntl
    except ImportError:
        if alone:
            raise OSError("this system has no file locks") from None
        return
    until = time.monotonic() + REPAIRED_FOR
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_NB | (fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise OSError(f"{path} is locked by a process that repairs it") from None
        except OSError:  # a network file system without locks
            if alone:
                raise
            return
        time.sleep(0.01)


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait where others switch the same new file at the same time."""
    until = time.monotonic() + LOCKED_FOR
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                raise
        time.sleep(0.01)

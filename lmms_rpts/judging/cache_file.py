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
"""Seconds to wait while another process writes."""

REPAIRED_FOR = 40.0
"""Seconds to wait while another process replaces a damaged file."""

COLUMNS = (
    *("key", "judge", "kind", "prompt_version", "request", "reply"),
    *("input_tokens", "output_tokens", "reasoning_tokens", "created"),
)
_CREATE = """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, kind TEXT NOT NULL, prompt_version TEXT NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    reasoning_tokens INTEGER, created REAL NOT NULL)"""
# Versions without claims can still read and write the file, so it stays version 1.
_CREATE_CLAIMS = """CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL) WITHOUT ROWID"""


class CacheError(Exception):
    """Raised if the cache file cannot be used; the message gives the file and the reason."""


class DamagedError(CacheError):
    """The content of the cache file is damaged."""


class LockedError(CacheError):
    """Another process holds the lock of the cache file."""


# ValueError: SQLite's messages quote a damaged file and then cannot be decoded.
FAULTS = (sqlite3.Error, OSError, ValueError, OverflowError, CacheError)


def is_damage(error: Exception) -> bool:
    """Whether ``error`` means that the content of the file is damaged.

    A locked or read-only file, a full disk and another version are not damage. Before Python 3.11
    the message is the only way to recognize SQLITE_CORRUPT and SQLITE_NOTADB.
    """
    if isinstance(error, sqlite3.DatabaseError):
        return any(words in str(error) for words in ("malformed", "not a database"))
    return isinstance(error, DamagedError | UnicodeDecodeError)


def connect(path: Path) -> tuple[sqlite3.Connection, int]:
    """Open the file for writing, creating it if missing; also returns its inode."""
    with locked(path):
        return connect_alone(path), path.stat().st_ino


def connect_alone(path: Path) -> sqlite3.Connection:
    """Like ``connect``, for callers that already hold the lock."""
    # Prompts and replies are private; SQLite's further files get the mode of this one.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
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
    """Raise if the table of replies has other columns."""
    found = tuple(row[1] for row in connection.execute("PRAGMA table_info(answers)"))
    if found == COLUMNS:
        return
    if version == VERSION:
        raise DamagedError(f"its table has the columns {', '.join(found)}")
    raise CacheError(f"{path} is a database of another program")


def connect_to_read(path: Path, fault: Exception) -> sqlite3.Connection:
    """Open the file if writing fails, as on a full disk; raises ``fault`` if reading fails, too."""
    if "locked" in str(fault) or not path.is_file():
        raise fault
    # Only the first mode reads the -wal file, but it fails in a read-only folder.
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
    """Lock the path, so that the file is not replaced; ``alone``: to replace it.

    The lock is held only while a connection is opened: SQLite finds the -wal and -shm files by
    name, and must not find those of another file. If locks are impossible, as in a read-only
    folder, the file cannot be replaced either.

    Raises:
        OSError: if others hold it for too long; with ``alone`` also if locks are impossible.
    """
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
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
    """Switch to WAL mode, with retries: SQLite does not wait for processes doing the same."""
    until = time.monotonic() + LOCKED_FOR
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                raise
        time.sleep(0.01)

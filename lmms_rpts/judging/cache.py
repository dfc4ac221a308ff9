"""On-disk cache of judge replies: one SQLite file in WAL mode, on a local disk.

Several processes may use it at once. A reply is written when it arrives and survives a
``kill -9``. No error of the file ends a run: a damaged file is renamed and a new one begun, any
other error is reported once, and the run continues without the cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from pathlib import Path
from socket import gethostname
from typing import Any, TypeVar

from loguru import logger

from lmms_rpts.escaping import storable
from lmms_rpts.judging.types import JudgeRequest, Usage

T = TypeVar("T")

FILE = "answers.sqlite"
VERSION = 1
LOCKED_FOR = 5.0
"""Seconds to wait while another process writes."""

PENDING_FOR = 120.0
"""Seconds for which a question counts as being asked after a process began a call about it: the
default time limit of a call. A run on the same machine does not wait for a process that was killed:
it deletes the dead process's reservations when it opens the file."""

RESUMED_AFTER = 30.0
"""Seconds after which a file that could not be used is tried again."""

_CREATE = (
    """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, kind TEXT NOT NULL, prompt_version TEXT NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    reasoning_tokens INTEGER, created REAL NOT NULL)""",
    # Versions without this table can still use the file, so it stays version 1.
    """CREATE TABLE IF NOT EXISTS asking (key TEXT PRIMARY KEY, until REAL NOT NULL,
    host TEXT NOT NULL, process INTEGER NOT NULL) WITHOUT ROWID""",
)
_STORE = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RESERVE = """INSERT INTO asking VALUES (:key, :until, :host, :process) ON CONFLICT (key) DO UPDATE
    SET until = excluded.until, host = excluded.host, process = excluded.process
    WHERE :again OR until NOT BETWEEN :now AND :far"""
_PENDING = "SELECT 1 FROM asking WHERE key = :key AND until BETWEEN :now AND :far"
_RELEASE = "DELETE FROM asking WHERE key = ?"
_ASKING = "SELECT DISTINCT process FROM asking WHERE host = ?"
_RELEASE_ALL = "DELETE FROM asking WHERE host = ? AND process = ?"
_CHOSEN = "FROM answers WHERE :judge IS NULL OR judge = :judge"
_ENDINGS = ("-wal", "-shm", "")

_warned: set[Path] = set()
"""Files with an error that was reported: each stage of a run opens its file again."""


class CacheError(Exception):
    """Raised if the cache file cannot be used; the message gives the file and the reason."""


class DamagedError(CacheError):
    """The content of the cache file is damaged."""


class LockedError(CacheError):
    """Another process holds the lock of the cache file."""


_FAULTS = (sqlite3.Error, OSError, CacheError)


class AnswerCache:
    """The cached replies in one folder; for use by one thread.

    Reading and writing block that thread for less than a tenth of a millisecond, less than it would
    take to hand them to another thread.

    Args:
        folder: created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._writable = True
        self._unwritten: list[tuple[Any, ...]] = []
        self._resume_at = 0.0

    def find(self, key: str) -> str | None:
        """The reply stored under ``key``; None if there is none."""
        query = "SELECT reply FROM answers WHERE key = ?"
        found = self._run(lambda opened: opened.execute(query, (key,)).fetchone(), reading=True)
        return str(found[0]) if found else None

    def store(
        self, key: str, judge: str, request: JudgeRequest, reply: str, usage: Usage | None
    ) -> None:
        """Write a reply; when this returns, it is written, or held until it can be written."""
        tokens = astuple(usage) if usage else (None, None, None)
        row = (
            *(key, storable(judge), request.kind, storable(request.prompt_version)),
            *(json.dumps(list(request.messages)), storable(reply), *tokens, time.time()),
        )
        self._unwritten.append(row)
        self._write()

    def reserve(self, key: str, again: bool = False) -> bool:
        """Note that a question is being asked; False if another process is asking it.

        If the file cannot be written, every process asks. ``again``: whether this process has
        reserved it before, and makes another call.
        """
        given = {**_period(key), "again": again, "host": gethostname(), "process": os.getpid()}
        return self._run(lambda opened: _write(opened, (_RESERVE, [given]))) != 0

    def is_pending(self, key: str) -> bool:
        """Whether a process is asking this question now, as far as known."""
        given = _period(key)
        return bool(self._run(lambda opened: opened.execute(_PENDING, given).fetchone()))

    def release(self, key: str) -> None:
        """Note that this process no longer asks a question."""
        self._run(lambda opened: _write(opened, (_RELEASE, [(key,)])))

    def close(self) -> None:
        """Write the replies held in memory, if possible, and close the file."""
        self._resume_at = min(self._resume_at, time.monotonic())
        if self._unwritten:
            self._write()
        if self._unwritten:
            logger.info(
                "{:,} judge replies could not be written to {}: a later run will request them "
                "again.",
                len(self._unwritten),
                self.path,
            )
            self._unwritten = []
        self._disconnect()

    def _write(self) -> None:
        """Write the replies that arrived since the last success: locks end, disks are cleared."""
        rows = self._unwritten
        steps = (_STORE, rows), (_RELEASE, [row[:1] for row in rows])
        if self._run(lambda opened: _write(opened, *steps)) is not None:
            self._unwritten = []

    def _run(self, work: Callable[[sqlite3.Connection], T], reading: bool = False) -> T | None:
        """The result of ``work``; None if the file cannot be used now."""
        waits = time.monotonic() < self._resume_at
        if waits and not (reading and self._connection is not None):
            return None
        if self._resume_at and not waits:
            self._disconnect()  # a new connection may work, or write
            self._resume_at = 0.0
        try:
            try:
                return work(self._open(reading))
            except sqlite3.DatabaseError as error:
                if not _is_damage(error) or not self._writable:
                    raise
                self._set_aside(error)
                return work(self._open(reading))
        except _FAULTS as error:
            if reading:
                self._disconnect()  # else each further read would fail and delay the retry
            self._give_up(error)
            return None

    def _open(self, reading: bool) -> sqlite3.Connection:
        if self._connection is not None and self._writable and _inode(self.path) != self._inode:
            self._disconnect()  # another process renamed that file, or it was deleted
        if self._connection is None:
            self._writable = True
            self._inode = _inode(self.path)  # of a file that turns out to be damaged
            with contextlib.suppress(OSError):  # then the file cannot be opened, either
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection, fault = _connect(self.path, reading)
            if fault is not None:
                self._writable = False
                self._give_up(fault)
            self._inode = _inode(self.path)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection, self._writable = None, True

    def _set_aside(self, error: Exception) -> None:
        """Rename the damaged file, unless another process has done it already."""
        damaged = self._inode
        self._disconnect()
        if _inode(self.path) != damaged:
            return
        # Another process may rename its file in the same second, this one two files.
        aside = f"{self.path}.damaged-{datetime.now():%Y%m%d-%H%M%S-%f}-{os.getpid()}"
        for end in _ENDINGS:
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{self.path}{end}", f"{aside}{end}")
        logger.warning(
            "The cache of judge replies {} was damaged ({}) and was renamed to {}. A new file is "
            "used from now on: the replies in the old one will be requested again.",
            *(self.path, error, aside),
        )

    def _give_up(self, error: Exception) -> None:
        self._resume_at = time.monotonic() + RESUMED_AFTER
        if self.path not in _warned:
            _warned.add(self.path)
            logger.warning(
                "Judge replies cannot be cached in {} ({}). The run continues and retries. "
                "A later run will request the missing replies again. Fix or move that file, or "
                "set LMMS_RPTS_CACHE to another folder.",
                self.path,
                error,
            )


@dataclass(frozen=True, slots=True)
class Answer:
    """One cached reply: the judge as in LMMS_RPTS_JUDGE, the chat that was sent, the tokens of all
    calls for it if the server reported them, and when, in seconds since 1970."""

    key: str
    judge: str
    kind: str
    prompt_version: str
    messages: list[dict[str, str]]
    reply: str
    usage: Usage | None
    created: float


def read_answers(folder: Path) -> Iterator[Answer]:
    """All cached replies, oldest first; raises CacheError if they cannot be read."""
    with _opened(folder, reading=True) as connection:
        rows = connection.execute("SELECT * FROM answers ORDER BY created, key")
        for key, judge, kind, version, request, reply, *tokens, created in rows:
            usage = None if tokens[0] is None else Usage(*tokens)
            yield Answer(key, judge, kind, version, json.loads(request), reply, usage, created)


def count_answers(folder: Path, judge: str | None = None) -> int:
    """The number of replies that ``remove_answers`` would delete; raises CacheError."""
    with _opened(folder, reading=True) as connection:
        count = f"SELECT COUNT(*) {_CHOSEN}"
        found: int = connection.execute(count, {"judge": judge}).fetchone()[0]
        return found


def remove_answers(folder: Path, judge: str | None = None) -> int:
    """Delete replies, optionally only those of one judge; returns their number."""
    with _opened(folder) as connection:
        with connection:
            deleted = connection.execute(f"DELETE {_CHOSEN}", {"judge": judge}).rowcount
        connection.execute("VACUUM")
    return deleted


def delete_file(folder: Path) -> None:
    """Delete the cache file; running processes start a new one. Raises OSError."""
    for end in _ENDINGS:
        Path(f"{folder / FILE}{end}").unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(folder: Path, reading: bool = False) -> Iterator[sqlite3.Connection]:
    path = folder / FILE
    if not path.is_file():
        raise CacheError(f"No cached replies in {folder}")
    try:
        with contextlib.closing(_connect(path, reading)[0]) as connection:
            yield connection
    except (sqlite3.Error, ValueError, OSError) as error:
        if _is_damage(error):
            raise DamagedError(
                f"{path} is damaged ({error}). The next run that uses a judge renames it and "
                "begins a new file"
            ) from None
        if "locked" in str(error):
            raise LockedError(f"{path} is locked by another process: retry later") from None
        raise CacheError(f"Cannot read {path}: {error}") from None


def _period(key: str) -> dict[str, Any]:
    """A reservation from now; one that ends later than ``far`` is of a wrong clock."""
    now = time.time()
    return {"key": key, "now": now, "until": now + PENDING_FOR, "far": now + 2 * PENDING_FOR}


def _write(connection: sqlite3.Connection, *steps: tuple[str, Sequence[Any]]) -> int:
    """Execute statements with rows in a transaction; returns the number of changed rows."""
    with connection:
        return sum(connection.executemany(*step).rowcount for step in steps)


def _connect(path: Path, reading: bool) -> tuple[sqlite3.Connection, Exception | None]:
    """Open the file; where writing fails, as on a full disk, for reading, with the error."""
    try:
        return _connect_to_write(path), None
    except (OSError, sqlite3.OperationalError) as error:
        # Only the first mode reads the -wal file, but it fails in a read-only folder.
        for way in ("mode=ro", "mode=ro&immutable=1") if reading and path.is_file() else ():
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True)
            with contextlib.suppress(sqlite3.Error):
                connection.execute("SELECT reply FROM answers LIMIT 1").fetchone()
                return connection, error
            connection.close()
        raise


def _connect_to_write(path: Path) -> sqlite3.Connection:
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
            for statement in _CREATE:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for (process,) in connection.execute(_ASKING, (gethostname(),)).fetchall():
                if not _is_alive(process):
                    connection.execute(_RELEASE_ALL, (gethostname(), process))
    except BaseException:
        connection.close()
        raise
    return connection


def _is_alive(process: int) -> bool:
    """Whether a process of this machine runs; True where that is not known."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)  # sends nothing
    except (OSError, OverflowError) as error:  # also: it is of another user
        return not isinstance(error, ProcessLookupError)
    return True


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


def _is_damage(error: Exception) -> bool:
    """Whether ``error`` means that the content of the file is damaged.

    A locked or read-only file, a full disk and another version are not damage. Before Python 3.11
    the message is the only way to recognize SQLITE_CORRUPT and SQLITE_NOTADB.
    """
    damaged = any(words in str(error) for words in ("malformed", "not a database"))
    return isinstance(error, sqlite3.DatabaseError) and damaged


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None

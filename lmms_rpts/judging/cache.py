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
from collections.abc import Callable, Iterator
from dataclasses import astuple
from datetime import datetime
from pathlib import Path
from socket import gethostname
from typing import Any, TypeVar

from loguru import logger

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.status import is_alive
from lmms_rpts.judging.types import JudgeRequest, Reply, Usage

T = TypeVar("T")

FILE = "answers.sqlite"
VERSION = 1
# Seconds to wait while another process writes; 0 after a failure, until the file works again.
LOCKED_FOR = 5.0

# Seconds for which a question counts as being asked after a process began a call about it: the
# default time limit of a call. A run on the same machine does not wait for a process that was
# killed: it deletes the dead process's reservations when it opens the file.
PENDING_FOR = 120.0

_CREATE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, kind TEXT NOT NULL, prompt_version TEXT NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    reasoning_tokens INTEGER, created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS asking (key TEXT PRIMARY KEY, until REAL NOT NULL,
    host TEXT NOT NULL, process INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, key TEXT NOT NULL, body TEXT NOT NULL,
    judge TEXT NOT NULL, stage TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
    run TEXT NOT NULL, batch TEXT, tries INTEGER NOT NULL DEFAULT 0, status INTEGER, line TEXT);
CREATE INDEX IF NOT EXISTS requests_of_key ON requests (key);
CREATE INDEX IF NOT EXISTS requests_of_batch ON requests (batch);
"""
_STORE = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RESERVE = """INSERT INTO asking VALUES (:key, :until, :host, :process) ON CONFLICT (key) DO UPDATE
    SET until = excluded.until, host = excluded.host, process = excluded.process
    WHERE :again OR until < :now"""
_RELEASE = "DELETE FROM asking WHERE key = ?"
# What came by batch is not needed once its reply is cached; see ``batches.py``.
_USED = "DELETE FROM requests WHERE key = ?"
# The files of a database in WAL mode, the main one last: beside an old -wal a new one is damaged
_ENDINGS = ("-wal", "-shm", "")
# Exactly this class, for "not a database" and "malformed"; locks, disks and so on have others.
_DAMAGE = sqlite3.DatabaseError

# Files with an error that was reported: each stage of a run opens its file again.
_warned: set[Path] = set()


class CacheError(Exception):
    """Raised if the cache file cannot be used; the message gives the file and the reason."""


class DamagedError(CacheError):
    """The content of the cache file is damaged."""


class AnswerCache:
    """The cached replies in one folder; for use by one thread.

    Reading and writing block that thread for less than a tenth of a millisecond, less than it would
    take to hand them to another thread.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self.host = folder / FILE, gethostname()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._unwritten: list[tuple[Any, ...]] = []
        self._failing = False

    def find(self, key: str) -> Reply | None:
        """The reply stored under ``key``; None if there is none."""
        query = "SELECT reply, input_tokens, output_tokens, reasoning_tokens FROM answers"
        found = self._run(
            lambda file: file.execute(f"{query} WHERE key = ?", (key,)).fetchone(), writes=False
        )
        return Reply(found[0], None if None in found else Usage(*found[1:])) if found else None

    def store(
        self, key: str, judge: str, request: JudgeRequest, reply: str, usage: Usage | None
    ) -> None:
        """Write a reply; when this returns, it is written, or held until it can be written.

        Replies that arrived since the last success are written, too: locks end, disks are cleared.
        """
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
        now = time.time()
        given: dict[str, Any] = {"key": key, "now": now, "until": now + PENDING_FOR, "again": again}
        given |= {"host": self.host, "process": os.getpid()}
        return self._run(lambda file: file.execute(_RESERVE, given).rowcount) != 0

    def is_pending(self, key: str) -> bool:
        """Whether a process is asking this question now, as far as known."""
        query, given = "SELECT 1 FROM asking WHERE key = ? AND until >= ?", (key, time.time())
        found = self._run(lambda file: file.execute(query, given).fetchone(), writes=False)
        return found is not None

    def release(self, key: str) -> None:
        """Note that this process no longer asks a question."""
        self._run(lambda file: file.execute(_RELEASE, (key,)))

    def close(self) -> None:
        """Write the replies held in memory, if possible, and close the file."""
        self._write()
        self._disconnect()

    def _write(self) -> None:
        rows, self._unwritten = self._unwritten, []

        def write(file: sqlite3.Connection) -> bool:
            file.executemany(_STORE, rows)
            for statement in (_RELEASE, _USED):
                file.executemany(statement, [row[:1] for row in rows])
            return True

        if rows and not self._run(write):
            self._unwritten = rows

    def _run(self, work: Callable[[sqlite3.Connection], T], writes: bool = True) -> T | None:
        """The result of ``work``; None if the file cannot be used now."""
        try:
            try:
                done = work(self._opened())
            except sqlite3.DatabaseError as error:
                if type(error) is not _DAMAGE:
                    raise
                self._set_aside(error)
                done = work(self._opened())
        except (sqlite3.Error, OSError, CacheError) as error:
            self._set_failing(True)
            if self.path not in _warned:
                _warned.add(self.path)
                logger.warning(
                    "Judge replies cannot be cached in {} ({}). The run continues and retries. "
                    "A later run will request the missing replies again. Fix or move that file, or "
                    "set LMMS_RPTS_CACHE to another folder.",
                    *(self.path, error),
                )
            return None
        if writes:  # a file that another process locks can still be read
            self._set_failing(False)
        return done

    def _set_failing(self, failing: bool) -> None:
        """Do not wait for a lock again and again: each call would block the loop."""
        if failing != self._failing and self._connection is not None:
            wait = 0 if failing else 1000 * LOCKED_FOR
            self._connection.execute(f"PRAGMA busy_timeout = {wait:.0f}")
        self._failing = failing

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None and _inode(self.path) != self._inode:
            self._disconnect()  # another process renamed that file, or it was deleted
        if self._connection is None:
            self._inode = _inode(self.path)  # of a file that turns out to be damaged
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = _connect(self.path, 0.0 if self._failing else LOCKED_FOR)
            self._inode = _inode(self.path)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _set_aside(self, error: Exception) -> None:
        """Rename the damaged file, unless another process has done it already."""
        self._disconnect()
        if _inode(self.path) != self._inode:
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


@contextlib.contextmanager
def open_answers(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the file in ``folder``; raises CacheError, also for errors in the block."""
    path = folder / FILE
    if not path.is_file():
        raise CacheError(f"No cached replies in {folder}")
    try:
        with contextlib.closing(_connect(path, LOCKED_FOR)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection
    except (sqlite3.Error, ValueError, OSError) as error:
        if type(error) is _DAMAGE:
            raise DamagedError(
                f"{path} is damaged ({error}). The next run that uses a judge renames it and "
                "begins a new file"
            ) from None
        if "locked" in str(error):
            raise CacheError(f"{path} is locked by another process: retry later") from None
        raise CacheError(f"Cannot read {path}: {error}") from None


def delete_file(folder: Path) -> None:
    """Delete the cache file; running processes start a new one. Raises OSError."""
    for end in _ENDINGS:
        Path(f"{folder / FILE}{end}").unlink(missing_ok=True)


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    # Prompts and replies are private; SQLite's further files get the mode of this one.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        # SQLite does not wait for another process that switches the mode: then that one does it.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise CacheError(f"{path} was written by another version of lmms-rpts")
        connection.executescript(_CREATE)
        if not version:
            connection.execute(f"PRAGMA user_version = {VERSION}")
        owners = connection.execute(
            "SELECT DISTINCT host, process FROM asking WHERE host = ?", (gethostname(),)
        ).fetchall()
        dead = [owner for owner in owners if not is_alive(owner[1])]
        connection.executemany("DELETE FROM asking WHERE host = ? AND process = ?", dead)
    except BaseException:
        connection.close()
        raise
    return connection


def _inode(path: Path) -> int | None:
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path).st_ino
    return None

"""On-disk cache of judge replies (SQLite), shared by processes.

One SQLite file in WAL mode, which several processes may use at once. A reply is written when it
arrives and survives a ``kill -9``. No error of the file ends a run: a damaged file is replaced,
any other error is reported once, and the run continues without the cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from loguru import logger

from lmms_rpts.escaping import storable
from lmms_rpts.judging.cache_file import FAULTS, FILE, connect, connect_to_read, is_damage
from lmms_rpts.judging.cache_repair import Row, SetAside, set_aside
from lmms_rpts.judging.owners import is_gone, new_owner
from lmms_rpts.judging.types import JudgeRequest, Usage

T = TypeVar("T")

CLAIMED_FOR = 60.0
"""Seconds after which a claim expires unless its owner renews it."""

RESUMED_AFTER = 30.0
"""Seconds after which writing is retried."""

MOST_HELD = 10_000
"""Maximum number of replies held in memory while they cannot be written."""

_MOST = 2**63 - 1
_STORE = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# As bytes: a reply that is no longer UTF-8 is ignored, and the file is still used.
_FIND = "SELECT CAST(reply AS BLOB) FROM answers WHERE key = ?"
# A claim that expires too late is also invalid: the clock of another host may be wrong.
_CLAIM = """INSERT INTO claims VALUES (:key, :owner, :now + :long) ON CONFLICT (key) DO UPDATE
    SET owner = excluded.owner, expires = excluded.expires
    WHERE expires NOT BETWEEN :now AND :now + 2 * :long"""
_CLAIMANT = """SELECT owner FROM claims
    WHERE key = :key AND expires BETWEEN :now AND :now + 2 * :long"""
_RENEW = "UPDATE claims SET expires = ? WHERE key = ? AND owner = ?"
_RELEASE = "DELETE FROM claims WHERE key = ? AND owner = ?"
_FORGET = "DELETE FROM claims WHERE owner = ?"

_warned: set[Path] = set()
"""Files with an error that was reported: each stage of a run opens its file again."""


class AnswerCache:
    """The cached replies in one folder; for use by one thread.

    Reading and writing block that thread for less than a tenth of a millisecond, less than it would
    take to hand them to another thread.

    Args:
        folder: created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._owner = new_owner()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._reads = self._writes = True
        self._still: tuple[int, ...] | None = None
        self._unwritten: list[Row] = []
        self._resume_at = 0.0

    def find(self, key: str) -> str | None:
        """The reply stored under ``key``; None if there is none or it is unreadable."""

        def read(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(_FIND, (key,)).fetchone()
            if self._still is not None and self._still != _state(self.path):
                return None
            return row and _text(row[0])

        return self._run(read) if self._reads else None

    def store(
        self, key: str, judge: str, request: JudgeRequest, reply: str, usage: Usage | None
    ) -> None:
        """Write a reply and release its claim.

        When this returns, the reply is written, or held in memory until it can be written.
        """
        tokens = usage and (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
        row = (
            *(key, storable(judge), request.kind, storable(request.prompt_version)),
            *(json.dumps(list(request.messages)), storable(reply)),
            *(min(count, _MOST) for count in tokens or ()),
            *(() if tokens else (None, None, None)),
            time.time(),
        )

        self._resume()
        self._write(row)

    def claim(self, key: str) -> bool:
        """Claim a question; False while another owner is asking it.

        A claim ends when it expires, or at once if its owner's process has ended. If the file
        cannot be written, there are no claims, and every process asks.
        """

        def write(connection: sqlite3.Connection) -> bool:
            given = {"key": key, "owner": self._owner, "now": time.time(), "long": CLAIMED_FOR}
            with connection:
                return connection.execute(_CLAIM, given).rowcount > 0

        claimed = self._change(write)
        if claimed is False and not self.is_claimed(key):
            claimed = self._change(write)
        return claimed is not False

    def is_claimed(self, key: str) -> bool:
        """Whether an owner that is alive, as far as known, is asking this question now."""

        def read(connection: sqlite3.Connection) -> str | None:
            given = {"key": key, "now": time.time(), "long": CLAIMED_FOR}
            row = connection.execute(_CLAIMANT, given).fetchone()
            return row and str(row[0])

        owner = self._run(read) if self._writes else None
        if owner is None or not is_gone(owner):
            return owner is not None
        self._change(lambda connection: _execute(connection, _FORGET, owner))
        return False

    def renew(self, key: str) -> None:
        """Extend a claim."""
        expires = time.time() + CLAIMED_FOR
        self._change(lambda connection: _execute(connection, _RENEW, expires, key, self._owner))

    def release(self, key: str) -> None:
        """Release a claim."""
        self._change(lambda connection: _execute(connection, _RELEASE, key, self._owner))

    def close(self) -> None:
        """Write the replies held in memory, if possible, and close the file."""
        self._resume_at = 0.0
        self._resume()
        if self._unwritten:
            logger.info(
                "{:,} judge replies could not be written to {}: a later run will request them "
                "again.",
                len(self._unwritten),
                self.path,
            )
            self._unwritten = []
        self._disconnect()

    def _write(self, row: Row) -> None:
        def write(connection: sqlite3.Connection) -> bool:
            with connection:
                connection.execute(_STORE, row)
                connection.execute(_RELEASE, (row[0], self._owner))
            return True

        written = self._change(write)
        if self._writes and self._moved():
            written = self._change(write)  # another process replaced the file at that moment
        if not written and len(self._unwritten) < MOST_HELD:
            self._unwritten.append(row)

    def _resume(self) -> None:
        """Retry failed writes, since locks end and full disks are cleared."""
        if not self._unwritten or time.monotonic() < self._resume_at:
            return
        self._disconnect()
        self._reads = self._writes = True
        self._still = None
        waiting, self._unwritten = self._unwritten, []
        for row in waiting:
            self._write(row)

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _change(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        return self._run(work, reading=False) if self._writes else None

    def _run(self, work: Callable[[sqlite3.Connection], T], reading: bool = True) -> T | None:
        """The result of ``work``; None if the file cannot be used, even after a repair."""
        try:
            try:
                return work(self._open())
            except FAULTS as error:
                if not self._is_repaired(error):
                    raise
                return work(self._open())
        except FAULTS as error:
            self._give_up(error, reading)
            return None

    def _open(self) -> sqlite3.Connection:
        if self._writes and self._connection is not None and self._moved():
            self._disconnect()  # another process renamed that file, or it was deleted
        if self._still is not None and self._still != _state(self.path):
            self._disconnect()  # the file changed: SQLite's pages in memory are out of date
        if self._connection is None:
            try:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._connection, self._inode = connect(self.path)
            except (OSError, sqlite3.OperationalError) as error:
                if self.path.is_file():
                    self._still = _state(self.path)
                self._connection = connect_to_read(self.path, error)
                self._give_up(error, reading=False)
        return self._connection

    def _moved(self) -> bool:
        """Whether the open file is no longer the one at its path."""
        try:
            return os.stat(self.path).st_ino != self._inode
        except FileNotFoundError:
            return True

    def _is_repaired(self, error: Exception) -> bool:
        """Whether to retry, because a damaged file was replaced."""
        if not self._writes or not is_damage(error):
            return False
        inode = self._inode if self._connection is not None else None
        self._disconnect()
        try:
            done = set_aside(self.path, inode)
        except (OSError, sqlite3.Error):
            return False
        if done is not None:
            _tell(self.path, error, done)
        return True

    def _give_up(self, error: Exception, reading: bool) -> None:
        first = self._reads and self._writes and self.path not in _warned
        _warned.add(self.path)
        self._writes = False
        self._resume_at = time.monotonic() + RESUMED_AFTER
        # A full disk can still be read.
        self._reads = self._reads and not reading and self._connection is not None
        if first:
            logger.warning(
                "Judge replies cannot be cached in {} ({}). The run continues and retries. "
                "A later run will request the missing replies again. Fix or move that file, or "
                "set LMMS_RPTS_CACHE to another folder.",
                self.path,
                error,
            )


def _tell(path: Path, error: Exception, done: SetAside) -> None:
    logger.warning(
        "The cache of judge replies {} was damaged ({}) and was renamed to {}. {:,} replies that "
        "could still be read were copied to a new file, which is used from now on{}; the others "
        "will be requested again. Delete the damaged file if you do not want to examine it.",
        *(path, error, done.path, done.copied),
        "" if done.complete else " (copying stopped early: more may be readable)",
    )


def _execute(connection: sqlite3.Connection, statement: str, *values: object) -> None:
    with connection:
        connection.execute(statement, values)


def _text(reply: object) -> str | None:
    try:
        return reply.decode() if isinstance(reply, bytes) else None
    except UnicodeDecodeError:
        return None


def _state(path: Path) -> tuple[int, ...]:
    """Identity and state of the file: a file opened as immutable must not change."""
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns

"""On-disk cache of judge replies: one SQLite file in WAL mode, on a local disk.

Several processes may use it at once. A reply is written when it arrives and survives a
``kill -9``. An error of the file ends no run: what could not be written is tried again later.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.judging.types import Reply, Usage

FILE = "answers.sqlite"
LOCKED_FOR = 5.0  # seconds to wait while another process writes
_CREATE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, kind TEXT NOT NULL, reply TEXT NOT NULL,
    complete INTEGER NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    created REAL NOT NULL)"""
_FIND = "SELECT * FROM replies WHERE key = ?"
_STORE = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_UNWRITTEN = (
    "Judge replies cannot be cached in {} ({}). The run continues and retries; a later run will "
    "request the missing ones again: {}."
)
_REMEDY = "move that file, or set LMMS_RPTS_CACHE to another folder"


class AnswerCache:
    """The cached replies in one folder; raises UserError if its file cannot be opened.

    Reading and writing block for less time than handing them to another thread would take.
    ``folder``: None: a temporary file, which equal requests of this process share.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / FILE if folder else None
        self._unwritten: dict[str, tuple[Any, ...]] = {}
        self._warned = False
        try:
            if self.path is not None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # Prompts and replies are private; SQLite's further files get the same mode.
                self.path.touch(mode=0o600)
            self._file = sqlite3.connect(
                self.path or "", timeout=LOCKED_FOR, isolation_level=None, check_same_thread=False
            )
            # SQLite does not wait for another process that switches the mode: that one does it.
            with suppress(sqlite3.OperationalError):
                self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(_CREATE)
            self._file.execute(_FIND, ("",))
        except (sqlite3.Error, OSError) as error:
            raise UserError(f"{self.path} cannot be used ({error}): {_REMEDY}") from None

    def find(self, key: str) -> Reply | None:
        """The reply stored under ``key``; None if there is none."""
        row = self._unwritten.get(key) or self._run(_FIND, [(key,)])
        if row is None:
            return None
        text, complete, *tokens = row[3:7]
        return Reply(text, None if None in tokens else Usage(*tokens), bool(complete))

    def store(self, key: str, judge: str, kind: str, reply: Reply) -> None:
        """Write a reply; when this returns, it is written, or held until it can be written.

        Characters of its text that no file can hold are replaced: a later run reads the same.
        """
        reply.text = storable(reply.text)
        tokens = astuple(reply.usage) if reply.usage else (None, None)
        row = (key, storable(judge), kind, reply.text, reply.complete, *tokens, time.time())
        self._unwritten[key] = row
        self._run(_STORE, [*self._unwritten.values()])

    def close(self) -> None:
        """Write the replies held in memory, if possible, and close the file."""
        self._run(_STORE, [*self._unwritten.values()])
        self._file.close()

    def _run(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> Any:
        try:
            if sql == _FIND:
                return self._file.execute(sql, *rows).fetchone()
            if rows:
                self._file.execute("BEGIN IMMEDIATE")
                with self._file:
                    self._file.executemany(sql, rows)
                self._unwritten = {}
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):  # each further wait would block the loop
                self._file.execute("PRAGMA busy_timeout = 0")
            if not self._warned:
                self._warned = True
                logger.warning(_UNWRITTEN, self.path, error, _REMEDY)
        return None


def open_cache(folder: Path | None) -> AnswerCache:
    """The cache in ``folder``; a temporary one, with a warning, if its file cannot be used."""
    try:
        return AnswerCache(folder)
    except UserError as error:
        logger.warning("{}. The run continues without a cache of judge replies.", error)
        return AnswerCache(None)

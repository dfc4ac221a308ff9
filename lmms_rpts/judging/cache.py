"""On-disk cache of judge replies: one SQLite file in WAL mode, on a local disk.

Several processes may use it at once. A reply is written when it arrives and survives a
``kill -9``. An error of the file ends no run: it is reported once, and what could not be written is
tried again with the next reply.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from dataclasses import astuple
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import storable
from lmms_rpts.judging.types import JudgeRequest, Reply, Usage

FILE = "answers.sqlite"
# Seconds to wait while another process writes; 0 after a failure: each call would block the loop.
LOCKED_FOR = 5.0

_CREATE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, kind TEXT NOT NULL, prompt_version TEXT NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    reasoning_tokens INTEGER, created REAL NOT NULL)"""
# Replies that were cut off, which only batches store, have keys with an ending.
_FIND = """SELECT key, reply, input_tokens, output_tokens, reasoning_tokens FROM answers
    WHERE key IN (?1, ?1 || '.cut') ORDER BY key"""
_STORE = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REMEDY = "move that file, or set LMMS_RPTS_CACHE to another folder"

# Files with an error that was reported: each stage of a run opens its file again.
_warned: set[Path] = set()


class CacheError(Exception):
    """Raised if the cache file cannot be used; the message gives the file and the reason."""


class AnswerCache:
    """The cached replies in one folder; raises CacheError if its file cannot be opened.

    Reading and writing block for less than a tenth of a millisecond, less than it would take to
    hand them to another thread.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._unwritten: list[tuple[Any, ...]] = []
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Prompts and replies are private; SQLite's further files get the mode of this one.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._file = sqlite3.connect(
                self.path, timeout=LOCKED_FOR, isolation_level=None, check_same_thread=False
            )
            # SQLite does not wait for another process that switches the mode: that one does it.
            with contextlib.suppress(sqlite3.OperationalError):
                self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(_CREATE)
        except (sqlite3.Error, OSError) as error:
            raise CacheError(f"{self.path} cannot be used ({error}): {_REMEDY}") from None

    def count(self) -> int:
        """The number of replies."""
        try:
            return int(self._file.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
        except sqlite3.Error as error:
            raise CacheError(f"{self.path} cannot be read ({error}): {_REMEDY}") from None

    def find(self, key: str) -> Reply | None:
        """The reply stored under ``key``; None if there is none."""
        try:
            row = self._file.execute(_FIND, (key,)).fetchone()
        except sqlite3.Error as error:
            self._warn(error)
            return None
        if row is None:
            return None
        return Reply(row[1], None if None in row else Usage(*row[2:]), row[0] == key)

    def store(
        self,
        key: str,
        judge: str,
        request: JudgeRequest,
        reply: str,
        usage: Usage | None,
        complete: bool = True,
    ) -> None:
        """Write a reply; when this returns, it is written, or held until it can be written."""
        tokens = astuple(usage) if usage else (None, None, None)
        row = (
            *(key + ".cut" * (not complete), storable(judge)),
            *(request.kind, storable(request.prompt_version)),
            *(json.dumps(list(request.messages)), storable(reply), *tokens, time.time()),
        )
        self._unwritten.append(row)
        self._write()

    def close(self) -> None:
        """Write the replies held in memory, if possible, and close the file."""
        self._write()
        self._file.close()

    def _write(self) -> None:
        if not self._unwritten:
            return
        try:
            self._file.execute("BEGIN IMMEDIATE")
            with self._file:
                self._file.executemany(_STORE, self._unwritten)
            self._unwritten = []
        except sqlite3.Error as error:
            self._warn(error)

    def _warn(self, error: sqlite3.Error) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._file.execute("PRAGMA busy_timeout = 0")
        if self.path not in _warned:
            _warned.add(self.path)
            logger.warning(
                "Judge replies cannot be cached in {} ({}). The run continues and retries. A later "
                "run will request the missing replies again: {}.",
                *(self.path, error, _REMEDY),
            )


def open_cache(folder: Path) -> AnswerCache | None:
    """The cache in ``folder``; None, with a warning, if its file cannot be used."""
    try:
        return AnswerCache(folder)
    except CacheError as error:
        if folder / FILE not in _warned:
            _warned.add(folder / FILE)
            logger.warning("{}. The run continues without a cache of judge replies.", error)
        return None

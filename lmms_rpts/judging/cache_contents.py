"""Reading, counting and clearing the cache of judge replies."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lmms_rpts.judging.cache_file import (
    FILE,
    CacheError,
    DamagedError,
    LockedError,
    connect,
    connect_to_read,
    is_damage,
    locked,
)
from lmms_rpts.judging.types import Usage

_CHOSEN = """FROM answers
    WHERE (:judge IS NULL OR judge = :judge) AND (:before IS NULL OR created < :before)"""
_DELETE, _COUNT = f"DELETE {_CHOSEN}", f"SELECT COUNT(*) {_CHOSEN}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One cached reply.

    Attributes:
        key: SHA-256 of everything that the reply depends on.
        judge: the judge, as in LMMS_RPTS_JUDGE.
        kind: kind of the request.
        prompt_version: version of the prompt.
        messages: the chat that was sent.
        reply: the complete reply.
        usage: tokens of all calls for this reply; None if the server did not report them.
        created: seconds since 1970.
    """

    key: str
    judge: str
    kind: str
    prompt_version: str
    messages: list[dict[str, str]]
    reply: str
    usage: Usage | None
    created: float


def read_answers(folder: Path) -> Iterator[Answer]:
    """All cached replies, oldest first.

    Raises:
        CacheError: if there is no cache file, or it cannot be read.
    """
    with _reading(folder, only=True) as connection:
        rows = connection.execute("SELECT * FROM answers ORDER BY created, key")
        for key, judge, kind, version, request, reply, *tokens, created in rows:
            usage = None if tokens[0] is None else Usage(*tokens)
            messages = json.loads(request)
            yield Answer(key, judge, kind, version, messages, reply, usage, created)


def count_answers(folder: Path, judge: str | None = None, before: float | None = None) -> int:
    """The number of replies that ``remove_answers`` would delete.

    Raises:
        CacheError: if there is no cache file, or it cannot be read.
    """
    with _reading(folder, only=True) as connection:
        found: int = connection.execute(_COUNT, {"judge": judge, "before": before}).fetchone()[0]
        return found


def remove_answers(folder: Path, judge: str | None = None, before: float | None = None) -> int:
    """Delete replies, optionally only those of one judge or before a time.

    Returns:
        The number of deleted replies.

    Raises:
        CacheError: if there is no cache file, or it cannot be written.
    """
    with _reading(folder) as connection:
        with connection:
            deleted = connection.execute(_DELETE, {"judge": judge, "before": before}).rowcount
        connection.execute("VACUUM")
    return deleted


def delete_file(folder: Path) -> None:
    """Delete the cache file and the files that belong to it; running processes start a new one.

    Raises:
        OSError: if it cannot be deleted.
    """
    path = folder / FILE
    with locked(path, alone=True):
        for end in ("-wal", "-shm", ""):
            Path(f"{path}{end}").unlink(missing_ok=True)


@contextlib.contextmanager
def _reading(folder: Path, only: bool = False) -> Iterator[sqlite3.Connection]:
    path = folder / FILE
    if not path.is_file():
        raise CacheError(f"No cached replies in {folder}")
    try:
        try:
            connection, _ = connect(path)
        except (OSError, sqlite3.OperationalError) as error:
            if not only:
                raise
            connection = connect_to_read(path, error)
        with contextlib.closing(connection):
            yield connection
    except (sqlite3.Error, ValueError, OSError, DamagedError) as error:
        if is_damage(error):
            raise DamagedError(
                f"{path} is damaged ({error}). The next run that uses a judge renames it, copies "
                "the replies that can still be read to a new file and uses that one"
            ) from None
        if "locked" in str(error):
            raise LockedError(f"{path} is locked by another process: retry later") from None
        raise CacheError(f"Cannot read {path}: {error}") from None

"""Reading, counting and clearing the cache of judges' answers."""

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

_CHOSEN = "FROM answers WHERE (?1 IS NULL OR judge = ?1) AND (?2 IS NULL OR created < ?2)"
_DELETE, _COUNT = f"DELETE {_CHOSEN}", f"SELECT COUNT(*) {_CHOSEN}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored answer.

    Attributes:
        key: SHA-256 of all that the answer depends on.
        judge: who gave it, as in LMMS_RPTS_JUDGE.
        kind: of the request.
        prompt_version: of the prompt.
        messages: the chat that was sent.
        reply: what the judge said, whole.
        usage: tokens of all calls for it; None if the server didn't count.
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
    """All stored answers, oldest first.

    Raises:
        CacheError: if there is no file of answers, or it can't be read.
    """
    with _reading(folder, only=True) as connection:
        rows = connection.execute("SELECT * FROM answers ORDER BY created, key")
        for key, judge, kind, version, request, reply, *tokens, created in rows:
            usage = None if tokens[0] is None else Usage(*tokens)
            messages = json.loads(request)
            yield Answer(key, judge, kind, version, messages, reply, usage, created)


def count_answers(folder: Path, judge: str | None = None, before: float | None = None) -> int:
    """How many answers ``remove_answers`` would delete.

    Raises:
        CacheError: if there is no file of answers, or it can't be read.
    """
    with _reading(folder, only=True) as connection:
        found: int = connection.execute(_COUNT, (judge, before)).fetchone()[0]
        return found


def remove_answers(folder: Path, judge: str | None = None, before: float | None = None) -> int:
    """Delete answers, of one judge or older than a time only; how many they were.

    Raises:
        CacheError: if there is no file of answers, or it can't be written.
    """
    with _reading(folder) as connection:
        with connection:
            deleted = connection.execute(_DELETE, (judge, before)).rowcount
        connection.execute("VACUUM")
    return deleted


def delete_file(folder: Path) -> None:
    """Delete the file of answers with all that belongs to it; runs that use it begin a new one.

    Raises:
        OSError: if it can't be deleted.
    """
    path = folder / FILE
    with locked(path, alone=True):
        for end in ("-wal", "-shm", ""):
            Path(f"{path}{end}").unlink(missing_ok=True)


@contextlib.contextmanager
def _reading(folder: Path, only: bool = False) -> Iterator[sqlite3.Connection]:
    path = folder / FILE
    if not path.is_file():
        raise CacheError(f"no cached replies in {folder}")
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
                f"{path} is damaged ({error}). The next run that asks a judge renames it, copies "
                "the answers that can still be read to a new file and uses that one."
            ) from None
        if "locked" in str(error):
            raise LockedError(f"{path} is locked by another process: try again later") from None
        raise CacheError(f"{path} can't be read: {error}") from None

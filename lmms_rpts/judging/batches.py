"""Requests that wait for a batch: their state on disk, their files, and their results.

One format serves the OpenAI Batch API, ``vllm run-batch`` and other executors: lines of
``{"custom_id", "method", "url", "body"}``, and results in any order as lines of
``{"custom_id", "response": {"status_code", "body"}, "error"}``. As of November 2026 (the types of
openai 3.57; vllm/entrypoints/openai/run_batch.py), an expired request of OpenAI has no response but
an error with a code, a failed one of vLLM a status, no body, and any error.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import storable
from lmms_rpts.judging.backends.server import Answer, message_of
from lmms_rpts.judging.budget import expected_output, guess_input_tokens
from lmms_rpts.judging.cache import AnswerCache, CacheError, T
from lmms_rpts.judging.types import JudgeRequest

# Most bytes of a file, as of the OpenAI Batch API.
MOST_BYTES = 200_000_000

# Statuses of a result that may be another one the next time; the status 0 is no answer at all.
_PASSING = frozenset({0, 408, 409, 425, 429, *range(500, 600)})

# An id may have 64 characters (Together): a cache key, or this many of it and a digest.
_STEM = 47

_LINE = b'{"custom_id": "%s", "method": "POST", "url": "/v1/chat/completions", "body": %s}\n'
_ID = re.compile(rb'\{"custom_id": "([0-9a-f.]{64})", "method"')
# It is sent three times at most, if its batches expire or the server fails.
_OPEN = "status IS NULL AND tries < 3"
_WITHIN = "batch BETWEEN ?1 AND ?1 || 'g'"  # tokens have the digits 0 to f


class BatchStore(AnswerCache):
    """Requests by batch, in the file of the cache: by cache key and body, each with an id.

    The id is the cache key; other forms of the same question have ids of their own. ``run`` names
    the last run that made a request, ``batch`` its batch at a server: our token, and the server's
    name once it is known. Other than in a cache, errors are raised: without state, nothing must be
    sent.
    """

    def note(
        self, request: JudgeRequest, content: bytes, judge: str, run: str
    ) -> tuple[str, bool, str]:
        """The id of a request, whether it is new to this run, and our token of its batch."""
        key, body = asked_as(request, content)
        of_key = self._all("SELECT body, id, run, batch FROM requests WHERE key = ?", key)
        for other, name, before, batch in of_key:
            if other == body:
                self._change("UPDATE requests SET run = ? WHERE id = ?", [(run, name)])
                return name, run != before, (batch or "").partition(" ")[0]
        name = f"{key[:_STEM]}.{body[:16]}" if of_key else key
        tokens = guess_input_tokens(request), expected_output(request)
        row = (name, key, body, judge, request.stage, *tokens, run)
        columns = "id, key, body, judge, stage, input, output, run"
        statement = f"INSERT INTO requests ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
        self._change(statement, [row])
        return name, True, ""

    def replies(self, judge: str) -> dict[tuple[str, str], str]:
        """The ids of the requests to a judge that have a reply, by key and digest of the body."""
        query = "SELECT key, body, id FROM requests WHERE judge = ? AND status < 300"
        return {(key, body): name for key, body, name in self._all(query, judge)}

    def answer(self, name: str) -> Answer | None:
        """The answer to a request; an error if it was sent too often; None: it is open."""
        query = f"SELECT status, line FROM requests WHERE id = ? AND NOT ({_OPEN})"  # noqa: S608
        for status, line in self._all(query, name):
            # 424: an error that may pass would be repeated.
            return Answer(status or 424, json.dumps(_response(json.loads(line))[1]).encode())
        return None

    def open_requests(self, run: str) -> list[tuple[str, int, int, int]]:
        """Open requests of a run: stage, number, tokens in and out."""
        query = (
            "SELECT stage, COUNT(*), SUM(input), SUM(output) FROM requests "  # noqa: S608
            f"WHERE run = ? AND {_OPEN} GROUP BY stage ORDER BY MIN(rowid)"
        )
        return self._all(query, run)

    def forget(self, run: str) -> None:
        """Delete the results that a run used: what was refused is requested again by the next."""
        statement = f"DELETE FROM requests WHERE run = ? AND NOT ({_OPEN})"  # noqa: S608
        self._change(statement, [(run,)])

    def members(self, token: str) -> list[tuple[str, str]]:
        """The id and the batch of each request in a batch, or in all whose tokens begin so."""
        return self._all(f"SELECT id, batch FROM requests WHERE {_WITHIN}", token)  # noqa: S608

    def begin(self, names: Iterable[str], batch: str) -> None:
        """Note that requests are in a batch."""
        rows = [(batch, name) for name in names]
        self._change("UPDATE requests SET batch = ? WHERE id = ?", rows)

    def end(self, token: str) -> None:
        """Note the end of a batch; its requests without an answer are open."""
        self._change(f"UPDATE requests SET batch = NULL WHERE {_WITHIN}", [(token,)])  # noqa: S608

    def take(self, lines: Iterable[bytes]) -> Counter[str]:
        """Store the lines of a file of results; returns their number by outcome.

        ``answered``; ``refused: ERROR`` (for good); ``failed: ERROR`` (may pass, or expired);
        ``known`` (a second line, or one that was taken before); ``unknown`` (no such request);
        ``damaged``; ``request`` (no result). Besides, ``model: NAME``: answered by another model.
        """
        counts: Counter[str] = Counter()

        def store(file: sqlite3.Connection) -> bool:
            for line in filter(None, map(bytes.strip, lines)):
                counts.update(_taken(file, line.decode("utf-8", "replace")))
            return True

        self._strictly(store)
        return counts

    def _all(self, query: str, *values: str) -> list[Any]:
        return self._strictly(lambda file: file.execute(query, values).fetchall())

    def _change(self, statement: str, rows: Sequence[Any]) -> None:
        self._strictly(lambda file: file.executemany(statement, rows))

    def _strictly(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def transaction(file: sqlite3.Connection) -> T:
            with file:  # on disk when it ends
                file.execute("BEGIN IMMEDIATE")
                return work(file)

        done = self._run(transaction)
        if done is None:
            raise CacheError(f"the state of batches cannot be kept in {self.path}")
        return done


def _taken(file: sqlite3.Connection, text: str) -> list[str]:
    """The outcomes of one line of results, after it was stored."""
    try:
        said = json.loads(text)
        name = storable(str(said["custom_id"]))
        is_result = "response" in said or "error" in said
    except (ValueError, RecursionError, TypeError, LookupError):
        return ["damaged"]
    if not is_result:
        return ["request" if "body" in said else "damaged"]
    query = "SELECT judge, status, line FROM requests WHERE id = ?"
    judge, known, before = file.execute(query, (name,)).fetchone() or (None, None, None)
    if judge is None:  # it is deleted once its reply is cached
        query = "SELECT 1 FROM answers WHERE key BETWEEN ?1 AND ?1 || 'g'"
        used = len(name) > _STEM and file.execute(query, (name[:_STEM],)).fetchone()
        return ["known" if used else "unknown"]
    if known is not None or before == text:
        return ["known"]
    status, body = _response(said)
    passing = status in _PASSING
    change = "UPDATE requests SET tries = tries + ?, status = ?, line = ? WHERE id = ?"
    file.execute(change, (passing, None if passing else status, text, name))
    if status >= 400 or passing:
        reason = message_of(body.get("error", body))[:200]
        return [f"{'failed' if passing else 'refused'}: {reason}"]
    model, asked = str(body.get("model", "")), judge.partition(":")[2]
    # "gpt-4o" is "gpt-4o-2024-08-06" in its replies.
    other = asked not in model and model not in asked
    return ["answered", *[f"model: {model[:100]}"] * other]


def _response(said: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    """The status and the body of a result; 0: there was no answer."""
    response, error = said.get("response"), said.get("error")
    response = response if isinstance(response, Mapping) else {}
    body, status = response.get("body"), response.get("status_code", 200 if response else 0)
    if not isinstance(body, Mapping):
        body = error if isinstance(error, Mapping) and "error" in error else {"error": error}
        status = status if status != 200 else 0
    return (status if isinstance(status, int) and 0 <= status < 600 else 0), body


def asked_as(request: JudgeRequest, content: bytes) -> tuple[str, str]:
    """What identifies a request here: its key in the cache, and the digest of its body."""
    return request.cached_as, hashlib.sha256(content).hexdigest()


def append(path: Path, name: str, content: bytes) -> None:
    """Add a request to a file without limits."""
    with path.open("ab") as out:
        out.write(_LINE % (name.encode(), content))


def split(source: Path, first: Path, most: int) -> dict[Path, list[str]]:
    """Divide a file into ``first``, ``first-2``, ... within the limits; returns the ids in each."""
    files: dict[Path, list[str]] = {}
    path, size = first, 0
    with source.open("rb") as lines:
        for line in lines:
            if files and (len(files[path]) >= most or size + len(line) > MOST_BYTES):
                path, size = first.with_stem(f"{first.stem}-{len(files) + 1}"), 0
            with path.open("ab" if path in files else "wb") as out:
                out.write(line)
            size += len(line)
            files.setdefault(path, []).append(_ID.findall(line)[0].decode())
    return files


def is_requests(path: Path) -> bool:
    """Whether a file begins with a request."""
    with path.open("rb") as lines:
        return _ID.match(lines.readline(200)) is not None

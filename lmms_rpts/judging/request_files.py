"""Requests and results of batch APIs and ``vllm run-batch``, in the layout of OpenAI's Batch API.

The custom id of a request is the key of its reply in the cache, so nothing else is stored.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import shorten
from lmms_rpts.judging.backends.openai import message_of, read_completion
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.types import NotAskedError, Reply, Request

START = b'{"custom_id": "'
_ID = len(START) + 64  # bytes up to the end of the key
_LINE = START + b'%s", "method": "POST", "url": "/v1/chat/completions", "body": %s}\n'


class RequestWriter:
    """Writes each request into a file, and does not ask; its identity is that of the judge."""

    def __init__(self, name: str, judge: Any, path: Path) -> None:
        self.identity, self._name, self._judge, self._path = judge.identity, name, judge, path
        with path.open("rb") as lines:
            self._written = {line[:_ID] for line in lines}

    async def ask(self, request: Request) -> Reply:
        key = request.key({"judge": self._name, **self.identity})
        # An earlier reply may have been cut off in its thinking.
        body = await self._judge.body(request, {}, thinks=request.attempt > 0)
        line = _LINE % (key.encode(), json.dumps(body).encode())
        if line[:_ID] not in self._written:
            self._written.add(line[:_ID])
            with self._path.open("ab") as file:
                file.write(line)
        raise NotAskedError("requests are in a file, and have no reply yet")


def take_results(path: Path, folder: Path, judge: str) -> Counter[str]:
    """Store the replies in a file of results in the cache; the number of each outcome.

    ``replies``; ``known``: stored before; ``no results``; or ``failed: REASON``, to be asked again.
    """
    with closing(AnswerCache(folder)) as cache, path.open("rb") as lines:
        return Counter(_take(line, cache, judge) for line in lines if line.strip())


def _take(line: bytes, cache: AnswerCache, judge: str) -> str:
    key = None
    try:
        result = json.loads(line)
        key = "body" not in result and re.fullmatch("[0-9a-f]{64}", result["custom_id"])
        if not key:
            return "no results"
        if (known := cache.find(key[0])) and known.complete:
            return "known"
        response, error = result["response"], result.get("error")
        if error or response.get("status_code", 200) != 200:
            raise ValueError(message_of(error or response["body"]))
        reply, _ = read_completion(json.dumps(response["body"]).encode())
    except Exception as failure:  # a result without a reply, of any form
        return f"failed: {shorten(str(failure), 200)}" if key else "no results"
    cache.store(key[0], judge, "batch", reply)
    return "replies"

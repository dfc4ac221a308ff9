"""Requests and results of batch APIs and ``vllm run-batch``, in the layout of OpenAI's Batch API.

The custom id of a request is the key of its reply in the cache, so nothing else is stored.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.masking import mask_images
from lmms_rpts.judging.backends.openai import OpenAIJudge, read_completion
from lmms_rpts.judging.backends.server import message_of
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.client import cache_key
from lmms_rpts.judging.types import JudgeRequest, NotAskedError, Reply

START = b'{"custom_id": "'
_LINE = START + b'%s", "method": "POST", "url": "/v1/chat/completions", "body": %s}\n'


class RequestWriter:
    """Writes each request into a file, and does not ask; its identity is that of the judge."""

    def __init__(self, name: str, judge: OpenAIJudge, path: Path) -> None:
        self.identity = judge.identity
        self._name, self._judge, self._path = name, judge, path
        self.waiting: str | None = None  # why replies are missing
        with path.open("rb") as lines:
            self._written = {line[: len(START) + 64] for line in lines}

    async def ask(self, request: JudgeRequest) -> Reply:
        key = cache_key({"judge": self._name, **self.identity}, request)
        line = _LINE % (key.encode(), await asyncio.to_thread(self._judge.body, request))
        if line[: len(START) + 64] not in self._written:
            self._written.add(line[: len(START) + 64])
            with self._path.open("ab") as file:
                file.write(line)
        self.waiting = "requests are in a file, and have no reply yet"
        raise NotAskedError(self.waiting)


def take_result(line: bytes, cache: AnswerCache, judge: str) -> str:
    """Store the reply in a line of results; returns what it is.

    ``replies``; ``known``: stored before; ``no results``; or ``failed: REASON``, to be asked again.
    """
    try:
        result = json.loads(line)
        key, response, error = result["custom_id"], result.get("response"), result.get("error")
        if "body" in result or not re.fullmatch("[0-9a-f]{64}", key):
            return "no results"
    except (ValueError, RecursionError, TypeError, LookupError, AttributeError):
        return "no results"
    try:
        if (known := cache.find(key)) and known.complete:
            return "known"
        body = response["body"]
        if not isinstance(body, dict):
            return f"failed: {shorten(message_of(error or body), 200)}"
        if error or response.get("status_code", 200) != 200:
            return f"failed: {shorten(message_of(error or body.get('error', body)), 200)}"
        reply, _, _ = read_completion(json.dumps(body).encode())
    except Exception as failure:  # a result without a reply, of any form
        return f"failed: {shorten(message_of(error or failure), 200)}"
    text, request = mask_images(reply.text), JudgeRequest("batch", ())
    cache.store(key, judge, request, text, reply.usage, reply.complete)
    return "replies"

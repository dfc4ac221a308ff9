"""Small requests and dialogues for judging tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging import JudgeRequest, Reply, Verdict
from lmms_rpts.judging.backends.openai import OpenAIJudge
from tests.support.judge_server import Answer, Body, ServerReply
from tests.support.waiting import LONGEST

REMINDER = "One line only, please."

Said = str | Reply | Exception


def openai_judge(
    url: str, key: str = "sk-x", timeout: float = LONGEST, headers: Mapping[str, str] | None = None
) -> OpenAIJudge:
    """A judge on a server, with the model ``m``; its time limit may be shorter than a user's."""
    given = {"openai_url": url, "openai_key": key, "timeout": timeout}
    return OpenAIJudge(
        "m", Settings().model_copy(update={**given, "openai_headers": headers or {}})
    )


def question(text: str, **options: Any) -> JudgeRequest:
    """A request to score ``text``."""
    message = {"role": "user", "content": text}
    return JudgeRequest(options.pop("kind", "image"), [message], reminder=REMINDER, **options)


def questions(count: int) -> list[JudgeRequest]:
    """``count`` different requests."""
    return [question(f"question {number}") for number in range(count)]


class ScriptedJudge:
    """A judge that replies with what ``answer`` returns, or raises it, and counts calls.

    Args:
        answer: called with the text of the first message and the number of the call from 0.
        pause: seconds per answer.
    """

    def __init__(self, answer: Callable[[str, int], Said], pause: float = 0.0) -> None:
        self.answer = answer
        self.pause = pause
        self.asked: list[JudgeRequest] = []
        self.active = self.most_at_once = self.closed = 0

    async def ask(self, request: JudgeRequest) -> Reply:
        call = len(self.asked)
        self.asked.append(request)
        self.active += 1
        self.most_at_once = max(self.most_at_once, self.active)
        try:
            await self.wait(call)
            said = self.answer(request.messages[0]["content"], call)
        finally:
            self.active -= 1
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else Reply(said)

    async def wait(self, call: int) -> None:
        await asyncio.sleep(self.pause)

    async def aclose(self) -> None:
        self.closed += 1

    @property
    def texts(self) -> list[str]:
        """The texts of all requests, in order."""
        return [request.messages[0]["content"] for request in self.asked]


class Gathering(ScriptedJudge):
    """A judge that answers only once ``count`` calls have been in progress at one time.

    Args:
        answer: as for ``ScriptedJudge``.
        count: number of calls.
        alone: number of the first calls, which are answered at once.
    """

    def __init__(self, answer: Callable[[str, int], Said], count: int, alone: int = 0) -> None:
        super().__init__(answer)
        self.count, self.alone = count, alone
        self.gathered = asyncio.Event()

    async def wait(self, call: int) -> None:
        if self.active == self.count:
            self.gathered.set()
        if call >= self.alone:
            await asyncio.wait_for(self.gathered.wait(), LONGEST)


def in_order(*said: Said) -> Callable[[str, int], Said]:
    """Returns the replies one after another, and repeats the last one."""
    return lambda text, call: said[min(call, len(said) - 1)]


def in_turn(*replies: str | ServerReply) -> Answer:
    """For a server: returns ``replies`` one after another, and repeats the last one."""
    waiting, lock = list(replies), threading.Lock()

    def answer(body: Body) -> str | ServerReply:
        with lock:
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return answer


class Held:
    """For a server: an answer that is held back while the ``with`` block lasts.

    Attributes:
        answered: number of answers given; 0 inside the block, unless a caller waits for minutes.
    """

    def __init__(self, said: str | ServerReply) -> None:
        self.said, self.answered = said, 0
        self._over = threading.Event()

    def __call__(self, body: Body) -> str | ServerReply:
        self._over.wait(LONGEST)
        self.answered += 1
        return self.said

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()


class AfterAllTasks(threading.Thread):
    """A thread, started by a task, that begins once all tasks that are ready have run.

    In a local judge it finds all requests that were made together, however slow the machine.
    """

    def start(self) -> None:
        asyncio.get_running_loop().call_soon(super().start)


def values(verdicts: Sequence[Verdict]) -> list[float | str | None]:
    """The values of ``verdicts``; checks that each has a value or an error, never both."""
    for verdict in verdicts:
        assert (verdict.value is None) == (verdict.error is not None), verdict
    return [verdict.value for verdict in verdicts]

"""Small requests, scripted judges and a virtual clock for judging tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.client import Client, open_client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import ChosenJudge
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.judging.types import Backend, Reply, Request, Verdict
from lmms_rpts.scoring.work import ordered, run_async

T = TypeVar("T")
PROMPTS = Prompts()

Said = str | Reply | Exception


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop that skips waiting times when all tasks wait; waiting forever is an error."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()
        selector: Any = vars(self)["_selector"]
        select = selector.select

        def skip(timeout: float | None = None) -> Any:
            assert timeout is not None, "all tasks wait for an event that never happens"
            self.now += timeout and max(timeout, 1e-6)
            return select(0)

        selector.select = skip

    def time(self) -> float:
        return self.now

    def end(self) -> None:
        """Cancel all tasks, and close the loop."""
        for task in asyncio.all_tasks(self):
            task.cancel()
        self.run_until_complete(asyncio.sleep(0))
        self.close()


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, run on a loop that skips waiting times."""
    loop = SkippingLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.end()


def now() -> float:
    return asyncio.get_running_loop().time()


def settings_of(**values: Any) -> Settings:
    """Settings without a cache, but for ``values``."""
    return load_settings().model_copy(update={"cache": None, **values})


def _field(kind: str) -> str:
    """The field that has the text of a question."""
    fields = KINDS[kind].fields
    texts = [name for name, value in fields.items() if isinstance(value, str)]
    return "conclusion" if "conclusion" in texts else texts[0]


def question(text: str, kind: str = "image", **options: Any) -> Request:
    """A request to score ``text``."""
    fields = {**KINDS[kind].fields, _field(kind): text}
    return Request(kind, "en", fields, PROMPTS, **options)


def text_in(request: Request) -> str:
    """The text of a question."""
    return str(request.fields[_field(request.kind)])


def questions(count: int) -> list[Request]:
    """``count`` different requests."""
    return [question(f"question {number}") for number in range(count)]


def client_of(judge: Any, most: int = 1, budget: Budget | None = None, **settings: Any) -> Client:
    """A client with a judge that costs something and has vision."""
    backend = Backend(usage="m", purpose="", check=lambda *_: None, open=lambda *_: judge)
    given = settings_of(concurrency=most, **settings)
    return Client(ChosenJudge("m", backend, "", sees=True), judge, given, budget or Budget())


class ScriptedJudge:
    """A judge that replies with what ``answer`` returns, or raises it, and counts calls.

    Args:
        answer: called with the text of the first message and the number of the call from 0.
        pause: seconds per answer.
    """

    def __init__(self, answer: Callable[[str, int], Said], pause: float = 0.0) -> None:
        self.answer = answer
        self.pause = pause
        self.asked: list[Request] = []
        self.active = self.most_at_once = self.closed = 0

    async def ask(self, request: Request) -> Reply:
        call = len(self.asked)
        self.asked.append(request)
        self.active += 1
        self.most_at_once = max(self.most_at_once, self.active)
        try:
            await self.wait(call)
            said = self.answer(text_in(request), call)
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
        return [text_in(request) for request in self.asked]


def in_order(*said: Said) -> Callable[[str, int], Said]:
    """Returns the replies one after another, and repeats the last one."""
    return lambda text, call: said[min(call, len(said) - 1)]


def values(verdicts: Sequence[Verdict]) -> list[float | str | None]:
    """The values of ``verdicts``; checks that each has a value or an error, never both."""
    for verdict in verdicts:
        assert (verdict.value is None) == (verdict.error is not None), verdict
    return [verdict.value for verdict in verdicts]


def judged(requests: list[Request], **values: Any) -> tuple[list[Verdict], str | None]:
    """The verdicts of the judge of the environment, and why it stopped."""

    async def work() -> tuple[list[Verdict], str | None]:
        async with open_client("openai:m", settings_of(**values)) as client:
            asked = ordered(map(client.ask, requests), client, total=1, label="", shown=False)
            return [verdict async for verdict in asked], client.stopped

    return run_async(work())

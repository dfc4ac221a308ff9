"""Types of judging: requests, replies, verdicts, errors, and the protocol of a judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from operator import add
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import Field

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.schema import Flag, Model, Number, Text, Whole
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.request_kinds import KINDS

if TYPE_CHECKING:
    from lmms_rpts.judging.prompts import Prompts

NO_JUDGE, NOT_JUDGED = "none", "not judged: the judge is 'none'"
_SCORE_ALONE = {
    "en": "Leave out the reason: reply with the score alone.",
    "zh": "不要写理由，只回复分数。",
}


class JudgeError(Exception):
    """A call without a reply; ``words``: the server's, if they may name a field that was sent."""

    words = ""


class TransientError(JudgeError):
    """A failure that may pass; ``retry_after``: seconds that the server asks to wait.

    ``kind``: "throttled" if the call is to be made later, "timed out", or "" for all others.
    """

    def __init__(self, reason: str, retry_after: float | None = None, kind: str = "") -> None:
        super().__init__(reason)
        self.retry_after, self.kind = retry_after, kind


class RefusedError(JudgeError):
    """The judge refuses this request; retries are useless."""


class NotAskedError(RefusedError):
    """The request was written to a file, for a batch; a later run has its reply."""


class FatalJudgeError(JudgeError):
    """No request can succeed: a wrong key, an unknown model, no credit."""


class JudgeConfigurationError(UserError):
    """No judge can be opened with these settings; the message says what to set."""


@dataclass(eq=False)
class Request:
    """One question to a judge, made by ``Prompts.request``; rendered when it is first sent."""

    kind: str
    language: str
    fields: Mapping[str, Any]
    prompts: Prompts = field(repr=False)
    # The value of a reply, None if it has none; without it, the score, or the reply itself.
    parse: Callable[[str], float | str | None] | None = None
    images: tuple[JudgeImage, ...] = ()  # they precede the text of the first user message
    reasoned: bool = True  # whether a score is wanted with its reason
    # Replies that could not be parsed: then the verdict alone is wanted; then without a schema.
    attempt: int = 0
    patience: float = 1.0  # multiple of the judge's time limit that a call may take
    chat: list[dict[str, str]] | None = None  # the messages, once they are rendered

    @property
    def messages(self) -> list[dict[str, str]]:
        """The chat: the instructions, and the question, each with ``role`` and ``content``."""
        if self.chat is None:
            self.chat = self.prompts.render(self.kind, self.language, **self.fields)
            if not self.reasoned:
                self.chat[0]["content"] += f"\n{_SCORE_ALONE[self.language]}"
        return self.chat

    @property
    def most_tokens(self) -> int:
        """Maximum tokens of the reply; judges with hidden thinking get more."""
        most = KINDS[self.kind].most_tokens
        return most if self.reasoned else min(most, 64)

    def key(self, identity: Mapping[str, object]) -> str:
        """SHA-256 of the request to this judge; decodes images whose digest is not known yet."""
        images = [[image.name, image.digest] for image in self.images]
        form = [self.kind, self.reasoned, self.attempt]
        content = [identity, form, self.messages, images]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def again(self, attempt: int) -> Request:
        """The same question for the verdict alone, after so many replies that cannot be read."""
        *earlier, last = self.messages
        content = f"{last['content']}\n\n{self.prompts.reminder(self.kind, self.language)}"
        return replace(self, chat=[*earlier, {**last, "content": content}], attempt=attempt)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as reported by the server."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


@dataclass(slots=True)
class Reply:
    """A judge's reply to one request.

    ``complete``: it was not cut off; ``value``: the score of a judge whose text is not parsed.
    """

    text: str
    usage: Usage | None = None
    complete: bool = True
    value: float | None = None


class Verdict(Model):
    """The outcome of one request: a value or an error; stored in records as it is."""

    kind: Text
    prompt_version: Text
    value: Number | Text | None = None  # a score in [0, 1], a word or a text
    reply: Text | None = None  # the judge's last complete reply
    error: Text | None = None
    # In and out, of all calls, also of those that made a cached reply; None: unknown.
    tokens: tuple[Whole, Whole] | None = Field(default=None, exclude_if=lambda it: not it)
    cached: Flag = Field(default=False, exclude_if=lambda it: not it)
    # What a conclusion was judged against, and the numbers of the images shown
    evidence: tuple[Text, ...] = Field(default=(), exclude_if=lambda it: not it)
    images: tuple[Whole, ...] = Field(default=(), exclude_if=lambda it: not it)
    # System and user text, where no other field tells them
    asked: tuple[Text, Text] | None = Field(default=None, exclude_if=lambda it: not it)


class Judge(Protocol):
    """Answers requests. It may also have ``identity``, a mapping of everything except the request
    that replies depend on; ``time_limit``, the seconds of a call; and ``async aclose()``."""

    async def ask(self, request: Request) -> Reply: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One kind of judge; the functions get the part of its name after the colon."""

    usage: str  # its notation in LMMS_RPTS_JUDGE, for messages
    purpose: str
    open: Callable[[str, Settings], Judge]
    check: Callable[[str, Settings], str | None] = lambda model, settings: None  # what is missing
    # It asks no language model: it writes no text, and its scores compare with no other judge's
    free: bool = False
    # Whether it has vision, as far as known before a call
    sees: Callable[[str, Settings], bool] = lambda model, settings: False
    local: bool = False  # its model is loaded in this process

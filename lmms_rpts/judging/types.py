"""The vocabulary of judging: requests, replies, verdicts, and what a judge must offer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, get_args

RequestKind = Literal["image", "inference", "transform", "answer"]
KINDS: tuple[RequestKind, ...] = get_args(RequestKind)
SCORED: frozenset[RequestKind] = frozenset({"image", "inference"})

Message = dict[str, str]
Parser = Callable[[str], float | str | None]


class TransientError(Exception):
    """A failure that may pass: the call is worth trying again.

    ``retry_after``: seconds that the server asks to wait, None if it doesn't say.
    ``unreachable``: no server answered at all.
    """

    def __init__(
        self, reason: str, retry_after: float | None = None, unreachable: bool = False
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.unreachable = unreachable


class RefusedError(Exception):
    """The judge will not answer this request, however often it is asked."""


class FatalJudgeError(Exception):
    """No request can succeed: a wrong key, an unknown model, no credit left."""


class JudgeConfigurationError(ValueError):
    """No judge can be opened with these settings; the message says what to set."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to a judge.

    Attributes:
        kind: ``image`` and ``inference`` ask for a score, ``transform`` for a chain of steps,
            ``answer`` for the final answer of a response.
        messages: the chat, each message with ``role`` and ``content``.
        evidence: the texts that a claim is to be judged by, for judges that read no chat.
        claim: the conclusion to be judged.
        parse: reads the value from a reply, None if it holds none; None: a score for the kinds
            that ask for one, else the reply itself.
        reminder: what is said after a reply that can't be read, before it is asked again.
    """

    kind: RequestKind
    messages: Sequence[Message]
    evidence: tuple[str, ...] = ()
    claim: str = ""
    parse: Parser | None = field(default=None, compare=False, repr=False)
    reminder: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind {self.kind!r}; known kinds: {', '.join(KINDS)}")

    @property
    def key(self) -> str:
        """SHA-256 of what is asked: equal for requests that deserve the same answer."""
        content = [self.kind, list(self.messages), list(self.evidence), self.claim]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def asked_again(self, reply: str) -> JudgeRequest:
        """The same question after a reply that could not be read."""
        messages = [dict(message) for message in self.messages]
        said = reply.encode("utf-8", "replace").decode("utf-8")
        if said.strip():
            messages.append({"role": "assistant", "content": said})
            if self.reminder:
                messages.append({"role": "user", "content": self.reminder})
        elif self.reminder:
            # Two messages of one role in a row are refused by some servers.
            messages[-1]["content"] += f"\n\n{self.reminder}"
        return replace(self, messages=messages)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the server counted."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge said to one request; ``complete`` is false where it was cut off."""

    text: str
    usage: Usage | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one request.

    Attributes:
        text: the judge's last reply, whole; None if it never replied.
        value: what was read from it: a score in [0, 1] or a text; None if nothing could be.
        cached: whether an equal request was answered before, so that this one cost nothing.
        attempts: how many calls were made.
        usage: tokens of all calls, None if the server doesn't say.
        error: why there is no value; None exactly where there is one.
    """

    text: str | None
    value: float | str | None = None
    cached: bool = False
    attempts: int = 1
    usage: Usage | None = None
    error: str | None = None


class Judge(Protocol):
    """Anything that answers requests.

    ``ask`` raises ``TransientError``, ``RefusedError`` or ``FatalJudgeError`` where it can't.
    """

    async def ask(self, request: JudgeRequest) -> Reply: ...

"""Types of judging: requests, replies, verdicts, errors, and the protocol of a judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Protocol

from pydantic import Field

from lmms_rpts.errors import UserError
from lmms_rpts.escaping import storable
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.schema import Share, Text, Whole
from lmms_rpts.settings import Price, Settings

Message = dict[str, str]
Parser = Callable[[str], float | str | None]


class TransientError(Exception):
    """A failure that may pass: the call is worth trying again.

    ``retry_after``: seconds that the server asks to wait, None if it doesn't say.
    ``unreachable``: no server answered at all.
    ``throttled``: the server is asked too much at a time.
    """

    def __init__(
        self,
        reason: str,
        retry_after: float | None = None,
        unreachable: bool = False,
        throttled: bool = False,
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.unreachable = unreachable
        self.throttled = throttled


class AdaptedError(Exception):
    """The server takes no such call; the judge has learnt how it wants to be asked instead.

    The call is made again at once. A judge raises it a few times in its life at most. ``usage``:
    what the call took all the same.
    """

    def __init__(self, reason: str, usage: Usage | None = None) -> None:
        super().__init__(reason)
        self.usage = usage


class RefusedError(Exception):
    """The judge will not answer this request, however often it is asked."""


class FatalJudgeError(Exception):
    """No request can succeed: a wrong key, an unknown model, no credit left."""


class JudgeConfigurationError(UserError):
    """No judge can be opened with these settings; the message says what to set."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to a judge.

    Attributes:
        kind: ``image``, ``inference`` and ``root`` ask for a score, as ``image_seen`` and
            ``inference_seen`` do with images; ``transform`` for a chain, ``answer`` for the final
            answer of a response; benchmarks add others.
        messages: the chat, each message with ``role`` and ``content``.
        evidence: the texts that a claim is to be judged by, for judges that read no chat.
        claim: the conclusion to be judged.
        parse: reads the value from a reply, None if it holds none; None: a score for the kinds
            that ask for one, else the reply itself.
        reminder: what is said after a reply that can't be read, before it is asked again.
        prompt_version: of the prompt that the messages were made by.
        sample: which of several answers to one question is wanted, from 0.
        images: what the judge is shown; they stand before the first message of the user.
    """

    kind: str
    messages: Sequence[Message]
    evidence: tuple[str, ...] = ()
    claim: str = ""
    parse: Parser | None = field(default=None, compare=False, repr=False)
    reminder: str = field(default="", compare=False, repr=False)
    prompt_version: str = ""
    sample: int = 0
    images: tuple[JudgeImage, ...] = ()

    def __post_init__(self) -> None:
        known = request_kinds()
        if self.kind not in known:
            raise ValueError(f"unknown kind {self.kind!r}; known kinds: {', '.join(known)}")

    @property
    def key(self) -> str:
        """SHA-256 of what is asked: equal for requests that deserve the same answer.

        Decodes images whose digest is not known yet.

        Raises:
            ImageError: where one can't be read.
        """
        content: dict[str, object] = {
            "kind": self.kind,
            "messages": list(self.messages),
            "evidence": list(self.evidence),
            "claim": self.claim,
            "prompt_version": self.prompt_version,
            "sample": self.sample,
        }
        if self.images:  # keys of requests without images are as they always were
            content["images"] = [[image.name, image.digest] for image in self.images]
        return digest(content)

    def asked_again(self, reply: str) -> JudgeRequest:
        """The same question after a reply that could not be read."""
        messages = [dict(message) for message in self.messages]
        said = storable(reply)
        if said.strip():
            messages.append({"role": "assistant", "content": said})
            if self.reminder:
                messages.append({"role": "user", "content": self.reminder})
        elif self.reminder:
            # Two messages of one role in a row are refused by some servers.
            messages[-1]["content"] += f"\n\n{self.reminder}"
        return replace(self, messages=messages)


def digest(content: object) -> str:
    """SHA-256 over canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the server counted; ``reasoning_tokens`` are a part of the output's."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens


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
        spread: standard deviation of the opinions' scores; None where there is but one opinion.
        opinions: what each judge and each sample said, where there are several.
    """

    text: str | None
    value: float | str | None = None
    cached: bool = False
    attempts: int = 1
    usage: Usage | None = None
    error: str | None = None
    spread: float | None = None
    opinions: tuple[Opinion, ...] = ()


@dataclass(frozen=True, slots=True)
class Opinion:
    """One of several answers that a verdict is the mean of."""

    judge: Annotated[Text, Field(description="name of the judge")]
    sample: Annotated[Whole, Field(description="number of the reply, from 0")]
    score: Annotated[Share | None, Field(description="score of this reply")]
    text: Annotated[Text | None, Field(description="the complete reply")]
    error: Annotated[Text | None, Field(description="why there is no score")]


class Judge(Protocol):
    """Anything that answers requests.

    ``ask`` raises ``TransientError``, ``RefusedError``, ``AdaptedError`` or ``FatalJudgeError``
    where it can't. It is called in one event loop, many times at once. A judge may also offer
    ``identity``, a mapping of all that its answers depend on beside the request (model, endpoint,
    sampling), for the cache; and ``async aclose()``.
    """

    async def ask(self, request: JudgeRequest) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Member:
    """One judge of an engine.

    Attributes:
        name: as in LMMS_RPTS_JUDGE.
        judge: who answers.
        price: of its tokens, where known.
        writes: whether it can rewrite texts and tell answers, and not only score.
        kept: whether its answers are worth keeping on disk.
        sees: whether it can be shown images.
    """

    name: str
    judge: Judge
    price: Price | None = None
    writes: bool = True
    kept: bool = True
    sees: bool = True


def _blind(model: str, settings: Settings) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One kind of judge; another package offers one as an entry point ``lmms_rpts.judges``.

    Attributes:
        usage: how it is written, for messages.
        purpose: what it is for, in a few words.
        check: says what is missing for a judge of this kind, given what stands after the colon;
            None if nothing. Called often, before anything is paid for.
        open: makes the judge.
        writes: whether it can rewrite free text into steps and tell an answer.
        comparable: whether its scores may stand beside those of language models.
        samples: whether it may answer differently when it is asked again.
        kept: whether its answers cost anything, so that they are worth keeping on disk.
        sees: says whether a judge of this kind can be shown images, given what stands after the
            colon, as far as that can be told before it is asked; raises nothing.
        caveat: what was found where it was measured, a sentence without its full stop; for logs
            and ``lmms-rpts doctor``.
    """

    usage: str
    purpose: str
    check: Callable[[str, Settings], str | None]
    open: Callable[[str, Settings], Judge]
    writes: bool = True
    comparable: bool = True
    samples: bool = True
    kept: bool = True
    sees: Callable[[str, Settings], bool] = _blind
    caveat: str = ""

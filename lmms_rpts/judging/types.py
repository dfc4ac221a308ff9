"""Types of judging: requests, replies, verdicts, errors, and the protocol of a judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from pydantic import Field

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.base.schema import Flag, Model, Number, Text, Whole
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.request_kinds import request_kinds

if TYPE_CHECKING:
    from lmms_rpts.judging.prompts import Prompts

# Maximum tokens of a reply that should hold only a score.
BRIEF = 64

# The name for no judge: responses are saved and scored later.
NO_JUDGE = "none"

NOT_JUDGED = "not judged: the judge is 'none'"

# Added to the instructions if the score is wanted without a reason.
_SCORE_ALONE = {
    "en": "Leave out the reason: reply with the score alone.",
    "zh": "不要写理由，只回复分数。",
}

Message = dict[str, str]
FailureKind = Literal["", "unreachable", "throttled", "timed out", "starting"]
Parser = Callable[[str], "float | str | None"]


class TransientError(Exception):
    """Raised for a failure that may pass: the call should be retried.

    ``retry_after``: seconds that the server asks to wait.
    """

    def __init__(
        self, reason: str, retry_after: float | None = None, kind: FailureKind = ""
    ) -> None:
        super().__init__(reason)
        self.retry_after, self.kind = retry_after, kind


class RefusedError(Exception):
    """Raised if the judge refuses this request; retries are useless."""


class NotAskedError(RefusedError):
    """Raised if a request was written to a file, for a batch; a later run has its reply."""


class FatalJudgeError(Exception):
    """Raised if no request can succeed: a wrong key, an unknown model, no credit."""


class JudgeConfigurationError(UserError):
    """Raised if no judge can be opened with these settings; the message says what to set."""


@dataclass(eq=False)
class Request:
    """One question to a judge, made by ``Prompts.request``; rendered when it is first sent.

    Attributes:
        parse: returns the value of a reply, None if there is none. None: the score for kinds that
            ask for one, else the reply itself.
        images: they precede the text of the first user message.
        reasoned: whether a score is wanted with its reason.
        attempt: number of replies that could not be parsed: first, a reason and a verdict are
            wanted; then the verdict alone; then the same without a schema.
        patience: multiple of the judge's time limit that a call may take.
        chat: the messages, once they are rendered.
    """

    kind: str
    language: str
    fields: Mapping[str, Any]
    prompts: Prompts = field(repr=False)
    parse: Parser | None = None
    images: tuple[JudgeImage, ...] = ()
    reasoned: bool = True
    attempt: int = 0
    patience: float = 1.0
    chat: Sequence[Message] | None = None

    @property
    def messages(self) -> Sequence[Message]:
        """The chat: the instructions, and the question, each with ``role`` and ``content``."""
        if self.chat is None:
            chat = self.prompts.render(self.kind, self.language, **self.fields)
            if not self.reasoned:
                chat[0]["content"] += f"\n{_SCORE_ALONE[self.language]}"
            self.chat = chat
        return self.chat

    @property
    def prompt_version(self) -> str:
        """The digest of the templates."""
        return self.prompts.version(self.kind)

    @property
    def most_tokens(self) -> int:
        """Maximum tokens of the reply; judges with hidden thinking get more."""
        most = request_kinds()[self.kind].most_tokens
        return most if self.reasoned else min(most, BRIEF)

    def key(self, identity: Mapping[str, object]) -> str:
        """SHA-256 of the request to the judge with this identity: equal for equal requests.

        Decodes images whose digest is not known yet.
        """
        images = [[image.name, image.digest] for image in self.images]
        form = [self.kind, self.reasoned, self.attempt]
        return digest([identity, form, list(self.messages), images])

    def asked_again(self, reply: Reply) -> Request:
        """The same question after a reply that could not be parsed, for the verdict alone.

        A long reply, or one that was cut off and would be continued, is not quoted.
        """
        messages = [dict(message) for message in self.messages]
        reminder = self.prompts.reminder(self.kind, self.language)
        text = storable(reply.text)
        if reply.complete and text.strip() and len(text) <= 4 * self.most_tokens:
            messages.append({"role": "assistant", "content": text})
            messages.append({"role": "user", "content": reminder})
        else:
            # Some servers refuse two messages of one role in a row.
            messages[-1]["content"] += f"\n\n{reminder}"
        return replace(self, chat=messages, attempt=self.attempt + 1)


class Rebuilt(NamedTuple):
    """A request as it is known from a record; ``same``: whether its templates are the run's."""

    system: str
    user: str
    same: bool = True
    images: Sequence[str] = ()


def digest(content: object) -> str:
    """SHA-256 over canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as reported by the server; ``reasoning_tokens`` are part of the output tokens."""

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
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's reply to one request.

    ``complete`` is false if it was cut off; ``limit``: most tokens that it could have, if known;
    ``note``: what is odd about it, for the message if it cannot be parsed; ``value``: the score, of
    a judge whose text need not be parsed.
    """

    text: str
    usage: Usage | None = None
    complete: bool = True
    limit: int | None = None
    note: str = ""
    value: float | None = None


class Verdict(Model):
    """The outcome of one request: a value or an error; stored in records as it is.

    Attributes:
        value: a score in [0, 1], a word or a text; None: none could be had.
        reply: the judge's last complete reply; None if it never replied.
        tokens: of all calls, in and out; of a cached reply when it was made; None: unknown.
        cached: whether no call was made for it.
        evidence: what a conclusion was judged against.
        images: numbers of the images shown.
        asked: system and user text, where no other field tells them.
    """

    kind: Text
    prompt_version: Text
    value: Number | Text | None = None
    reply: Text | None = None
    error: Text | None = None
    tokens: tuple[Whole, Whole] | None = Field(default=None, exclude_if=lambda it: not it)
    cached: Flag = Field(default=False, exclude_if=lambda it: not it)
    evidence: tuple[Text, ...] = Field(default=(), exclude_if=lambda it: not it)
    images: tuple[Whole, ...] = Field(default=(), exclude_if=lambda it: not it)
    asked: tuple[Text, Text] | None = Field(default=None, exclude_if=lambda it: not it)

    @property
    def score(self) -> float | None:
        """The value if it is a number."""
        return self.value if isinstance(self.value, float) else None


class Judge(Protocol):
    """Anything that answers requests, or raises ``TransientError``, ``RefusedError`` or
    ``FatalJudgeError``, many at a time, in one event loop.

    It may also have ``identity``, a mapping of everything except the request that its replies
    depend on, for the cache; ``time_limit``, the seconds of a call; and ``async aclose()``.
    """

    async def ask(self, request: Request) -> Reply: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One kind of judge.

    Attributes:
        usage: its notation in LMMS_RPTS_JUDGE, for messages.
        check: returns what is missing, given the part after the colon; None: nothing.
        writes: whether it can convert free text into steps and extract an answer.
        comparable: whether its scores are comparable with those of language models.
        samples: whether repeated requests may get different replies.
        kept: whether its replies cost anything, so that they are cached and counted.
        sees: returns whether it has vision, as far as known before a call.
        local: whether its model is loaded in this process.
        caveat: its known, measured weakness, a sentence without its full stop.
    """

    usage: str
    purpose: str
    check: Callable[[str, Settings], str | None]
    open: Callable[[str, Settings], Judge]
    writes: bool = True
    comparable: bool = True
    samples: bool = True
    kept: bool = True
    sees: Callable[[str, Settings], bool] = lambda model, settings: False
    local: bool = False
    caveat: str = ""

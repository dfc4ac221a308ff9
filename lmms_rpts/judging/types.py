"""Types of judging: requests, replies, verdicts, errors, and the protocol of a judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from operator import add
from typing import Literal, NamedTuple, Protocol

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.request_kinds import request_kinds

# Maximum tokens of a reply that should hold only a score or a word.
BRIEF = 64

# The name for no judge: responses are saved and scored later.
NO_JUDGE = "none"

NOT_JUDGED = "not judged: the judge is 'none'"

Message = dict[str, str]
FailureKind = Literal["", "unreachable", "throttled", "timed out", "starting"]
Parser = Callable[[str], float | str | None]


class TransientError(Exception):
    """Raised for a failure that may pass: the call should be retried.

    Args:
        reason: the failure.
        retry_after: seconds that the server asks to wait; None if it does not say.
        kind: ``unreachable``: there was no connection to a server; ``throttled``: the server
            refused the call because there were too many; ``timed out``: the call exceeded our time
            limit, and the server may still work on it; ``starting``: the server is loading its
            model; empty: any other failure.
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


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to a judge.

    Attributes:
        kind: one of ``request_kinds()``.
        messages: the chat, each message with ``role`` and ``content``.
        evidence, claim: the texts that a conclusion is judged against, and the conclusion, for
            judges that ignore the chat.
        parse: returns the value of a reply, None if there is none. None: the score for kinds that
            ask for one, else the reply itself.
        reminder: added after a reply that cannot be parsed, when the request is retried.
        images: the images for the judge; they precede the text of the first user message.
        attempt: number of replies that could not be parsed: first, a reason and a verdict are
            wanted; then the verdict alone; then the same without a schema.
        brief: whether the reply may have a few tokens only.
        patience: multiple of the judge's time limit that a call may take.
    """

    kind: str
    messages: Sequence[Message]
    evidence: tuple[str, ...] = ()
    claim: str = ""
    parse: Parser | None = field(default=None, compare=False, repr=False)
    reminder: str = field(default="", compare=False, repr=False)
    prompt_version: str = ""
    images: tuple[JudgeImage, ...] = ()
    attempt: int = 0
    brief: bool = False
    patience: float = field(default=1.0, compare=False, repr=False)

    @property
    def key(self) -> str:
        """SHA-256 of the request: equal for requests that have the same answer.

        Decodes images whose digest is not known yet.
        """
        content: dict[str, object] = {
            "kind": self.kind,
            "messages": list(self.messages),
            "evidence": list(self.evidence),
            "claim": self.claim,
            # Constants: other keys would not find the replies that were stored so far.
            "prompt_version": "2",
            "sample": 0,
        }
        if self.attempt:
            content["attempt"] = self.attempt
        if self.images:  # keys of requests without images must not change between versions
            content["images"] = [[image.name, image.digest] for image in self.images]
        return digest(content)

    @property
    def most_tokens(self) -> int:
        """Maximum tokens of the reply; judges with hidden thinking get more."""
        most = request_kinds()[self.kind].most_tokens
        return min(most, BRIEF) if self.brief else most

    def asked_again(self, reply: Reply, attempt: int = 1) -> JudgeRequest:
        """The same question after a reply that could not be parsed.

        Only the verdict is asked for, since the reason may have no end. A long reply is not quoted
        if it was cut off: it would be continued. White space without end comes from the schema.
        ``attempt``: number of replies so far.
        """
        messages = [dict(message) for message in self.messages]
        said = storable(reply.text)
        kind = request_kinds()[self.kind]
        longest = 4 * (kind.most_tokens if reply.complete else BRIEF)
        if said.strip() and len(said) <= longest:
            messages.append({"role": "assistant", "content": said})
            if self.reminder:
                messages.append({"role": "user", "content": self.reminder})
        elif self.reminder:
            # Some servers refuse two messages of one role in a row.
            messages[-1]["content"] += f"\n\n{self.reminder}"
        if not kind.has_verdict:
            return replace(self, messages=messages)
        stuck = not reply.complete and len("".join(said.split())) < len(said) / 2
        attempt = 2 if stuck else attempt
        return replace(self, messages=messages, attempt=attempt, brief=not reply.complete)


class Rebuilt(NamedTuple):
    """A request to a judge, as it is known from the record of the reply.

    ``same``: whether its templates are those of the run; ``images``: names of the images before the
    user's text.
    """

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
        return Usage(*map(add, astuple(self), astuple(other)))

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's reply to one request.

    ``complete`` is false if it was cut off; ``limit``: most tokens that it could have, if known.
    """

    text: str
    usage: Usage | None = None
    complete: bool = True
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one request: a value or an error.

    Attributes:
        text: the judge's last complete reply; None if it never replied.
        value: the parsed value: a score in [0, 1] or a text.
        cached: whether the reply is a cache hit, so that this request cost nothing.
        attempts: number of calls made.
        usage: tokens of all calls, of a cached reply when it was made; None if not reported.
        identical: whether ``cached`` is due to an identical request of this process.
        request: what was asked; None: nothing.
    """

    text: str | None
    value: float | str | None = None
    cached: bool = False
    attempts: int = 1
    usage: Usage | None = None
    error: str | None = None
    identical: bool = False
    request: JudgeRequest | None = field(default=None, compare=False, repr=False)


class Judge(Protocol):
    """Protocol of a judge: anything that answers requests.

    ``ask`` raises ``TransientError``, ``RefusedError`` or ``FatalJudgeError`` if it cannot answer.
    It is called in one event loop, many times concurrently. A judge may also have ``identity``, a
    mapping of everything except the request that its replies depend on (model, endpoint,
    sampling), for the cache; ``time_limit``, the seconds that a call may take; and
    ``async aclose()``.
    """

    async def ask(self, request: JudgeRequest) -> Reply: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One kind of judge.

    Attributes:
        usage: its notation in LMMS_RPTS_JUDGE, for messages.
        purpose: a short description.
        check: returns what is missing for a judge of this kind, given the part after the colon;
            None if nothing is missing. It is called often, always before any paid call.
        open: creates the judge.
        writes: whether it can convert free text into steps and extract an answer.
        comparable: whether its scores are comparable with those of language models.
        samples: whether repeated requests may get different replies.
        kept: whether its replies cost anything, so that they are cached on disk.
        sees: returns whether a judge of this kind has vision, given the part after the colon, as
            far as known before a call. It is called once ``check`` found nothing missing.
        local: whether its model is loaded in this process.
        caveat: its known, measured weakness, a sentence without its full stop; for logs and
            ``lmms-rpts doctor``.
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

"""Base models of records: written by filters as JSON, and read from samples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from pydantic import Field, SkipValidation, ValidationError

from lmms_rpts.base.escaping import shorten, storable
from lmms_rpts.base.schema import FieldError, Model, Text, Whole, first_fault, shown
from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.budget import cost_of
from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.judging.types import Usage, Verdict

R = TypeVar("R", bound="Record")


def unset(default: Any, description: str) -> Any:
    """A field that is omitted if it has its default."""
    return Field(
        default=default, description=description, exclude_if=lambda value: value == default
    )


# --- responses as lmms-eval saves them

# Number of characters of a prompt that stand for a question
_LONGEST = 20_000
# The line that stands for an image in a turn
_IMAGE = "[image]"
_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")
_LOGGED = ("input", "target", "doc_hash")
# The mark of a record, also of one that is no JSON any more
_SCHEMA = re.compile(r'\{"schema"\s{0,9}:\s{0,9}"([\w.]{1,80})",\s{0,9}"schema_version"')


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """A saved response, with what lmms-eval logged of its document.

    Attributes:
        text: the response; None if the request of the model failed. Of a damaged file, anything.
        tokens: its token counts as lmms-eval names them, as far as they are known.
        logged: of ``input`` (the prompt, a text or messages), ``target`` (the gold answer) and
            ``doc_hash`` those that there are.
    """

    text: Any = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    logged: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        """Role and text of each turn of the prompt; of one without messages, the role is empty."""
        prompt = self.logged.get("input")
        if isinstance(prompt, str):
            return (("", storable(prompt)),)
        turns = []
        for message in prompt if isinstance(prompt, list) else []:
            content = message.get("content") if isinstance(message, dict) else None
            parts = content if isinstance(content, list) else [content]
            texts = [part.get("text", _IMAGE) if isinstance(part, dict) else part for part in parts]
            text = "\n".join(storable(text) for text in texts if isinstance(text, str))
            turns += [(storable(str(message.get("role", ""))), text)] if text else []
        return tuple(turns)

    @property
    def question(self) -> str:
        """The prompt as one text."""
        return "\n".join(text for _, text in self.turns)[:_LONGEST]

    @property
    def target(self) -> str:
        """The gold answer; empty if it is no text."""
        gold = self.logged.get("target")
        return storable(gold[:_LONGEST]) if isinstance(gold, str) else ""


def responses_in(entry: Mapping[str, Any], *names: str) -> list[SavedResponse]:
    """The responses in the first of these fields of a line of samples that there is.

    lmms-eval saves the list of a single request within a list.
    """
    texts = next((entry[name] for name in names if name in entry), None)
    texts = texts if isinstance(texts, list) else [texts]
    texts = texts[0] if len(texts) == 1 and isinstance(texts[0], list) else texts
    counts = entry.get("token_counts")
    counts = counts if isinstance(counts, list) else [counts]
    logged = {name: entry[name] for name in _LOGGED if name in entry}
    responses = []
    for text, tokens in zip_longest(texts, counts[: len(texts)]):
        known = tokens if isinstance(tokens, dict) else {}
        whole = {name: n for name in _COUNTS if type(n := known.get(name)) is int and n >= 0}
        text = storable(text) if isinstance(text, str) else text
        responses.append(SavedResponse(text, whole, logged))
    return responses


def schema_in(entry: Mapping[str, Any]) -> str:
    """The schema of the records in a line of samples; empty if it has none."""
    texts = (response.text for response in responses_in(entry, "filtered_resps"))
    # Of a likelihood, the record is in one option; the others are empty.
    first = next((text for text in texts if text != ""), None)
    match = _SCHEMA.match(first) if isinstance(first, str) else None
    return match[1] if match else ""


# --- records

_BESIDE = {"repeat": 0, "text": None, "tokens": None, "logged": SavedResponse()}


class FromJudge(Model):
    """What a judge may have been asked for."""

    reason: Text | None = unset(None, "why there is none, or why no judge was asked; else omitted")
    verdict: Verdict | None = unset(None, "the judge's verdict; omitted if it was not asked")

    @property
    def error(self) -> str | None:
        """Why there is no value; None if there is one."""
        return self.reason or (self.verdict.error if self.verdict else None)


def cost_function() -> Callable[[Usage], float | None]:
    """The cost of tokens by the price in the settings, which are read once; None without one."""
    price = load_settings().unit_price
    return lambda usage: cost_of(usage, price) if price else None


def spent_on(value: Any, cost: Callable[[Usage], float | None]) -> dict[str, Any]:
    """What the judge's replies took that are in a record, in a part of one, or in several.

    ``cached``: the number of ``calls`` that were paid for earlier; ``tokens_in``, ``tokens_out``:
    of all calls, None if any are unknown; ``cost``: None without a price, see `cost_function`.
    """
    calls = [*_verdicts_in(value)]
    known = calls and all(each.tokens for each in calls)
    usage = Usage(*map(sum, zip(*(each.tokens for each in calls), strict=True))) if known else None
    return {
        "calls": len(calls),
        "cached": sum(each.cached for each in calls),
        "tokens_in": usage and usage.input_tokens,
        "tokens_out": usage and usage.output_tokens,
        "cost": usage and cost(usage),
    }


def _verdicts_in(value: Any) -> Iterator[Verdict]:
    """The verdicts that a judge replied for; of scores only those with known tokens."""
    if isinstance(value, Verdict):
        if value.tokens or (value.reply is not None and value.kind not in SCORED):
            yield value
        return
    for part in dict(value).values() if isinstance(value, Model) else value:
        if isinstance(part, Model | tuple):
            yield from _verdicts_in(part)


class Record(Model):
    """One scored response of a model.

    Subclasses have ``instance``, an `Asked`, and ``settings``, a model of everything except the
    response that the score depends on, with ``judge``: a short name of the judge or grader. Records
    that were read from samples also have the fields that lmms-eval saves next to a record:
    ``repeat``, the number of the response among those to the document; ``text``, the response;
    ``tokens``, its number of tokens; ``logged``, what it saves of the document.

    Attributes:
        SCHEMA, VERSION: the JSON fields ``schema`` and ``schema_version``.
        SCORE: name of the score field; it is read as null if the outcome is unscored.
        BENCHMARK: name of the benchmark in messages.
    """

    SCHEMA: ClassVar[str]
    VERSION: ClassVar[int] = 1
    SCORE: ClassVar[str] = "score"
    BENCHMARK: ClassVar[str]

    outcome: Literal["scored", "unscored", "no_steps"] = Field(
        description="whether the response has a score; `no_steps`: no step could be read, which "
        "RPTS scores 0"
    )
    reason: Text | None = Field(description="why there is no score")
    if TYPE_CHECKING:  # subclasses declare them, in the order of their fields
        instance: Any
        settings: Any
    repeat: Whole = Field(default=0, exclude=True)
    text: Text | None = Field(default=None, exclude=True)
    tokens: Whole | None = Field(default=None, exclude=True)
    logged: SkipValidation[SavedResponse] = Field(default=SavedResponse(), exclude=True)

    def __repr__(self) -> str:
        score = getattr(self, self.SCORE)
        score = self.outcome if score is None else f"{self.SCORE} {score:.3f}"
        place = f"{shorten(self.instance.task or '?')} {self.instance.doc_id}"
        return f"<{type(self).__name__} {place}: {score}>"

    __str__ = __repr__

    @property
    def place(self) -> tuple[str, int, int]:
        """Task, document and number of the response: not shared by duplicates."""
        return (self.instance.task, self.instance.doc_id, self.repeat)

    @property
    def scoring(self) -> Any:
        """The settings that the score depends on."""
        return self.settings

    @classmethod
    def parse(cls: type[R], value: object, *, task: str = "", doc_id: int = 0, **beside: Any) -> R:
        """Read one record; ``beside``: ``repeat``, ``text``, ``tokens``, ``logged``, if known."""
        if not isinstance(value, dict) or value.get("schema") != cls.SCHEMA:
            raise FieldError(f"{shown(value)} is no record of {cls.BENCHMARK} ({cls.SCHEMA})")
        if value.get("schema_version") != cls.VERSION:
            raise FieldError(
                f"it has schema version {shown(value.get('schema_version'))}, but this lmms-rpts "
                f"reads version {cls.VERSION}: use the lmms-rpts that wrote it"
            )
        # Fields next to a record are never read from it.
        fields: dict[str, Any] = {**value, **_BESIDE, **beside}
        if isinstance(value.get("instance"), dict):
            fields["instance"] = value["instance"] | {"task": task, "doc_id": doc_id}
        if value.get("outcome") == "unscored":
            fields[cls.SCORE] = None
        elif value.get("outcome") in ("scored", "no_steps") and value.get(cls.SCORE, 0) is None:
            raise FieldError(f"{cls.SCORE} should be a number from 0 to 1, not None")
        try:
            record = cls.model_validate(fields)
        except ValidationError as error:
            raise FieldError(first_fault(error)) from None
        record.check()
        return record

    def check(self) -> None:
        """Raise a FieldError if fields contradict each other, as in a file that was changed."""

    def to_json(self) -> str:
        """The record as a JSON object on one line, without what is read next to it."""
        fields = {"schema": self.SCHEMA, "schema_version": self.VERSION}
        fields |= self.model_dump(by_alias=True)
        # Replaces surrogates also in unchecked values, such as a judge's reply.
        return storable(json.dumps(fields, ensure_ascii=False))

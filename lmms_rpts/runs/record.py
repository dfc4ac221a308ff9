"""Base models of records: written by filters as JSON, and read from samples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as of_dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    SkipValidation,
    TypeAdapter,
    ValidationError,
)
from typing_extensions import Self

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


# --- types of fields


def as_text(value: object) -> str:
    """Any value of a document, as text for a record; None is empty."""
    try:
        return "" if value is None else str(value)
    except Exception:  # any error of a third-party type; an integer of 5000 digits
        return f"this {type(value).__name__}"


def _own_id(value: object) -> str | int | float | None:
    """The id of a document as it is stored in a record, for ids of any type."""
    if isinstance(value, int | float):
        return value if abs(value) < 2**63 else shown(value)  # NaN is not
    return None if value is None else storable(as_text(value))


OwnId = Annotated[Any, PlainValidator(_own_id)]


# --- questions, and what judges say


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuestion:
    """A question as tables and reports show it.

    Attributes:
        text: the question; empty: the record does not contain it, so it is read from the samples.
        options: the options, if the text does not list them.
        marks: the marks of the options, one for each; empty: none were shown.
        right: the position of the right option; None if there is none.
        gold: the gold answers, if no option is one; empty: they are read from the samples.
        language: code of the language, for the page.
        images: file names of the images.
        details: further facts, by name, such as the rubric.
    """

    text: str = ""
    options: Sequence[str] = ()
    marks: Sequence[str] = ()
    right: int | None = None
    gold: Sequence[str] = ()
    language: str = ""
    images: Sequence[str] = ()
    details: Mapping[str, str] = of_dataclass(default_factory=dict)

    @property
    def right_answer(self) -> str:
        """The right option, else the gold answers as one text."""
        return " | ".join(self.gold) if self.right is None else self.options[self.right]


class Asked(Model):
    """The question: a document of a task, with ``task`` and ``doc_id`` from the samples.

    Subclasses add the fields of the document, without its images.
    """

    # In files and documents a field may have another name than here.
    model_config = ConfigDict(populate_by_name=True)

    task: Text = Field(default="", exclude=True)
    doc_id: Whole = Field(default=0, exclude=True)
    _document: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, doc: Mapping[str, Any], /, **known: Any) -> Self:
        """The question as far as a record can hold it: odd documents must not lose paid replies.

        Args:
            doc: the document: its fields are texts, numbers or lists of these.
            known: values that are not read from the document.
        """
        given = {}
        for name, field in cls.model_fields.items():
            key = field.alias or name
            if name not in known and not field.exclude and (key in doc or field.is_required()):
                given[name] = doc.get(key)
        try:
            asked = cls.model_validate({**given, **known}, by_name=True)
        except ValidationError as error:
            odd = {str(fault["loc"][0]) for fault in error.errors()} & given.keys()
            read = {name: _recorded(given[name], cls.model_fields[name].annotation) for name in odd}
            asked = cls.model_validate({**given, **read, **known}, by_name=True)
        asked._document = doc
        return asked

    @property
    def document(self) -> Mapping[str, Any]:
        """The document that the question was made of; empty if it was read from a record."""
        return self._document

    @property
    def key(self) -> tuple[str, int]:
        """Task and number in the data of the document that the answer is to."""
        return (self.task, self.doc_id)

    @property
    def shown(self) -> ShownQuestion:
        """How tables and reports show it."""
        return ShownQuestion()

    @property
    def image_files(self) -> Sequence[str]:
        """The file names of its images."""
        return self.shown.images

    @property
    def gold(self) -> str:
        """The gold answers, or the right option, as one text."""
        return self.shown.right_answer

    def asked(self, kind: str, answer: str, thinking: str) -> tuple[str, dict[str, Any]]:
        """The language and the fields of a request of this kind about a response.

        Args:
            kind: the kind of the request, of those that its benchmark declares.
            answer: the response without its thinking.
            thinking: the thinking; may be empty.
        """
        raise LookupError(kind)

    @property
    def cluster(self) -> tuple[str, str]:
        """What documents that are not independent share, such as a document and its translation."""
        return (self.task, str(self.key[1]))


def _recorded(value: Any, annotation: Any) -> Any:
    """What a field of this type can hold of an odd value: its text or texts, else nothing."""
    texts = [as_text(part) for part in value] if isinstance(value, list | tuple) else ()
    adapter = TypeAdapter[Any](annotation)
    for candidate in (as_text(value), texts, (), None, 0, *get_args(annotation)):
        with suppress(ValidationError):
            return adapter.validate_python(candidate)
    return value


# --- what lmms-eval logs beside a record

# Number of characters of a prompt that stand for a question
_LONGEST = 20_000
# The line that stands for an image in a turn
_IMAGE = "[image]"
_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")


def responses_of(entry: Mapping[str, Any], *names: str) -> list[tuple[Any, dict[str, int]]]:
    """The responses in the first of these fields of a line of samples that there is.

    Each has its token counts, as far as they are known. lmms-eval saves the list of a single
    request within a list.
    """
    texts = next((entry[name] for name in names if name in entry), None)
    texts = texts if isinstance(texts, list) else [texts]
    texts = texts[0] if len(texts) == 1 and isinstance(texts[0], list) else texts
    counts = entry.get("token_counts")
    counts = counts if isinstance(counts, list) else [counts]
    responses = []
    for text, tokens in zip_longest(texts, counts[: len(texts)]):
        known = tokens if isinstance(tokens, dict) else {}
        whole = {name: n for name in _COUNTS if type(n := known.get(name)) is int and n >= 0}
        responses.append((storable(text) if isinstance(text, str) else text, whole))
    return responses


@dataclass(frozen=True, slots=True)
class Logged:
    """What lmms-eval logged of a document: its prompt, a text or messages, and its gold answer."""

    prompt: Any = None
    gold: Any = None

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        """Role and text of each turn of the prompt; of one without messages, the role is empty."""
        if isinstance(self.prompt, str):
            return (("", storable(self.prompt)),)
        turns = []
        for message in self.prompt if isinstance(self.prompt, list) else []:
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
        return storable(self.gold[:_LONGEST]) if isinstance(self.gold, str) else ""


NOTHING_LOGGED = Logged()
_BESIDE = {"repeat": 0, "text": None, "tokens": None, "logged": NOTHING_LOGGED}


# --- records


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
    logged: SkipValidation[Logged] = Field(default=NOTHING_LOGGED, exclude=True)

    def __repr__(self) -> str:
        score = getattr(self, self.SCORE)
        shown_score = self.outcome if score is None else f"{self.SCORE} {score:.3f}"
        place = f"{shorten(self.instance.task or '?')} {self.instance.doc_id}"
        repeat = f", repeat {self.repeat}" if self.repeat else ""
        return f"<{type(self).__name__} {place}{repeat}: {shown_score}>"

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

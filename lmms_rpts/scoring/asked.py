"""The question that a response answers: the base of the questions of all benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args

from pydantic import ConfigDict, Field, PlainValidator, PrivateAttr, TypeAdapter, ValidationError
from typing_extensions import Self

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.schema import Model, Text, Whole, shown


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
    details: Mapping[str, str] = field(default_factory=dict)

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
        for name, info in cls.model_fields.items():
            key = info.alias or name
            if name not in known and not info.exclude and (key in doc or info.is_required()):
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

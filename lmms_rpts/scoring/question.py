"""The question that a response answers: its fields, checks and images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import Field, PlainValidator, PrivateAttr, ValidationError, WithJsonSchema

from lmms_rpts.base.escaping import count, storable
from lmms_rpts.base.schema import Flag, Model, Several, Share, Text, all_faults, shown
from lmms_rpts.judging.images import DEFAULT_LONGEST, ImageError, JudgeImage
from lmms_rpts.reasoning import parse_chain
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import Asked, unset

A = TypeVar("A", bound=Asked)

Stance = Literal["agree", "disagree"]
STANCES: tuple[Stance, ...] = get_args(Stance)

Relation = Literal["guided", "adversarial", "independent"]
"""How images and texts relate (Wang and Zhang, RPTS, arXiv 2511.06899)."""

_VARIANT = re.compile(r"_(?:en|zh|free)(?=_|$)")
_ABILITIES = {
    "识别": "Recognition",
    "常识": "Commonsense",
    "空间感知": "Spatial awareness",
    "数学": "Math",
    "比较图像": "Compare images",
}
"""English names of the abilities in the Chinese texts of RPTS-Eval."""


@cache  # asked for each response and metric
def _family(task: str) -> str:
    return _VARIANT.sub("", task)


def cluster_of(task: str, own_id: str) -> tuple[str, str]:
    """Key that a document shares with its translation: both have the same images and answer."""
    return (_family(task), own_id)


# --- values of documents, which may be of any type -----------------------------------------------


def as_text(value: object) -> str:
    """Any value of a document, as text for a record."""
    try:
        return value if isinstance(value, str) else str(value)
    except Exception:  # any error of a third-party type; an integer of 5000 digits
        return f"this {type(value).__name__}"


def _own_id(value: object) -> str | int | float | None:
    """The id of a document as it is stored in a record, for ids of any type."""
    if isinstance(value, int | float):
        return value if abs(value) < 2**63 else shown(value)  # NaN is not
    return None if value is None else storable(as_text(value))


def question_of(
    kind: type[A], doc: Mapping[str, Any], names: Mapping[str, str], /, **known: Any
) -> A:
    """The question as far as a record can hold it: odd documents must not lose paid-for replies.

    Args:
        kind: type of the question: fields with texts, numbers or lists of these.
        names: names in the document, where they differ.
        known: values that are not read from the document.
    """
    fields = {}
    for name, field in kind.model_fields.items():
        key = names.get(name, field.alias or name)
        if name not in known and not field.exclude and (key in doc or field.is_required()):
            fields[name] = _recorded(doc.get(key), field.annotation)
    return kind.model_validate({**fields, **known}, by_name=True)


def _recorded(value: Any, annotation: Any) -> Any:
    parts = get_args(annotation)
    if get_origin(annotation) is tuple:
        there = value if isinstance(value, list | tuple) else ()
        return tuple(_recorded(each, parts[0]) for each in there)
    if annotation is Any:
        return value
    if get_origin(annotation) is Literal:
        return value if value in parts else parts[0]
    optional = NoneType in parts
    plain = parts[0] if optional else annotation
    plain = getattr(plain, "__origin__", plain)
    if plain is int:
        whole = type(value) is int and 0 <= value < 2**63
        return value if whole else None if optional else 0
    if plain is float:
        return value if isinstance(value, int | float) and 0 <= value <= 1 else 0.0
    if plain is bool:
        return bool(value)
    return (None if optional else "") if value is None else as_text(value)


# --- images --------------------------------------------------------------------------------------

_NAMES = {"zh": "图片{}"}
_NAME = "Image {}"


class DocumentImages:
    """The images of one document; nothing is decoded until a judge needs an image.

    Args:
        load: returns all Pillow images of the document.
        longest: maximum of the longer side, in pixels.
        language: language of the prompts, for the names of the images.
    """

    def __init__(
        self,
        load: Callable[[], Sequence[Any]],
        longest: int = DEFAULT_LONGEST,
        language: str = "en",
    ) -> None:
        self._load, self._longest = load, longest
        self._name = _NAMES.get(language, _NAME)
        self._images: dict[int, JudgeImage] = {}

    def __getitem__(self, number: int) -> JudgeImage:
        """The image with this number, from 0; loading it raises ImageError if there is none."""
        if number not in self._images:
            name = self._name.format(number)
            self._images[number] = JudgeImage(name, lambda: self._one(number), self._longest)
        return self._images[number]

    def _one(self, number: int) -> Any:
        images = self._load()
        if number >= len(images):
            raise ImageError(f"the document has {len(images)} images")
        return images[number]


# --- the question --------------------------------------------------------------------------------

OwnId = Annotated[
    Any, PlainValidator(_own_id), WithJsonSchema({"type": ["string", "number", "null"]})
]


class Question(Asked):
    """A question of RPTS-Eval, of own data or of any task, without its images."""

    own_id: OwnId = Field(alias="id", description="id of the document in the data")
    language: Language = Field(description="language of the document")
    ability: Several[Text] = Field(description="abilities that the document tests")
    relation: Text | None = Field(
        description="guided, adversarial or independent; null if the data do not give it (the "
        "release of RPTS-Eval does not)"
    )
    statement: Text = Field(description="the statement to agree or disagree with, or the question")
    context: Text = Field(description="the context: what steps may cite as such")
    textual_clue: Several[Text] = Field(description="the textual clues")
    visual_clue: Several[Text] = Field(description="the file names of the images")
    reasoning: Several[Text] = Field(description="the gold reasoning, one step per line")
    answer: Text = Field(description="the gold answer")
    options: Several[Text] = unset((), "the options; omitted if there are none")
    tolerance: Share = unset(0.0, "maximum relative error of a number; omitted if 0")
    form: Text = unset("", "type of the answer, of own data")
    background: Text = unset("", "the part of the context that the prompt shows, of own data")
    images_known: Flag = unset(
        True, "false if the images are not at hand, and their number is not known; omitted if true"
    )
    _document: Mapping[str, Any] = PrivateAttr(default_factory=dict)
    _images: DocumentImages | None = PrivateAttr(None)

    @classmethod
    def of(cls, doc: Mapping[str, Any], **known: Any) -> Question:
        """The question of a document; ``known``: values that are not read from it."""
        question = question_of(cls, doc, {}, **known)
        question._document, question._images = doc, getattr(doc, "images", None)
        return question

    def with_images(
        self, load: Callable[[], Sequence[Any]], longest: int = DEFAULT_LONGEST
    ) -> Question:
        """This question with its Pillow images, which are loaded when a judge needs them."""
        self._images = DocumentImages(load, longest, self.language)
        return self

    @property
    def images(self) -> DocumentImages | None:
        """The images for judges with vision; None if they are not available."""
        return self._images

    @property
    def document(self) -> Mapping[str, Any]:
        """The document that the question was made of; empty if it was read from a record."""
        return self._document

    @property
    def id(self) -> str:
        """The id in the data as text; else the document's number in the data."""
        if self.own_id is None:
            return str(self.key[1])
        return self.own_id if isinstance(self.own_id, str) else shown(self.own_id)

    @property
    def abilities(self) -> tuple[str, ...]:
        """The abilities, in English if RPTS-Eval names them in both languages."""
        return tuple(dict.fromkeys(_ABILITIES.get(name, name) for name in self.ability))

    @property
    def is_statement(self) -> bool:
        """Whether models were asked to agree or disagree, rather than asked a question."""
        return self.answer in STANCES

    @property
    def cluster(self) -> tuple[str, str]:
        """Key that the document shares with its translation."""
        return cluster_of(self.task, self.id)


# --- checks before a run -------------------------------------------------------------------------


class ReasoningDocument(Model):
    """The fields that RPTS needs; ``reasoning`` and the clues may be empty."""

    language: Language
    statement: Text
    context: Text
    reasoning: Several[Text]
    textual_clue: Several[Text]
    visual_clue: Several[Text]
    answer: Any
    ability: tuple[Text, ...] | None = None
    relation: Relation | None = None


def missing_fields(doc: Mapping[str, Any], kind: type[Model]) -> list[str]:
    """The fields that a document of this kind lacks."""
    needed = (name for name, field in kind.model_fields.items() if field.is_required())
    return [name for name in needed if name not in doc]


def field_faults(doc: Mapping[str, Any], kind: type[Model]) -> list[str]:
    """Errors in a document's fields, each in one sentence without its full stop."""
    try:
        kind.model_validate(dict(doc))
    except ValidationError as error:
        return all_faults(error)
    return []


def gold_faults(doc: Mapping[str, Any]) -> Iterator[str]:
    """Errors in the gold reasoning, as sentences without their full stops.

    If no gold step cites an image, any claim about the image scores 1, as published: a line that
    cannot be parsed would silently give away points.

    Args:
        doc: a document with lists of strings as ``reasoning`` and ``visual_clue``.
    """
    chain = parse_chain(list(doc["reasoning"]))
    for problem in chain.problems:
        yield f"cannot parse 'reasoning': {problem}; write Image0 + Text1 -> conclusion"
    images = len(doc["visual_clue"])
    for at, step in enumerate(chain.steps):
        for clue in step.premises:
            if clue.kind == "image" and clue.index is not None and clue.index >= images:
                yield (
                    f"'reasoning' cites Image{clue.index} in line {at}, but the document has "
                    f"{count(images, 'image')}, numbered from 0"
                )

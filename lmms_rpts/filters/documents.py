"""Documents: checks of their fields, their form in records, and their alignment with responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import ValidationError

from lmms_rpts.base.escaping import count
from lmms_rpts.base.schema import Model, Several, Text, all_faults
from lmms_rpts.judging.images import DEFAULT_LONGEST, ImageError, JudgeImage
from lmms_rpts.reasoning import parse_chain
from lmms_rpts.reasoning.clues import Language

Asked = TypeVar("Asked", bound=Model)

Stance = Literal["agree", "disagree"]
STANCES: tuple[Stance, ...] = get_args(Stance)

Relation = Literal["guided", "adversarial", "independent"]
"""How images and texts relate (Wang and Zhang, RPTS, arXiv 2511.06899)."""


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


def as_text(value: object) -> str:
    """Any value of a document, as text for a record."""
    try:
        return value if isinstance(value, str) else str(value)
    except Exception:  # any error of a third-party type; an integer of 5000 digits
        return f"this {type(value).__name__}"


def as_texts(value: object) -> tuple[str, ...]:
    """A list in a document, as texts for a record; empty for any other value."""
    return tuple(map(as_text, value)) if isinstance(value, list | tuple) else ()


def as_language(value: object) -> Language:
    """The language of a document; English for any other value."""
    return "zh" if isinstance(value, str) and value == "zh" else "en"


def instance_of(
    kind: type[Asked], doc: Mapping[str, Any], names: Mapping[str, str], /, **known: Any
) -> Asked:
    """The question as far as a record can hold it: odd documents must not lose paid-for replies.

    Args:
        kind: type of the question: fields with texts, whole numbers or lists of these.
        names: names in the document, where they differ.
        known: values that are not read from the document.
    """
    fields = {
        name: _recorded(doc.get(names.get(name, field.alias or name)), field.annotation)
        for name, field in kind.model_fields.items()
        if name not in known and not field.exclude
    }
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
    if getattr(plain, "__origin__", plain) is int:
        whole = type(value) is int and 0 <= value < 2**63
        return value if whole else None if optional else 0
    return (None if optional else "") if value is None else as_text(value)


# --- documents of responses ----------------------------------------------------------------------

Visuals = Callable[[int], Sequence[Any]]
"""Returns the Pillow images of a document by its number; decodes them at each call."""

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


class Document(dict[str, Any]):
    """The fields of a document; ``images``: for judges with vision, None if unavailable."""

    images: DocumentImages | None = None


def images_of(doc: Mapping[str, Any]) -> DocumentImages | None:
    """The images of a document that was passed to a filter; None if unavailable."""
    return getattr(doc, "images", None)


class AlignedDocuments(Sequence[Mapping[str, Any]]):
    """The documents of some instances, in the instances' order, without their media.

    lmms-eval pairs the responses of this process with the documents of the whole data set, which
    are different documents if there are several processes or an offset. Read-only and lazy: a row
    is read on access, and no image is decoded until a judge needs it.

    Args:
        docs: all documents of the task, by number.
        doc_ids: the numbers of the instances' documents.
        task: the task of the documents.
        visuals: returns their images; None: no images for judges.
        longest: maximum of the longer side of images for judges, in pixels.
    """

    def __init__(
        self,
        docs: Any,
        doc_ids: Iterable[int],
        task: str | None = None,
        visuals: Visuals | None = None,
        longest: int = DEFAULT_LONGEST,
    ) -> None:
        self.task = task
        self.doc_ids = list(doc_ids)
        self._docs = without_media(docs)
        self._visuals, self._longest = visuals, longest
        self._images: dict[int, DocumentImages] = {}

    def __len__(self) -> int:
        return len(self.doc_ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._document(doc_id) for doc_id in self.doc_ids[at]]
        return self._document(self.doc_ids[at])

    def _document(self, doc_id: int) -> Mapping[str, Any]:
        row = self._docs[doc_id]
        visuals = self._visuals
        if visuals is None:
            return row  # type: ignore[no-any-return]  # from a data set of any kind
        doc = Document(row)
        if doc_id not in self._images:  # shared by all responses to the document
            self._images[doc_id] = DocumentImages(
                lambda: visuals(doc_id), self._longest, str(doc.get("language"))
            )
        doc.images = self._images[doc_id]
        return doc


def without_media(docs: Any) -> Any:
    """A data set without its columns of images, sounds and videos; other objects unchanged."""
    features = getattr(docs, "features", None)
    if features is None:
        return docs
    from datasets import Audio, Image, Sequence, Video

    def is_media(feature: Any) -> bool:
        inner = feature.feature if isinstance(feature, Sequence) else feature
        return isinstance(inner, Audio | Image | Video)

    media = [name for name, feature in features.items() if is_media(feature)]
    return docs.remove_columns(media)

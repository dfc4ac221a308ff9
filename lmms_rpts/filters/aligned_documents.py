"""Documents aligned with responses, with their images for judges with vision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lmms_rpts.judging.images import DEFAULT_LONGEST, ImageError, JudgeImage

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

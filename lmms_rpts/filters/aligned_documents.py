"""The documents that belong to some responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class AlignedDocuments(Sequence[Mapping[str, Any]]):
    """The documents of some instances, in the instances' order, without their media.

    lmms-eval pairs this process's responses with the documents of the whole data set, which are
    others as soon as there are several processes or an offset. Read-only and lazy: a row is read
    when it is asked for, and no image is decoded. ``task``: whose documents they are.
    """

    def __init__(self, docs: Any, doc_ids: Sequence[int], task: str | None = None) -> None:
        self.task = task
        self._docs = without_media(docs)
        self._doc_ids = list(doc_ids)

    def __len__(self) -> int:
        return len(self._doc_ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._docs[doc_id] for doc_id in self._doc_ids[at]]
        return self._docs[self._doc_ids[at]]


def without_media(docs: Any) -> Any:
    """A data set without its columns of images, sounds and videos; others as they are."""
    features = getattr(docs, "features", None)
    if features is None:
        return docs
    from datasets import Audio, Image, Sequence, Video

    def is_media(feature: Any) -> bool:
        inner = feature.feature if isinstance(feature, Sequence) else feature
        return isinstance(inner, Audio | Image | Video)

    media = [name for name, feature in features.items() if is_media(feature)]
    return docs.remove_columns(media)

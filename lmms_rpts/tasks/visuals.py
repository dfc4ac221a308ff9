"""Images of a document of any task of lmms-eval, for judges with vision."""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageFile

from lmms_rpts.judging.images import ImageError
from lmms_rpts.tasks.images import FORMATS


def task_images(task: Any, doc_id: int) -> list[Any]:
    """The images of a document, in the order in which the model gets them.

    Args:
        task: lmms-eval's ConfigurableTask.
        doc_id: number of the document in the evaluated split.

    Returns:
        Pillow images.

    Raises:
        ImageError: if the document has other media, such as a video, or a broken image.
    """
    lenient = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # lmms-eval sets it: half an image is broken
    try:
        return [_opened(each) for each in visuals_of(task, task.task_docs[doc_id])]
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient


def visuals_of(task: Any, doc: Mapping[str, Any]) -> list[Any]:
    """The media of a document as the task returns them: images, paths, videos."""
    if callable(task.config.doc_to_visual):
        return _listed(task.doc_to_visual(doc))
    if callable(task.config.doc_to_messages):
        return list(_in_messages(messages_of(task, doc)))
    return _listed(task.doc_to_visual(doc)) if task.config.doc_to_visual else []


def messages_of(task: Any, doc: Mapping[str, Any]) -> Any:
    """The chat of a document, for any model: lmms-eval builds it for chat models only."""
    if hasattr(task, "doc_to_messages"):
        return task.doc_to_messages(doc)
    build, more = task.config.doc_to_messages, task.lmms_eval_specific_kwargs
    takes_more = "lmms_eval_specific_kwargs" in inspect.signature(build).parameters
    if more is not None and takes_more:
        return build(doc, lmms_eval_specific_kwargs=more)
    return build(doc)


def image_fault(visual: Any) -> str | None:
    """Why a medium cannot be sent to a judge; None for an image."""
    try:
        _opened(visual)
    except ImageError as error:
        return str(error)
    except Exception:  # a broken image: of one document
        return None
    return None


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [] if found is None else [found]


def _in_messages(messages: Any) -> Iterator[Any]:
    for message in messages if isinstance(messages, Sequence) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") not in (None, "text"):
                yield part.get("url", part.get("image", part))


def _opened(visual: Any) -> Any:
    if isinstance(visual, Image.Image):
        return visual
    if isinstance(visual, Mapping) and isinstance(visual.get("bytes"), bytes):
        return Image.open(io.BytesIO(visual["bytes"]), formats=FORMATS)
    if isinstance(visual, bytes):
        return Image.open(io.BytesIO(visual), formats=FORMATS)
    if isinstance(visual, str | Path) and Path(visual).is_file():
        return Image.open(visual, formats=FORMATS)
    kind = type(visual).__name__
    raise ImageError(f"judges support only images, not values of type {kind}")

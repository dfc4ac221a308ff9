"""Images of documents: checks before a run, and decoding for models and judges."""

from __future__ import annotations

import inspect
import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageFile
from tqdm import tqdm

from lmms_rpts.base.paths import hint_at
from lmms_rpts.judging.images import ImageError
from lmms_rpts.tasks.data import DataError

if TYPE_CHECKING:
    from datasets import Dataset

_MANY = 100
_LONGEST_NAME = 300
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
"""No other formats: Pillow would start Ghostscript for PostScript."""


def image_faults(paths: Iterable[Path], root: Path | None) -> dict[Path, str]:
    """The faults of images that are missing, outside of their folder, or damaged.

    An unchanged file is decoded only once. Shows progress if there are many.

    Args:
        paths: the images, as named in the data.
        root: the data's folder, outside of which nothing is opened; None: the user chose the files.
    """
    each = sorted(set(paths))
    shown = tqdm(each, desc="Checking images", disable=len(each) <= _MANY)
    faults = {path: (root and outside_fault(path, root)) or _fault(path) for path in shown}
    return {path: fault for path, fault in faults.items() if fault is not None}


def named_faults(
    images: Iterable[tuple[str, Sequence[str]]], folder: Path, root: Path
) -> Iterator[str]:
    """The faults of the images of instances, each with the name of its instance.

    Args:
        images: pairs of an instance's name and the names of its images.
        folder: folder of the images.
        root: as for ``image_faults``.
    """
    listed = list(images)
    faults = image_faults((folder / name for _, names in listed for name in names), root)
    for instance, names in listed:
        found = (faults.get(folder / name) for name in names)
        yield from (f"{instance}: {fault}" for fault in found if fault)


def outside_fault(path: Path, root: Path) -> str | None:
    """Why an image outside of the data's folder, by name or link, is refused; None if inside.

    Names and links come with the data: ``../../x.png`` or a link to it would show any file of
    this machine to the model.
    """
    if not path.is_relative_to(root) or ".." in path.relative_to(root).parts:
        return f"the image {path} may be outside of {root}: use a file below it, without '..'"
    try:
        places = _real_places(root)
        real = path.resolve() if path.is_symlink() else _real_folder(path.parent) / path.name
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a name with a zero byte
        return _unreadable(path, error)
    if not any(real.is_relative_to(place) for place in places):
        return (
            f"the image {path} is a link to a file outside of {root}: copy the images into that "
            "folder"
        )
    return None


@lru_cache(maxsize=64)
def _real_folder(folder: Path) -> Path:
    return folder.resolve()


@lru_cache(maxsize=64)
def _real_places(root: Path) -> tuple[Path, ...]:
    """The folders that may contain a data folder's files: itself, or the Hub's cache around it."""
    real = root.resolve()
    # HUB/datasets--OWNER--NAME/snapshots/REVISION/x.png is a link to .../blobs/DIGEST.
    blobs = [
        parent.parent / "blobs" for parent in (real, *real.parents) if parent.name == "snapshots"
    ]
    return (real, *(each for each in blobs if each.is_dir()))


def add_image_column(
    dataset: Dataset, names: Sequence[Sequence[str]], folder: Path, root: Path
) -> Dataset:
    """Add a column ``images``, which are decoded when a document is accessed.

    Args:
        names: the names of the images of each document.
        folder: folder of the images.
        root: the data's folder, which must contain all images.

    Raises:
        DataError: if an image is outside of ``root``.
    """
    from datasets import Image
    from datasets import Sequence as ListOf

    paths = [[str(folder / name) for name in each] for each in names]
    # Again: a custom task may use this data set without its checks.
    for path in itertools.chain.from_iterable(paths):
        if fault := outside_fault(Path(path), root):
            raise DataError(fault[:1].upper() + fault[1:])
    return dataset.add_column("images", paths).cast_column("images", ListOf(Image()))


def as_rgb(image: Any) -> Any:
    """The image in RGB, whatever its mode."""
    if image.mode.startswith("I"):
        # Pillow would clip 16 bits of grey to white.
        image = image.convert("I").point(lambda grey: grey * (1 / 256)).convert("L")
    return image.convert("RGB")


def _fault(path: Path) -> str | None:
    try:
        return _decoding_fault(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return f"the image {path} is missing{hint_at(path)}"
    except (OSError, ValueError) as error:
        return _unreadable(path, error)


@lru_cache(maxsize=4096)
def _decoding_fault(path: Path, stamp: int) -> str | None:
    reason = fault_of_image(lambda: Image.open(path, formats=FORMATS))
    return None if reason is None else _unreadable(path, reason)


def fault_of_image(opened: Callable[[], Image.Image]) -> str | None:
    """Why an image cannot be decoded; None if it can. Truncated files have a valid header."""
    lenient = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = False  # lmms-eval sets it: models get half-grey images
    try:
        with opened() as image:
            image.load()
        return None
    except Exception as error:  # Pillow may raise any error for a broken file
        return str(getattr(error, "strerror", None) or error)
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient


def _unreadable(path: Path, reason: object) -> str:
    """The fault of an image, with its reason; a long name is shortened."""
    name = str(path)
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME // 2]}\N{HORIZONTAL ELLIPSIS}{name[-_LONGEST_NAME // 2 :]}"
    return f"cannot read the image {name} ({getattr(reason, 'strerror', None) or reason})"


# --- documents of any task ------------------------------------------------------------------------


def task_images(task: Any, doc_id: int) -> list[Any]:
    """The images of a document, in the order in which the model gets them.

    Args:
        task: lmms-eval's ConfigurableTask.
        doc_id: number of the document in the evaluated split.

    Returns:
        Pillow images.
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

"""Thumbnails of instances' images: by name, or from their benchmark's own function."""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from loguru import logger
from PIL import Image, ImageFile, ImageOps
from tqdm import tqdm

from lmms_rpts.host.task_files import load_task, named_images, own_image_folders, read_image_name
from lmms_rpts.report.entries import View
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import FORMATS
from lmms_rpts.tasks.registry import images_folder
from lmms_rpts.tasks.rpts_eval.task import DEMO_TASK

_FORMAT, _TYPE, _QUALITY = "WEBP", "image/webp", 72
# 4, the default, takes twice as long as 2 and saves 4% of the bytes.
_METHOD = 2
_MOST_PIXELS = 50_000_000
_MOST_BYTES = 200_000_000  # 50 megapixels in 32 bits, uncompressed
_LARGE = 8_000_000
_THREADS = max(2, min(os.cpu_count() or 2, 16))
_MANY = 40
_one_large = Lock()


class Picture(NamedTuple):
    """An image as the report shows it: small, in WebP; ``width`` and ``height`` in pixels."""

    content: bytes
    width: int
    height: int

    @property
    def data_uri(self) -> str:
        """The picture as a data URI."""
        return f"data:{_TYPE};base64,{base64.b64encode(self.content).decode('ascii')}"


Gallery = Mapping[tuple[str, str], Picture]
"""Pictures by task and file name."""


def shrink(path: Path, longest: int) -> Picture | None:
    """An image whose longer side has at most ``longest`` pixels; None if it can't be read."""
    with suppress(Exception):  # a broken file may raise anything in Pillow; the page has a note
        if path.stat().st_size > _MOST_BYTES:
            return None
        ImageFile.LOAD_TRUNCATED_IMAGES = False  # lmms-eval sets it; truncated images are errors
        with warnings.catch_warnings(), Image.open(path, formats=FORMATS) as image:
            warnings.simplefilter("ignore")  # Pillow warns about sizes, which are checked here
            with _one_large if image.width * image.height > _LARGE else nullcontext():
                return shrink_image(image, longest)
    return None


def shrink_image(image: Image.Image, longest: int) -> Picture | None:
    """A Pillow image, scaled down as by ``shrink``; None if it can't be shown."""
    with suppress(Exception):  # a broken image may raise anything in Pillow
        if image.width * image.height <= _MOST_PIXELS:
            return _shrunk(image, longest)
    return None


def _shrunk(image: Image.Image, longest: int) -> Picture:
    turned = image.getexif()
    image.draft("RGB", (longest, longest))
    image.thumbnail((longest, longest), Image.Resampling.HAMMING)
    image.getexif().update(turned)
    upright = ImageOps.exif_transpose(image)
    shown = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    out = io.BytesIO()
    # Only the pixels are encoded: nothing else in the file gets into the report.
    shown.save(out, _FORMAT, quality=_QUALITY, method=_METHOD, exif=b"", icc_profile=b"")
    return Picture(out.getvalue(), shown.width, shown.height)


def place_of(folder: Path, name: str) -> Path | None:
    """The file of an image below its folder; None if there is none."""
    # Names come from data and must stay inside; links come from the folder's owner and are followed
    # (the Hub's cache consists of links).
    named = Path(name)
    with suppress(OSError, ValueError):
        if not named.is_absolute() and not named.drive and ".." not in named.parts:
            return folder / named if (folder / named).is_file() else None
    return None


def find_pictures(
    wanted: Set[tuple[str, str]],
    images: Path | None,
    longest_side: int,
    progress: bool = True,
    include_path: Path | None = None,
) -> dict[tuple[str, str], Picture]:
    """The pictures of the images that are found, by task and name.

    Args:
        images: folder of the tasks with an image in it; None: each task has its own folder.
        include_path: folder with custom tasks.
    """
    tasks: dict[str, list[str]] = {}
    for task, name in sorted(wanted):
        tasks.setdefault(task, []).append(name)
    own = own_image_folders(include_path)
    places: dict[tuple[str, str], Path] = {}
    for task, names in tasks.items():
        # The demo has its own images.
        is_given = images and task != DEMO_TASK and any(place_of(images, each) for each in names)
        folder = images if is_given else own.get(task) or images_folder(task)
        if folder is not None:
            there = {(task, name): place_of(folder, name) for name in names}
            places |= {image: path for image, path in there.items() if path}
    # Pillow releases the GIL while it decodes, resizes and encodes.
    paths = sorted({*places.values()})
    with ThreadPoolExecutor(_THREADS) as pool:
        made = pool.map(lambda path: shrink(path, longest_side), paths)
        disable = not progress or len(paths) < _MANY
        shown = tqdm(made, "Shrinking images", len(paths), disable=disable)
        shrunk = dict(zip(paths, shown, strict=True))
    found = {image: each for image, path in places.items() if (each := shrunk[path])}
    for task, every in tasks.items():
        # Images that only a task of lmms-eval has: the task is loaded for them.
        named = [name for name in every if read_image_name(task, name) is not None]
        try:
            loaded = load_task(task, include_path) if named else None
        except DataError as error:
            logger.warning("The images of {} are left out: {}", task, error)
            continue
        for name, image in named_images(loaded, task, named) if loaded else ():
            if picture := shrink_image(image, longest_side):
                found[task, name] = picture
    return found


def own_pictures(
    views: Iterable[View], images: Path | None, longest: int
) -> dict[tuple[str, str], Picture]:
    """The pictures from benchmarks' own functions, by the anchor of the instance.

    Args:
        images: the folder set by the user; None: the benchmark's own folder.
        longest: longer side, in pixels.
    """
    found: dict[tuple[str, str], Picture] = {}
    for view in views:
        for entry in (each for each in view.entries if "" in each.images):
            folder = images or images_folder(entry.task)
            try:
                image = view.benchmark.picture and view.benchmark.picture(entry.instance, folder)
            except Exception as error:  # a function of another package, called with any file
                logger.warning("The image of {} is left out: {}", entry.anchor, error)
                continue
            if image is not None and (picture := shrink_image(image, longest)):
                found[entry.anchor, ""] = picture
    return found

"""Small pictures of the images of instances: by file name, or from a benchmark's own function."""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from loguru import logger
from PIL import Image, ImageFile, ImageOps
from tqdm import tqdm

from lmms_rpts.host.task_files import load_task, named_images, own_image_folders, read_image_name
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import FORMATS
from lmms_rpts.tasks.registry import images_folder
from lmms_rpts.tasks.rpts_eval.task import DEMO_TASK

# JPEG is written in a sixth of the time of WebP, which is for transparent images only.
_QUALITY = 75
_MOST_PIXELS = 50_000_000
_MOST_BYTES = 200_000_000  # 50 megapixels in 32 bits, uncompressed
_LARGE = 8_000_000
_THREADS = max(2, min(os.cpu_count() or 2, 16))
_MANY = 40
_one_large = Lock()


class Picture(NamedTuple):
    """An image as the report shows it: small; ``width`` and ``height`` in pixels."""

    content: bytes
    kind: str  # jpeg or webp
    width: int
    height: int

    @property
    def data_uri(self) -> str:
        """The picture as a data URI."""
        return f"data:image/{self.kind};base64,{base64.b64encode(self.content).decode('ascii')}"


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
        if image.width * image.height > _MOST_PIXELS:
            return None
        turned = image.getexif()
        image.draft("RGB", (longest, longest))
        image.thumbnail((longest, longest), Image.Resampling.BOX)
        image.getexif().update(turned)
        upright = ImageOps.exif_transpose(image)
        kind = "webp" if upright.has_transparency_data else "jpeg"
        shown = upright.convert("RGBA" if kind == "webp" else "RGB")
        out = io.BytesIO()
        # Only the pixels are encoded: nothing else in the file gets into the report.
        shown.save(out, kind, quality=_QUALITY, exif=b"", icc_profile=b"")
        return Picture(out.getvalue(), kind, shown.width, shown.height)
    return None


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
    wanted: Iterable[tuple[str, str]],
    images: Path | None,
    longest: int,
    progress: bool = True,
    include_path: Path | None = None,
) -> dict[tuple[str, str], Picture]:
    """The pictures of the images that are on this machine, by task and file name.

    Args:
        wanted: tasks and file names.
        images: folder of the tasks with an image in it; None: each task has its own folder.
        longest: maximum of the longer side, in pixels.
        include_path: folder with custom tasks.
    """
    tasks: dict[str, list[str]] = {}
    for task, name in sorted(set(wanted)):
        tasks.setdefault(task, []).append(name)
    own = own_image_folders(include_path) if include_path else {}
    places: dict[tuple[str, str], Path] = {}
    for task, names in tasks.items():
        # The demo has its own images.
        chosen = images and task != DEMO_TASK and any(place_of(images, name) for name in names)
        folder = images if chosen else own.get(task) or images_folder(task)
        for name in names:
            if folder and (place := place_of(folder, name)):
                places[task, name] = place
    # Pillow releases the GIL while it decodes, resizes and encodes.
    paths = sorted({*places.values()})
    with ThreadPoolExecutor(_THREADS) as pool:
        made = pool.map(lambda path: shrink(path, longest), paths)
        hidden = not progress or len(paths) < _MANY
        shown = tqdm(made, "Shrinking images", len(paths), disable=hidden)
        shrunk = dict(zip(paths, shown, strict=True))
    pictures = {key: picture for key, path in places.items() if (picture := shrunk[path])}
    for task, names in tasks.items():
        # Images that only a task of lmms-eval has: the task is loaded for them.
        numbered = [name for name in names if "#" in name and read_image_name(task, name)]
        try:
            loaded = load_task(task, include_path) if numbered else None
        except DataError as error:
            logger.warning("The images of {} are left out: {}", task, error)
            continue
        for name, image in named_images(loaded, task, numbered) if loaded else ():
            if picture := shrink_image(image, longest):
                pictures[task, name] = picture
    return pictures


def own_picture(
    benchmark: Benchmark, question: Any, images: Path | None, longest: int
) -> Picture | None:
    """The picture of a question from its benchmark's function; ``images``: as above."""
    folder = images or images_folder(question.task)
    try:
        image = benchmark.picture and benchmark.picture(question, folder)
    except Exception as error:  # it decodes whatever the data hold
        logger.warning("An image of {} is left out: {}", question.task, error)
        return None
    return None if image is None else shrink_image(image, longest)

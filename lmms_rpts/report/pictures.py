"""Thumbnails of instances' images for a report."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from PIL import Image, ImageFile, ImageOps
from tqdm import tqdm

from lmms_rpts.tasks.images import FORMATS

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
        """The picture as a data URI, for a page in one file."""
        return f"data:{_TYPE};base64,{base64.b64encode(self.content).decode('ascii')}"

    @property
    def file_name(self) -> str:
        """The name of its file, for a report in a folder: a hash of the content."""
        return f"{hashlib.sha256(self.content).hexdigest()[:20]}.webp"


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


def shrink_all(
    wanted: Iterable[tuple[Path, str]], longest: int, progress: bool = True
) -> Mapping[tuple[Path, str], Picture]:
    """Shrink images, named by folder and file name; those that can't be shown are left out.

    Files outside their folder are ignored, since names come from data.

    Args:
        wanted: folder and name of each image.
        longest: the longer side of a thumbnail, in pixels.
        progress: whether a progress bar is shown for many images.
    """
    names = sorted(set(wanted))
    paths = [place_of(folder, name) for folder, name in names]
    # Pillow releases the GIL while it decodes, resizes and encodes.
    with ThreadPoolExecutor(_THREADS) as pool:
        made = pool.map(lambda path: shrink(path, longest) if path else None, paths)
        disable = not progress or len(names) < _MANY
        shown = tqdm(made, "Shrinking images", len(names), disable=disable)
        return {name: each for name, each in zip(names, shown, strict=True) if each is not None}


def place_of(folder: Path, name: str) -> Path | None:
    """The file of an image below its folder; None if there is none."""
    # Names come from data and must stay inside; links come from the folder's owner and are followed
    # (the Hub's cache consists of links).
    named = Path(name)
    with suppress(OSError, ValueError):
        if not named.is_absolute() and not named.drive and ".." not in named.parts:
            return folder / named if (folder / named).is_file() else None
    return None

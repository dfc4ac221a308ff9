"""Thumbnails of instances' images for a report."""

from __future__ import annotations

import base64
import hashlib
import io
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from PIL import Image, ImageFile, ImageOps
from tqdm import tqdm

from lmms_rpts.tasks.images import FORMATS

_FORMAT, _TYPE, _QUALITY = "WEBP", "image/webp", 72
_MOST_PIXELS = 50_000_000
_LARGE = 8_000_000
_MOST_SCANS = 40
_THREADS = 4
_MANY = 40
_one_large = Lock()


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as the report shows it: small, in WebP; ``width`` and ``height`` in pixels."""

    content: bytes
    width: int
    height: int

    @property
    def data_uri(self) -> str:
        """For a page that holds it itself."""
        return f"data:{_TYPE};base64,{base64.b64encode(self.content).decode('ascii')}"

    @property
    def file_name(self) -> str:
        """For a page with files beside it: told by the content."""
        return f"{hashlib.sha256(self.content).hexdigest()[:20]}.webp"


def shrink(path: Path, longest: int) -> Picture | None:
    """An image whose longer side has at most ``longest`` pixels; None if it can't be read."""
    try:
        ImageFile.LOAD_TRUNCATED_IMAGES = False  # lmms-eval sets it: half a picture is none
        with warnings.catch_warnings(), Image.open(path, formats=FORMATS) as image:
            warnings.simplefilter("ignore")  # about sizes, which are looked at here
            pixels = image.width * image.height
            if pixels > _MOST_PIXELS or _is_endless(path, image):
                return None
            with _one_large if pixels > _LARGE else nullcontext():
                return _shrunk(image, longest)
    except Exception:  # Pillow raises whatever a broken file makes it raise; the page says so
        return None


def shrink_image(image: Image.Image, longest: int) -> Picture | None:
    """An image of Pillow, as ``shrink`` makes it of a file; None if it can't be shown."""
    try:
        if image.width * image.height > _MOST_PIXELS:
            return None
        return _shrunk(image, longest)
    except Exception:  # Pillow raises whatever a broken image makes it raise
        return None


def _shrunk(image: Image.Image, longest: int) -> Picture:
    turned = image.getexif()
    image.draft("RGB", (longest, longest))
    image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    image.getexif().update(turned)
    upright = ImageOps.exif_transpose(image)
    shown = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    out = io.BytesIO()
    # Made anew from the pixels: nothing else that the file holds gets into the report.
    shown.save(out, _FORMAT, quality=_QUALITY, exif=b"", icc_profile=b"")
    return Picture(out.getvalue(), shown.width, shown.height)


def _is_endless(path: Path, image: Image.Image) -> bool:
    """Whether a small file takes long: each scan of a progressive JPEG is a pass over all of it."""
    return image.format == "JPEG" and path.read_bytes().count(b"\xff\xda") > _MOST_SCANS


def shrink_all(
    wanted: Iterable[tuple[Path, str]], longest: int, progress: bool = True
) -> Mapping[tuple[Path, str], Picture]:
    """Shrink images, named by folder and file name; those that can't be shown are left out.

    Files outside their folder are not looked at: names come from data.
    """
    names = sorted(set(wanted))
    paths = [_inside(folder, name) for folder, name in names]
    # Pillow lets other threads work while it decodes.
    with ThreadPoolExecutor(_THREADS) as pool:
        made = pool.map(lambda path: shrink(path, longest) if path else None, paths)
        shown = tqdm(
            made,
            total=len(names),
            desc="Shrinking images",
            disable=not progress or len(names) < _MANY,
        )
        return {
            name: picture for name, picture in zip(names, shown, strict=True) if picture is not None
        }


def _inside(folder: Path, name: str) -> Path | None:
    # Names come from data, links from who keeps the folder (the Hub's cache is made of them).
    named = Path(name)
    if named.is_absolute() or named.drive or ".." in named.parts:
        return None
    try:
        return folder / named if (folder / named).is_file() else None
    except (OSError, ValueError):
        return None

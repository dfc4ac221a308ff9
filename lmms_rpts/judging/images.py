"""Images for judges: upright, RGB, on white, bounded in size, encoded on demand, never kept."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lmms_rpts.base.escaping import storable

# Pixels of the longer side; and of the shorter one, with a white frame: vision encoders refuse
# images that are smaller than a patch or extremely narrow.
DEFAULT_LONGEST, SMALLEST = 1536, 32
MOST_PIXELS = 120_000_000
_one_at_a_time = threading.Lock()


class ImageError(ValueError):
    """An image cannot be sent to a judge; the message gives the reason."""


class JudgeImage:
    """One image of a question, by its name in the prompt; only its digest and size are kept.

    ``load`` returns the Pillow image, whenever it is sent; ``longest``: side, in pixels.
    """

    def __init__(self, name: str, load: Callable[[], Any], longest: int = DEFAULT_LONGEST) -> None:
        self.name, self._load, self._longest = name, load, longest
        self._digest: str | None = None
        self.known_size: tuple[int, int] | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the encoded image, in hexadecimal; raises ImageError."""
        return self._digest or hashlib.sha256(self.encoded()).hexdigest()

    def encoded(self) -> bytes:
        """The image as a JPEG; raises ImageError if it cannot be read."""
        from PIL import ImageFile

        # One at a time: a decoded image may take hundreds of megabytes.
        with _one_at_a_time:
            # A global setting of Pillow: truncated images are refused, whatever lmms-eval has set.
            lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
            try:
                content, self.known_size = encode_image(self._load(), self._longest)
            # Any error of Pillow or a task for a broken file; a task may even call exit().
            except (Exception, SystemExit) as error:
                kind = "" if isinstance(error, ImageError) else type(error).__name__
                reason = " ".join(f"{kind} {storable(str(error))}".split())[:300]
                raise ImageError(f"Cannot read {self.name} ({reason})") from None
            finally:
                ImageFile.LOAD_TRUNCATED_IMAGES = lenient
        digest = hashlib.sha256(content).hexdigest()
        if self._digest not in (None, digest):
            raise ImageError(f"{self.name} changed after it was first read")
        self._digest = digest
        return content


def encode_image(image: Any, longest: int = DEFAULT_LONGEST) -> tuple[bytes, tuple[int, int]]:
    """The current frame as judges see it, as JPEG, and its size; the image is not changed."""
    from PIL import Image, ImageOps

    if not 0 < (pixels := image.width * image.height) <= MOST_PIXELS:
        raise ImageError(f"it has {pixels:,} pixels; 1 to {MOST_PIXELS:,} are read")
    shown = image
    with suppress(OSError, ValueError, KeyError, SyntaxError, EOFError, AttributeError):
        # From the file, if there is one: the caller's image stays undecoded.
        at = image.fp.tell()
        image.fp.seek(0)
        fresh = Image.open(io.BytesIO(image.fp.read()))
        image.fp.seek(at)
        fresh.seek(image.tell())
        if not fresh.tell():
            fresh.draft(None, (longest, longest))  # a large JPEG is decoded at a smaller scale
        shown = fresh
    shown.load()
    with suppress(Exception):  # broken EXIF, which viewers ignore, too
        shown = ImageOps.exif_transpose(shown)
    if shown.mode.startswith("I"):  # grey of 16 bits: Pillow would clip it to white
        shown = shown.convert("I").point(lambda value: value * (1 / 257) + 0).convert("L")
    elif shown.mode not in ("L", "LA", "RGB", "RGBA", "CMYK") or "transparency" in shown.info:
        shown = shown.convert("RGBA" if shown.has_transparency_data else "RGB")
    if max(shown.size) > longest:
        shown = ImageOps.contain(shown, (longest, longest), Image.Resampling.BICUBIC)
    if shown.has_transparency_data:
        white = Image.new("RGBA", shown.size, "white")
        shown = Image.alpha_composite(white, shown.convert("RGBA"))
    width, height = (max(min(SMALLEST, longest), side) for side in shown.size)
    flat = Image.new("RGB", (width, height), "white")
    flat.paste(shown.convert("RGB"), ((width - shown.width) // 2, (height - shown.height) // 2))
    out = io.BytesIO()
    flat.save(out, "JPEG", quality=92, subsampling=0)
    return out.getvalue(), flat.size

"""Images for judges: upright, RGB, on white, bounded in size, encoded on demand, never kept."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from lmms_rpts.base.escaping import storable

# Default maximum of the longer side of an image for a judge, in pixels.
DEFAULT_LONGEST = 1536

# Minimum of the shorter side in pixels: narrower images get a white frame. Vision encoders refuse
# images that are smaller than a patch or extremely narrow.
SMALLEST = 32

MOST_PIXELS = 120_000_000
MEDIA_TYPE = "image/jpeg"
# Modes with 8 bits per channel, whose values can be blended
_BLENDED = ("L", "LA", "RGB", "RGBA", "CMYK")

_one_at_a_time = threading.Lock()


class ImageError(ValueError):
    """Raised for an image that cannot be sent to a judge; the message gives the reason."""


class JudgeImage:
    """One image of a question, by its name in the prompt; only its digest and size are kept.

    ``load`` returns the Pillow image, whenever it is sent; ``longest``: side, in pixels.
    """

    __slots__ = ("_digest", "_load", "_longest", "known_size", "name")

    def __init__(self, name: str, load: Callable[[], Any], longest: int = DEFAULT_LONGEST) -> None:
        self.name = name
        self._load, self._longest = load, longest
        self._digest: str | None = None
        self.known_size: tuple[int, int] | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the encoded image, in hexadecimal; raises ImageError."""
        return self._digest or hashlib.sha256(self.encoded()).hexdigest()

    def encoded(self) -> bytes:
        """The image as a JPEG; raises ImageError if it cannot be read."""
        # One at a time: a decoded image may take hundreds of megabytes.
        with _one_at_a_time, _strict_reading():
            try:
                content, self.known_size = encode_image(self._load(), self._longest)
            except ImageError as error:
                raise ImageError(f"{self.name}: {error}") from None
            # Any error of Pillow or a task for a broken file; a task may even call exit().
            except (Exception, SystemExit) as error:
                reason = " ".join(storable(str(error)).split())[:300]
                if isinstance(error, SystemExit) or not reason:
                    reason = f"{type(error).__name__} {reason}".strip()
                raise ImageError(f"Cannot read {self.name} ({reason})") from None
        digest = hashlib.sha256(content).hexdigest()
        if self._digest not in (None, digest):
            raise ImageError(f"{self.name} changed after it was first read")
        self._digest = digest
        return content


def encode_image(image: Any, longest: int = DEFAULT_LONGEST) -> tuple[bytes, tuple[int, int]]:
    """The current frame as judges see it: upright, in RGB on white, bounded in size, as JPEG; and
    its width and height. The image itself is not changed."""
    from PIL import Image, ImageOps

    pixels = image.width * image.height
    if not 0 < pixels <= MOST_PIXELS:
        most = f"at most {MOST_PIXELS / 1e6:,.0f} are read: shrink it"
        raise ImageError(
            f"it has {pixels / 1e6:,.0f} megapixels, {most}" if pixels else "no pixels"
        )
    shown = _current_frame(image, longest)
    shown.load()
    with suppress(Exception):  # broken EXIF, which viewers ignore, too
        shown = ImageOps.exif_transpose(shown)
    if shown.mode.startswith("I"):  # grey of 16 bits: Pillow would clip it to white
        shown = shown.convert("I").point(lambda value: value * (1 / 257) + 0).convert("L")
    elif shown.mode not in _BLENDED or "transparency" in shown.info:
        shown = shown.convert("RGBA" if shown.has_transparency_data else "RGB")
    if max(shown.size) > longest:
        size = tuple(max(1, round(side * longest / max(shown.size))) for side in shown.size)
        # LANCZOS takes 1.5 times as long, and most of the time for an image of 6 megapixels.
        shown = shown.resize(size, Image.Resampling.BICUBIC, reducing_gap=3.0)
    if shown.has_transparency_data:
        white = Image.new("RGBA", shown.size, "white")
        shown = Image.alpha_composite(white, shown.convert("RGBA"))
    size = tuple(max(min(SMALLEST, longest), side) for side in shown.size)
    flat = Image.new("RGB", size, "white")
    flat.paste(shown.convert("RGB"), tuple((size[at] - shown.size[at]) // 2 for at in (0, 1)))
    out = io.BytesIO()
    flat.save(out, "JPEG", quality=92, subsampling=0)
    return out.getvalue(), flat.size


@contextmanager
def _strict_reading() -> Iterator[None]:
    """Reject truncated images, whatever lmms-eval has set: a global setting of Pillow."""
    from PIL import ImageFile

    lenient = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient


def _current_frame(image: Any, longest: int) -> Any:
    """The current frame, from the reopened file if there is one: the caller's stays undecoded."""
    from PIL import Image

    stream: Any = getattr(image, "fp", None)
    with suppress(OSError, ValueError, KeyError, SyntaxError, EOFError, AttributeError):
        at = stream.tell()
        stream.seek(0)
        content = stream.read()
        stream.seek(at)
        fresh = Image.open(io.BytesIO(content))
        fresh.seek(image.tell())
        if not fresh.tell():
            fresh.draft(None, (longest, longest))  # a large JPEG is decoded at a smaller scale
        return fresh
    return image

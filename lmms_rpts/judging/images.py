"""Images for judges: bounded in size, encoded on demand, never kept in memory."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lmms_rpts.escaping import storable
from lmms_rpts.judging.pixels import SMALLEST, ImageError, shown_pixels, strict_reading

__all__ = ["DEFAULT_LONGEST", "SMALLEST", "EncodedImage", "ImageError", "JudgeImage"]
__all__ += ["MEDIA_TYPE", "encode_image"]

DEFAULT_LONGEST = 1536
"""Default maximum of the longer side of an image for a judge, in pixels."""

MEDIA_TYPE = "image/jpeg"
_FORMAT, _QUALITY = "JPEG", 92
_LONGEST_REASON = 300
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """An image as it is sent: ``content`` is a JPEG of ``width`` times ``height`` pixels."""

    content: bytes
    width: int
    height: int

    @property
    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()


class JudgeImage:
    """One image of a question. Only its digest and its size are kept in memory.

    Args:
        name: name of the image in the prompt, such as ``Image 0``.
        load: returns the Pillow image; called whenever the image is sent.
        longest: maximum of the longer side, in pixels.
    """

    __slots__ = ("_digest", "_load", "_longest", "_size", "name")

    def __init__(self, name: str, load: Callable[[], Any], longest: int = DEFAULT_LONGEST) -> None:
        self.name = name
        self._load, self._longest = load, longest
        self._digest: str | None = None
        self._size: tuple[int, int] | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the encoded image; raises ImageError."""
        if self._digest is None:
            self.encoded()
        return str(self._digest)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the encoded image in pixels; raises ImageError."""
        if self._size is None:
            self.encoded()
        return self._size or (0, 0)

    @property
    def known_size(self) -> tuple[int, int] | None:
        """``size`` if known without decoding, else None."""
        return self._size

    def encoded(self) -> EncodedImage:
        """The encoded image.

        Raises:
            ImageError: if it cannot be read.
        """
        # One at a time: a decoded image may take hundreds of megabytes.
        with _one_at_a_time:
            try:
                with strict_reading():
                    made = encode_image(self._load(), self._longest)
            except ImageError as error:
                raise ImageError(f"{self.name}: {error}") from None
            # Any error of Pillow or a task for a broken file; a task may even call exit().
            except (Exception, SystemExit) as error:
                said, kind = " ".join(storable(str(error)).split()), type(error).__name__
                reason = f"{kind} {said}" if isinstance(error, SystemExit) else said or kind
                reason = reason[:_LONGEST_REASON]
                raise ImageError(f"Cannot read {self.name} ({reason})") from None
        if self._digest not in (None, made.digest):
            raise ImageError(f"{self.name} changed after it was first read")
        self._digest, self._size = made.digest, (made.width, made.height)
        return made


def encode_image(image: Any, longest: int = DEFAULT_LONGEST) -> EncodedImage:
    """Encode an image as judges see it: upright, in RGB on white, bounded in size, as JPEG.

    The current frame is used if there are several. The image itself is not changed. The bytes are
    reproducible with the same version of Pillow.

    Args:
        image: a Pillow image, in any mode.
        longest: maximum of the longer side, in pixels.

    Raises:
        ImageError: for an image of more than 120 megapixels, without pixels, or with thousands of
            scans.
        Exception: any error of Pillow if the image cannot be decoded.
    """
    shown = shown_pixels(image, longest)
    out = io.BytesIO()
    shown.save(out, _FORMAT, quality=_QUALITY, subsampling=0)
    return EncodedImage(out.getvalue(), shown.width, shown.height)

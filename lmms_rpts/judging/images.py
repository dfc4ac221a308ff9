"""Images that a judge is shown: bounded in size, encoded when they are asked for, never kept."""

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
"""Pixels of the longer side of an image that a judge is shown, at most."""

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
    """One image of a question. Only its digest and its size are kept.

    Args:
        name: what the prompt calls it, such as ``Image 0``.
        load: gives the image of Pillow; called whenever the image is sent.
        longest: pixels of the longer side, at most.
    """

    __slots__ = ("_digest", "_load", "_longest", "_size", "name")

    def __init__(self, name: str, load: Callable[[], Any], longest: int = DEFAULT_LONGEST) -> None:
        self.name = name
        self._load, self._longest = load, longest
        self._digest: str | None = None
        self._size: tuple[int, int] | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of what is sent; raises ImageError."""
        if self._digest is None:
            self.encoded()
        return str(self._digest)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels of what is sent; raises ImageError."""
        if self._size is None:
            self.encoded()
        return self._size or (0, 0)

    @property
    def known_size(self) -> tuple[int, int] | None:
        """``size`` as far as it is known without decoding."""
        return self._size

    def encoded(self) -> EncodedImage:
        """The image as it is sent.

        Raises:
            ImageError: where it can't be read.
        """
        # One at a time: decoded, an image may take hundreds of megabytes.
        with _one_at_a_time:
            try:
                with strict_reading():
                    made = encode_image(self._load(), self._longest)
            except ImageError as error:
                raise ImageError(f"{self.name}: {error}") from None
            # Whatever a broken file makes Pillow or a task raise; a task may even call exit().
            except (Exception, SystemExit) as error:
                said, kind = " ".join(storable(str(error)).split()), type(error).__name__
                reason = f"{kind} {said}" if isinstance(error, SystemExit) else said or kind
                reason = reason[:_LONGEST_REASON]
                raise ImageError(f"{self.name} can't be read ({reason})") from None
        if self._digest not in (None, made.digest):
            raise ImageError(f"{self.name} is another image than it was when it was first read")
        self._digest, self._size = made.digest, (made.width, made.height)
        return made


def encode_image(image: Any, longest: int = DEFAULT_LONGEST) -> EncodedImage:
    """An image as judges are shown it: upright, in RGB on white, bounded, as JPEG.

    Of several frames the one that it is at is taken. The image itself is left as it is. The bytes
    are the same each time, with the same version of Pillow.

    Args:
        image: of Pillow, in any mode.
        longest: pixels of the longer side, at most.

    Raises:
        ImageError: for an image of more than 120 megapixels, of none, or of thousands of scans.
        Exception: whatever Pillow raises where the image can't be decoded.
    """
    shown = shown_pixels(image, longest)
    out = io.BytesIO()
    shown.save(out, _FORMAT, quality=_QUALITY, subsampling=0)
    return EncodedImage(out.getvalue(), shown.width, shown.height)

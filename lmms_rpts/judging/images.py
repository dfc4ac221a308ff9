"""Images that a judge is shown: bounded in size, encoded when they are asked for, never kept."""

from __future__ import annotations

import hashlib
import io
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DEFAULT_LONGEST = 1536
"""Pixels of the longer side of an image that a judge is shown, at most."""

SMALLEST = 32
"""Pixels of the shorter side, at least: narrower images are framed in white. Vision encoders
refuse images of less than a patch or of extreme shape."""

MEDIA_TYPE = "image/jpeg"
_FORMAT, _QUALITY = "JPEG", 92
_MOST_PIXELS = 120_000_000
_one_at_a_time = threading.Lock()


class ImageError(ValueError):
    """An image that can't be shown to a judge; the message says why."""


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

    def encoded(self) -> EncodedImage:
        """The image as it is sent.

        Raises:
            ImageError: where it can't be read.
        """
        # One at a time: decoded, an image may take hundreds of megabytes.
        with _one_at_a_time:
            try:
                made = encode_image(self._load(), self._longest)
            except ImageError as error:
                raise ImageError(f"{self.name}: {error}") from None
            except Exception as error:  # whatever a broken file makes Pillow or a task raise
                reason = str(error) or type(error).__name__
                raise ImageError(f"{self.name} can't be read ({reason[:300]})") from None
        self._digest, self._size = made.digest, (made.width, made.height)
        return made


def encode_image(image: Any, longest: int = DEFAULT_LONGEST) -> EncodedImage:
    """An image as judges are shown it: upright, in RGB on white, bounded, as JPEG.

    Of an animation the first frame is taken. The bytes are the same each time, with the same
    version of Pillow.

    Args:
        image: of Pillow, in any mode.
        longest: pixels of the longer side, at most.

    Raises:
        ImageError: for an image of more than 120 megapixels.
        Exception: whatever Pillow raises where the image can't be decoded.
    """
    if image.width * image.height > _MOST_PIXELS:
        megapixels = image.width * image.height / 1e6
        raise ImageError(f"it has {megapixels:,.0f} megapixels, at most 120 are read: shrink it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sizes, which are looked at here
        shown = _framed(_flat(_shrunk(image, longest)), longest)
    out = io.BytesIO()
    # From the pixels alone: nothing else that the file holds is sent.
    shown.save(out, _FORMAT, quality=_QUALITY, subsampling=0, exif=b"", icc_profile=None)
    return EncodedImage(out.getvalue(), shown.width, shown.height)


def _shrunk(image: Any, longest: int) -> Any:
    from PIL import Image, ImageOps

    if getattr(image, "n_frames", 1) > 1:
        image.seek(0)
    if hasattr(image, "draft"):
        image.draft("RGB", (longest, longest))  # a large JPEG is decoded at a smaller scale
    upright = ImageOps.exif_transpose(image)
    if max(upright.size) <= longest:
        return upright
    scale = longest / max(upright.size)
    width, height = (max(1, round(side * scale)) for side in upright.size)
    if upright.mode in ("P", "1"):  # these have no shades to blend
        upright = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    return upright.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=3.0)


def _flat(image: Any) -> Any:
    from PIL import Image

    if image.mode.startswith("I"):
        # Pillow would clip 16 bits of grey to white.
        return image.convert("I").point(lambda grey: grey * (1 / 256)).convert("L").convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _framed(image: Any, longest: int) -> Any:
    from PIL import Image

    least = min(SMALLEST, longest)
    if min(image.size) >= least:
        return image
    width, height = (max(least, side) for side in image.size)
    frame = Image.new("RGB", (width, height), "white")
    frame.paste(image, ((width - image.width) // 2, (height - image.height) // 2))
    return frame

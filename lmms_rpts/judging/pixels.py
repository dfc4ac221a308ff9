"""Pixels of an image of any format and mode, as judges see them: upright, RGB, on white."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

MOST_PIXELS = 120_000_000
MOST_SCANNED = 2_000_000_000
"""Maximum of pixels times scans of a JPEG. Each scan of a progressive JPEG processes all pixels; a
file may have thousands of scans, photographs have about ten."""

SMALLEST = 32
"""Minimum of the shorter side in pixels: narrower images get a white frame. Vision encoders refuse
images that are smaller than a patch or extremely narrow."""

_MOST_SEGMENTS = 100_000
_START_OF_SCAN, _END = 0xDA, 0xD9
# Within a scan, 0xFF is followed by 0 (a byte of pixels) or D0 to D7 (restart); 01 and fill bytes
# (0xFF) have no length either.
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd7\xff]")
_ORIENTATION = 0x0112
# Pillow's Transpose by EXIF orientation: flips, rotations counterclockwise, both.
_TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
_RANGES = {"I": (255, 65535), "F": (1, 255, 65535)}
"""Candidates for white in grey of more than 8 bits: the first above all values is used."""


class ImageError(ValueError):
    """Raised for an image that cannot be sent to a judge; the message gives the reason."""


def shown_pixels(image: Any, longest: int) -> Any:
    """A new RGB image that contains only pixels; ``image`` is not changed.

    Args:
        image: a Pillow image, in any mode; the current frame is used if there are several.
        longest: maximum of the longer side, in pixels.

    Raises:
        ImageError: for an image without pixels, or with more than can be read safely.
        Exception: any error of Pillow if the image cannot be decoded.
    """
    _check_size(image)
    with strict_reading():
        image = _upright(_current_frame(image, longest))
        image.load()
        _check_size(image)  # some formats contain images of a different size than declared
        shown = _framed(_flat(_shrunk(_with_shades(image), longest)), longest)
    shown.info.clear()  # else Pillow would write the comment of the file
    return shown


@contextmanager
def strict_reading() -> Iterator[None]:
    """Reject truncated images, whatever lmms-eval has set.

    This is a global setting of Pillow: use it in one thread at a time.
    """
    from PIL import ImageFile

    lenient = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient


def _check_size(image: Any) -> None:
    pixels = image.width * image.height
    if pixels > MOST_PIXELS:
        allowed = MOST_PIXELS / 1e6
        raise ImageError(
            f"it has {pixels / 1e6:,.0f} megapixels, at most {allowed:,.0f} are read: shrink it"
        )
    if not pixels:
        raise ImageError("it has no pixels")


def _current_frame(image: Any, longest: int) -> Any:
    """The current frame of the image, read from its reopened file if it was not decoded yet.

    This leaves the size and the memory use of the caller's image unchanged.
    """
    fresh = _reopened(image)
    if fresh is None:
        return image
    if not fresh.tell():
        fresh.draft(None, (longest, longest))  # a large JPEG is decoded at a smaller scale
    return fresh


def _reopened(image: Any) -> Any:
    """Another image of the same file at the same frame.

    None if the file is closed, does not belong to the image, or has no such frame.
    """
    from PIL import Image

    stream, kind = getattr(image, "fp", None), image.format
    if stream is None or kind is None:
        return None
    try:
        at = stream.tell()
        stream.seek(0)
        content = stream.read()
        stream.seek(at)
    except (OSError, ValueError):
        return None
    if kind in ("JPEG", "MPO"):
        kind = "JPEG"  # MPO: several JPEG images in one file
        _check_scans(content[getattr(image, "offset", 0) :], image.width * image.height)
    with suppress(OSError, KeyError, SyntaxError, EOFError):
        fresh = Image.open(io.BytesIO(content), formats=[kind])
        fresh.seek(image.tell())
        _check_size(fresh)
        return fresh
    return None


def _check_scans(content: bytes, pixels: int) -> None:
    scans, at, segments = 0, 2, 0
    while (found := _MARKER.search(content, at)) and found[0][1] != _END:
        segments += 1
        scans += found[0][1] == _START_OF_SCAN
        if scans * pixels > MOST_SCANNED or segments > _MOST_SEGMENTS:
            raise ImageError(f"it is a JPEG of {scans:,} scans or more: save it again")
        at = found.end() + max(2, int.from_bytes(content[found.end() : found.end() + 2], "big"))


def _upright(image: Any) -> Any:
    try:
        turn = _TURNS.get(image.getexif().get(_ORIENTATION))
    except Exception:  # broken EXIF, which viewers ignore, too
        return image
    return image if turn is None else image.transpose(turn)


def _with_shades(image: Any) -> Any:
    """The image in a mode whose values can be blended, with 8 bits per channel."""
    mode = image.mode
    if mode.startswith("I;"):
        return _grey(image.convert("I"), 0.0, 65535.0)
    if mode in _RANGES:
        return _grey(image, *_range(image))
    if mode in ("La", "RGBa"):
        return image.convert(mode.upper())
    if mode in ("L", "LA", "RGB", "RGBA", "CMYK") and "transparency" not in image.info:
        return image
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _range(image: Any) -> tuple[float, float]:
    """The values of black and white in grey of more than 8 bits."""
    low, high = image.getextrema()
    if not math.isfinite(low) or not math.isfinite(high):
        return 0.0, 1.0
    fitting = (float(top) for top in _RANGES[image.mode] if low >= 0 and high <= top)
    white = next(fitting, None)
    return (low, max(high, low + 1)) if white is None else (0.0, white)


def _grey(image: Any, black: float, white: float) -> Any:
    # Pillow would clip: 16 bits to white, and shares of 1 to black.
    scale = 255.0 / (white - black)
    offset = 0.5 - black * scale
    return image.convert("F").point(lambda value: value * scale + offset).convert("L")


def _shrunk(image: Any, longest: int) -> Any:
    from PIL import Image

    if max(image.size) <= longest:
        return image
    scale = longest / max(image.size)
    size = tuple(max(1, round(side * scale)) for side in image.size)
    # LANCZOS takes 1.5 times as long, and most of the time for an image of 6 megapixels.
    return image.resize(size, Image.Resampling.BICUBIC, reducing_gap=3.0)


def _flat(image: Any) -> Any:
    from PIL import Image

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

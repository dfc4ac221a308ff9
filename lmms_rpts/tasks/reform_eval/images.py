"""Images of ReForm-Eval: found in the data files and decoded on demand; boxes drawn or cropped."""

from __future__ import annotations

import base64
import binascii
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from lmms_rpts.tasks.images import FORMATS, as_rgb, fault_of_image
from lmms_rpts.tasks.reform_eval.sets import data_sets

Box = tuple[float, float, float, float]

_COLOURS = ((255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 215, 0))
_END_MARKS = {"PNG": b"IEND", "JPEG": b"\xff\xd9"}
# Number of last bytes that contain the end mark of an image.
_TAIL = 3072


@dataclass(frozen=True, slots=True)
class ImagePlace:
    """Location of the base64 text of an image in a file: first byte and number of bytes.

    ``size``: width and height in pixels, if known.
    """

    file: Path
    start: int
    length: int
    size: tuple[int, int] = field(default=(0, 0), compare=False)

    def open(self) -> Image.Image:
        """Open the image; only its header is read."""
        with self.file.open("rb") as file:
            file.seek(self.start)
            return _open(_decoded(file.read(self.length)))


class ImageIndex:
    """Index of the images of a file; fastest if the records are looked up in order."""

    def __init__(self, path: Path) -> None:
        self._path, self._content, self._end = path, path.read_bytes(), 0

    def place(self, text: str) -> ImagePlace:
        """Find the base64 text of a record's image."""
        for written in (text, text.replace("/", "\\/")):
            sought = f'"{written}"'.encode()
            at = self._content.find(sought, self._end)
            at = at if at >= 0 else self._content.find(sought)
            if at >= 0:
                self._end = at + len(sought)
                size = _checked_size(_decoded(written.encode()))
                return ImagePlace(self._path, at + 1, len(sought) - 2, size)
        raise ValueError("it is not base64 text")


def _checked_size(content: bytes) -> tuple[int, int]:
    """The size of an image; it is decoded completely only if its end looks truncated."""
    with _open(content) as image:
        mark = _END_MARKS.get(str(image.format))
        width, height = image.size
    if mark is None or mark not in content[-_TAIL:]:
        fault = fault_of_image(partial(_open, content))
        if fault:
            raise ValueError(fault)
    return width, height


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text.replace(b"\\/", b"/"), validate=True)
    except binascii.Error:
        raise ValueError("it is not base64 text") from None


def _open(content: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(content), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise ValueError(str(error)) from None
    except OSError:
        raise ValueError("it is not an image") from None


def image_of(doc: Mapping[str, Any]) -> Image.Image:
    """The image of a document; it is cached for the duplicates that follow."""
    place = ImagePlace(Path(doc["image_file"]), doc["image_start"], doc["image_length"])
    return _drawn(place, data_sets()[doc["set"]].boxes, doc["boxes"])


@lru_cache(maxsize=4)
def _drawn(place: ImagePlace, how: str, boxes: str) -> Image.Image:
    return with_boxes(as_rgb(place.open()), how, json.loads(boxes))


def with_boxes(image: Image.Image, how: str, boxes: Sequence[Box]) -> Image.Image:
    """An image with boxes drawn or cropped, as in the published code."""
    form, _, width = how.partition(" ")
    if not boxes or not how:
        return image
    if form == "crop":
        return image.crop(cut_to(boxes[0], image.size) or (0, 0, *image.size))
    drawn = image.copy()
    draw = ImageDraw.Draw(drawn)
    for at, (x, y, third, fourth) in enumerate(boxes):
        right, lower = (x + third, y + fourth) if form == "xywh" else (third, fourth)
        left, right = sorted((int(x), int(right)))
        upper, lower = sorted((int(y), int(lower)))
        # The published code centres a box's line on its edge; Pillow draws it inside.
        half = int(width) // 2
        draw.rectangle(
            (left - half, upper - half, right + half, lower + half),
            outline=_COLOURS[at % len(_COLOURS)],
            width=int(width),
        )
    return drawn


def cut_to(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """The part of an image that a box ``x, y, width, height`` covers; None if it is outside."""
    x, y, across, down = box
    left, upper = max(0, int(x)), max(0, int(y))
    right, lower = min(size[0], int(x + across)), min(size[1], int(y + down))
    return (left, upper, right, lower) if left < right and upper < lower else None

"""Images of ReForm-Eval: decoded on demand, with boxes drawn or cropped to a box."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from lmms_rpts.tasks.images import as_rgb
from lmms_rpts.tasks.reform_eval.fields import Box, ImagePlace
from lmms_rpts.tasks.reform_eval.sets import data_sets

_COLOURS = ((255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 215, 0))


def image_of(doc: Mapping[str, Any]) -> Image.Image:
    """The image of a document; it is cached for the duplicates that follow."""
    place = ImagePlace(Path(doc["image_file"]), doc["image_start"], doc["image_length"])
    return _decoded(place, data_sets()[doc["set"]].boxes, doc["boxes"])


@lru_cache(maxsize=4)
def _decoded(place: ImagePlace, how: str, boxes: str) -> Image.Image:
    return with_boxes(as_rgb(place.open()), how, json.loads(boxes))


def cut_to(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """The part of an image that a box ``x, y, width, height`` covers; None if it is outside."""
    x, y, across, down = box
    left, upper = max(0, int(x)), max(0, int(y))
    right, lower = min(size[0], int(x + across)), min(size[1], int(y + down))
    return (left, upper, right, lower) if left < right and upper < lower else None


def with_boxes(image: Image.Image, how: str, boxes: list[Box]) -> Image.Image:
    """An image with boxes drawn or cropped, as in the published code.

    Args:
        image: an RGB image; it is not changed.
        how: see ``DataSet.boxes``.
        boxes: boxes of four numbers; the first is drawn in red.
    """
    form, _, width = how.partition(" ")
    if not boxes or not how:
        return image
    if form == "crop":
        return image.crop(cut_to(boxes[0], image.size) or (0, 0, *image.size))
    shown = image.copy()
    draw = ImageDraw.Draw(shown)
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
    return shown

"""Checked fields of the JSON records of ReForm-Eval, and locations of images in its files."""

from __future__ import annotations

import base64
import binascii
import io
import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_rpts.schema import FieldError, shown
from lmms_rpts.tasks.images import FORMATS, fault_of_image
from lmms_rpts.tasks.source_fields import is_encodable

Box = tuple[float, float, float, float]
_END = 4096
"""Number of last base64 characters, in whole groups of four, that contain an image's end mark."""
_MOST_MISSED = 3


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
        """Open the image; only its header is read.

        Raises:
            ValueError, OSError: if it can't be read.
        """
        with self.file.open("rb") as file:
            file.seek(self.start)
            text = file.read(self.length)
        return _open(text)


class ImageIndex:
    """Index of the images of a file; fastest if the records are looked up in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = path.read_bytes()
        self._end = self._missed = 0

    def place(self, text: str) -> ImagePlace:
        """Find the base64 text of a record's image.

        Raises:
            FieldError: if it is not an image.
        """
        for written in (text, text.replace("/", "\\/")):
            sought = f'"{written}"'.encode()
            at = self._find(sought)
            if at >= 0:
                self._end = at + len(sought)
                size = _checked_size(written.encode())
                return ImagePlace(self._path, at + 1, len(sought) - 2, size)
        self._missed += 1
        raise FieldError("it is not base64 text")

    def _find(self, sought: bytes) -> int:
        if self._missed >= _MOST_MISSED:  # each search reads the whole file
            return -1
        at = self._content.find(sought, self._end)
        return at if at >= 0 else self._content.find(sought)


def _checked_size(written: bytes) -> tuple[int, int]:
    """The size of an image; it is decoded completely only if its end looks truncated.

    Raises:
        FieldError: if it is not an image, or is damaged.
    """
    try:
        with _open(written) as image:
            width, height = image.size
            whole = _looks_whole(image, written)
    except (ValueError, OSError) as error:
        raise FieldError(str(error).splitlines()[0]) from None
    fault = None if whole else fault_of_image(partial(_open, written))
    if fault:
        raise FieldError(fault)
    return width, height


def _looks_whole(image: Image.Image, written: bytes) -> bool:
    """Whether the end mark of a PNG or JPEG is present."""
    end = base64.b64decode(written.replace(b"\\/", b"/")[-_END:])
    marks = {"PNG": b"IEND", "JPEG": b"\xff\xd9"}
    return image.format in marks and marks[image.format] in end


def _open(text: bytes) -> Image.Image:
    try:
        content = base64.b64decode(text.replace(b"\\/", b"/"), validate=True)
    except binascii.Error:
        raise ValueError("it is not base64 text") from None
    try:
        return Image.open(io.BytesIO(content), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise ValueError(str(error)) from None
    except OSError:
        raise ValueError("it is not an image") from None


def read_json(path: Path) -> Any:
    """Read the JSON value of a file; for JSON lines, the list of their values.

    Raises:
        FieldError: if it can't be read; names the file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise FieldError(f"Cannot read {path.name} ({reason})") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise FieldError(
                f"{path.name} is not valid JSON ({error.msg} at line {error.lineno}, column "
                f"{error.colno}): it may be truncated"
            ) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FieldError(f"{path.name} is not valid JSON ({reason})") from None
    lines = enumerate(text.split("\n"), start=1)  # splitlines would split at U+2028 inside a string
    return [_line(path, number, line) for number, line in lines if line.strip()]


def _line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise FieldError(f"{path.name}, line {number} is not valid JSON") from None


class Fields:
    """The fields of a JSON object; each is checked when it is read.

    All methods raise FieldError with the place and the field.

    Args:
        value: the object.
        place: name of the object in messages.
        images: images of the file; None if it has none.
    """

    def __init__(self, value: Any, place: str, images: ImageIndex | None = None) -> None:
        if not isinstance(value, dict):
            raise FieldError(f"{place} should be an object, not {shown(value)}")
        self.value: dict[str, Any] = value
        self.place = place
        self._images = images

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def wrong(self, name: str, wanted: str) -> FieldError:
        """The error for a field that is not as expected."""
        return FieldError(f"{self.place}: {name!r} should be {wanted}, not {self.shown(name)}")

    def shown(self, name: str) -> str:
        """The value of a field, for a message."""
        return shown(self.value.get(name))

    def any(self, name: str) -> Any:
        """The value of a required field."""
        if name not in self.value:
            raise FieldError(f"{self.place}: the field {name!r} is missing")
        return self.value[name]

    def text(self, name: str) -> str:
        """A string, possibly empty; a number is converted to a string."""
        text = _as_text(self.any(name))
        if text is None:
            raise self.wrong(name, "a string")
        return text

    def texts(self, name: str) -> tuple[str, ...]:
        """One or several strings."""
        value = self.any(name)
        values = value if isinstance(value, list) else [value]
        texts = [text for each in values if (text := _as_text(each)) is not None]
        if not texts or len(texts) < len(values):
            raise self.wrong(name, "a string or a list of strings")
        return tuple(texts)

    def id(self, name: str) -> str | int:
        """The id of a record."""
        value = self.any(name)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.wrong(name, "a string or a whole number")
        if isinstance(value, str) and not is_encodable(value):
            raise self.wrong(name, "a text without lone surrogates")
        return value

    def options(self, name: str, most: int) -> tuple[str, ...]:
        """Options to choose from."""
        found = self.texts(name)
        if not isinstance(self.any(name), list) or len(found) < 2:
            raise self.wrong(name, "a list of at least two options")
        if len(found) > most:
            raise FieldError(f"{self.place}: {len(found)} options; at most {most} can be marked")
        return found

    def index(self, name: str, count: int) -> int:
        """An index below ``count``; the data may have it as a string."""
        value = self.any(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9:
            value = int(value)
        if type(value) is not int or not 0 <= value < count:
            raise self.wrong(name, f"a whole number from 0 to {count - 1}")
        return value

    def boxes(self, name: str) -> tuple[Box, ...]:
        """Boxes of four numbers each; the data may have a single box."""
        value = self.any(name)
        rows = (
            value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
        )
        boxes = [tuple(map(float, row)) for row in rows if _is_box(row)]
        if len(boxes) < len(rows):
            raise self.wrong(name, "four numbers, or a list of such")
        return tuple((a, b, c, d) for a, b, c, d in boxes)

    def image(self, *names: str) -> ImagePlace:
        """The location of the image in the first of these fields that is present."""
        name = next((each for each in names if each in self), names[0])
        value = self.any(name)
        if not isinstance(value, str) or not value or not value.isascii():
            raise self.wrong(name, "an image as base64 text")
        assert self._images is not None, "the file has no images"
        try:
            return self._images.place(value)
        except FieldError as fault:
            raise FieldError(f"{self.place}: cannot read the image in {name!r}: {fault}") from None


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value if is_encodable(value) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number and abs(value) < 1e18 else None  # type: ignore[arg-type]


def _is_box(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 4
        and all(
            isinstance(each, int | float)
            and not isinstance(each, bool)
            and abs(each) < 1e6  # False for NaN
            for each in value
        )
    )

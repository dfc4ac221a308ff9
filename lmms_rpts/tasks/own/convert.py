"""Conversion of users' files to instances: names of columns, form of the answers, images."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shlex
import string
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_rpts.base.rows import Row, read_rows
from lmms_rpts.base.schema import shown
from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.fields import RowError, any_list, encoded
from lmms_rpts.tasks.images import FORMATS, fault_of_image, image_faults
from lmms_rpts.tasks.own.data import FIELDS, OwnQuestion

ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("question_id", "uid", "qid", "index", "idx"),
    "question": ("statement", "prompt", "query", "instruction", "problem", "q"),
    "answer": (
        *("label", "gold", "target", "ground_truth", "gt", "correct_answer", "correct"),
        "answer_key",
    ),
    "images": (
        *("image", "image_path", "image_paths", "img", "img_path", "image_file", "image_name"),
        *("file_name", "filename", "picture", "pictures", "photo", "photos", "visual_clue"),
    ),
    "context": ("passage", "background", "hint"),
    "texts": ("textual_clue", "textual_clues", "clues", "facts"),
    "reasoning": ("gold_reasoning", "reasoning_steps", "steps"),
    "options": ("choices", "candidates", "choice", "option", "answer_choices"),
    "language": ("lang",),
    "ability": ("category", "l2_category"),
}
"""Other names of the fields, the most likely first."""

Sources = Mapping[str, Sequence[tuple[str, ...]]]
"""The columns of each field: alternatives, of which the first with a value in a row counts. An
alternative of several columns holds the values of all of them.
"""

_JOINED = ("images", "texts", "ability")
"""Fields that hold the values of all their columns."""

_LETTERS = string.ascii_uppercase
_SEPARATORS = {"images": r"[|;\n]", "options": r"[|;\n]", "texts": r"[|\n]", "reasoning": r"[|\n]"}
"""Fields with lists, and what separates their items in a cell of a table."""

_NUMBER = re.compile(r"(?:_?[0-9]{1,3}|_[a-z]|s)$")  # image_2, option_a, photos
_SINGULARS = {"images": ("image", "picture", "photo"), "options": ("option", "choice", "candidate")}
_NEAR = 0.85  # "imagee" is near "image"; "image_size" is not
_IMAGE_FILE = re.compile(r"[^\n]{1,300}\.(?:png|jpe?g|webp|gif|bmp|tiff?)", re.IGNORECASE)


def read_file(source: str) -> list[Row]:
    """The rows of a file; those that cannot be read have a fault."""
    rows = list(read_rows(Path(source).expanduser()))
    if not rows:
        raise DataError(f"{source} contains no instance")
    if not names_of(rows):
        faults = [f"{row.place} {row.fault}" for row in rows if row.fault]
        raise_faults(source, faults, "Fix the file.")
    return rows


def names_of(rows: Iterable[Row]) -> list[str]:
    """The names of the columns, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name in (*row.cells, *row.fields)))


# --- columns -------------------------------------------------------------------------------------


def find_sources(names: Sequence[str], chosen: Mapping[str, tuple[str, ...]]) -> Sources:
    """The columns of each field, by their names; fields without a column are left out.

    Args:
        names: the names of all columns.
        chosen: the user's choices by field; other columns of these fields are not used.
    """
    taken = set(chain.from_iterable(chosen.values()))
    by_name: dict[str, list[str]] = {}
    for name in names:
        if name not in taken:
            by_name.setdefault(_plain(name), []).append(name)
    sources: dict[str, Sequence[tuple[str, ...]]] = {}
    for target in FIELDS:
        aliases = (target, *ALIASES.get(target, ()))
        columns = [name for alias in aliases for name in by_name.get(alias, ())]
        sources[target] = [(name,) for name in columns]
        if target in chosen:
            sources[target] = [chosen[target]]
        elif target in _JOINED:
            sources[target] = [tuple(sorted(columns, key=[*names].index))]
        elif target == "options" and {"A", "B"} <= set(names):  # as in VLMEvalKit
            sources[target] = [*sources[target], tuple(takewhile(names.__contains__, _LETTERS))]
    return {target: found for target, found in sources.items() if any(found)}


def columns_of(sources: Sources, target: str) -> list[str]:
    """All columns of a field."""
    return list(chain.from_iterable(sources.get(target, ())))


def unused_columns(rows: Sequence[Row], sources: Sources) -> list[str]:
    """The names of the columns with values that no field uses."""
    used = {name for target in sources for name in columns_of(sources, target)}
    filled = {name for row in rows for name, value in row.fields.items() if not _is_blank(value)}
    return [name for name in names_of(rows) if name in filled - used]


def column_faults(rows: Sequence[Row], sources: Sources, chosen: Mapping[str, Any]) -> list[str]:
    """Which unused columns hold images or options, by their names or cells, and what to do.

    Without these, a model would be asked another question: the user decides.
    """
    found: dict[str, list[str]] = {}
    for name in unused_columns(rows, sources):
        cells = (row.fields.get(name) for row in rows)
        target = _target_of(name) or ("images" if any(map(_holds_images, cells)) else "")
        if target not in ("", *chosen):
            found.setdefault(target, []).append(name)
    faults = []
    for target, names in found.items():
        others = columns_of(sources, target)
        maps = [f"--map {shlex.quote(f'{target}={column}')}" for column in (*others, *names)]
        leave = f"leave it out with {' '.join(maps[: len(others)])}" if others else "remove it"
        faults.append(
            f"{', '.join(map(shown, names))} seems to hold {target}, and would be left out: use it "
            f"with {' '.join(maps)}, or {leave}"
        )
    return faults


def _plain(name: str) -> str:
    return re.sub(r"[\s-]", "_", name.strip().lower())


def _target_of(name: str) -> str | None:
    """Images or options, if the name is near one of their names, or one with a number."""
    singular = _NUMBER.sub("", _plain(name))
    for target, singulars in _SINGULARS.items():
        if singular in ALIASES[target] or get_close_matches(singular, singulars, 1, _NEAR):
            return target
    return None


def _holds_images(cell: Any) -> bool:
    """Whether a cell holds names of image files, or contents of images."""
    items = _items(_value("images", cell, True))
    names = (item.strip() for item in items if isinstance(item, str))
    contents = filter(None, map(_content, items))
    return any(map(_IMAGE_FILE.fullmatch, names)) or any(map(_format_of, contents))


# --- values --------------------------------------------------------------------------------------


def map_rows(rows: Iterable[Row], sources: Sources) -> tuple[list[Row], list[str]]:
    """The rows with the values of the fields, and the faults of those with two for one field."""
    made, faults = [], []
    for row in rows:
        fields: dict[str, Any] = {}
        for target, alternatives in sources.items():
            values = {columns: _joined(target, columns, row) for columns in alternatives}
            values = {columns: value for columns, value in values.items() if not _is_blank(value)}
            if values:
                fields[target] = next(iter(values.values()))
            if any(value != fields[target] for value in values.values()):
                told = ", ".join(
                    f"{shown(value)} in {', '.join(columns)}" for columns, value in values.items()
                )
                fault = f"several values of {target}: {told}: use --map {target}=YOURS"
                faults.append(f"{row.place}: {fault}")
        made.append(replace(row, fields=fields))
    return made, faults


def _is_blank(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def _joined(target: str, columns: Sequence[str], row: Row) -> Any:
    """The value of a field in the columns that hold it."""
    cells = [row.fields.get(column) for column in columns]
    if target == "options" and len(columns) > 1:
        options = [None if _is_blank(cell) else cell for cell in cells]
        while options and options[-1] is None:  # this question has fewer options than others
            options.pop()
        return options
    values = [_value(target, cell, bool(row.cells)) for cell in cells]
    if len(values) == 1:
        return values[0]
    items: list[Any] = []
    for value in values:
        items += [item for item in _items(value) if item not in items]
    return items


def _value(target: str, value: Any, is_cell: bool) -> Any:
    """A value converted to the field's form, if that is clear; else unchanged."""
    if isinstance(value, float) and value.is_integer() and target == "id":
        return int(value)  # pandas writes whole numbers so, in a column with gaps
    if target == "options" and isinstance(value, dict) and "".join(value) == _LETTERS[: len(value)]:
        return list(value.values())
    if not isinstance(value, str) or _is_blank(value):
        return value
    if target in _SEPARATORS and value.lstrip().startswith("["):
        with suppress(RowError):
            return list(encoded(any_list)(value, target))  # pandas writes lists as Python does
    if is_cell and target == "tolerance":
        with suppress(ValueError):
            return float(value)
    if is_cell and target in _SEPARATORS and _content(value) is None:
        parts = re.split(_SEPARATORS[target], value)
        return [part.strip() for part in parts if part.strip()]
    return [value] if target in ("texts", "reasoning") else value


def infer_form(questions: Sequence[OwnQuestion]) -> str:
    """The form of the answers of a ``mixed`` file; positions of options are ambiguous."""
    forms = {question.form for question in questions}
    if forms != {"choice"} and all(map(_is_position, questions)):
        raise DataError(
            "The answers look like positions of options, counted from 0 or 1. Write the letters "
            "of the options (A, B, ...) or their texts, or use --answer number if they are numbers"
        )
    return forms.pop() if len(forms) == 1 else "mixed"


def _is_position(question: OwnQuestion) -> bool:
    answer, options = question.answer, question.options
    is_number = isinstance(answer, str) and re.fullmatch("[0-9]{1,3}", answer.strip())
    return bool(is_number and options) and int(str(answer)) <= len(options)


# --- images --------------------------------------------------------------------------------------


def collect_images(
    rows: Sequence[Row], folder: Path | None
) -> tuple[list[Row], dict[str, Path | bytes], list[str]]:
    """The rows with the new names of their images, the images by these names, and their faults.

    An image is a file, or its content: base64 (VLMEvalKit), or bytes (Parquet). As in VLMEvalKit, a
    text may be the id of a row whose image is meant, and names without files those of contents.

    Args:
        folder: the user's folder of images; None: that of the file, and ``images`` in it.
    """
    place = rows[0].file.absolute().parent
    folders = (folder.absolute(),) if folder else (place, place / "images")
    given = [_items(row.fields.get("images")) for row in rows]
    of_ids = {str(row.fields.get("id")): items for row, items in zip(rows, given, strict=True)}
    pictures: dict[str, Path | bytes] = {}
    made, faults, files = [], [], []
    for row, items in zip(rows, given, strict=True):
        images = [image for item in items for image in _images(item, folders, of_ids)]
        contents = [image for image in images if isinstance(image, bytes)]
        paths = [image for image in images if isinstance(image, Path)]
        if len(contents) == len(paths) > 0 and not any(map(os.path.isfile, paths)):
            images, paths = contents, []
        for content in contents:
            if fault := fault_of_image(partial(Image.open, io.BytesIO(content), formats=FORMATS)):
                faults.append(f"{row.place}: images: cannot read it ({fault})")
        files += [(row, path) for path in paths]
        # The check of the fields reports what is neither a file nor a content.
        names = [
            _named(image, folders, pictures) if isinstance(image, bytes | Path) else image
            for image in images
        ]
        made.append(replace(row, fields={**row.fields, "images": names} if names else row.fields))
    found = image_faults((path for _, path in files), None)
    faults += [f"{row.place}: images: {found[path]}" for row, path in files if path in found]
    return made, pictures, faults


def _items(value: Any) -> list[Any]:
    if _is_blank(value):
        return []
    return value if isinstance(value, list) else [value]


def _content(value: Any) -> bytes | None:
    """The content of an image that is in the data: bytes, or base64 with or without a header."""
    if isinstance(value, Mapping):
        value = value.get("bytes")
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str) or len(value) <= 64:  # a name or an id
        return None
    text = value.partition("base64,")[2] if value.startswith("data:image/") else value
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:  # a path has a dot
        return None


def _format_of(content: bytes) -> str | None:
    """The format of an image, by its beginning; None if it is none."""
    with suppress(Exception), Image.open(io.BytesIO(content), formats=FORMATS) as image:
        return str(image.format).lower()
    return None


def _images(item: Any, folders: Sequence[Path], of_ids: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The content or the file that an item means, or the images of the row with this id."""
    content = _content(item)
    if content is not None or not isinstance(item, str) or not item.strip():
        return [item if content is None else content]
    paths = [folder / item for folder in folders]
    file = next(filter(os.path.isfile, paths), None)
    if file is None and of_ids.get(item, [item]) != [item]:
        return [image for each in of_ids[item] for image in _images(each, folders, {})]
    return [file or paths[0]]


def _named(image: bytes | Path, folders: Sequence[Path], pictures: dict[str, Path | bytes]) -> str:
    """The new name of an image, by which it is added; one that is taken gets a number."""
    if isinstance(image, bytes):
        suffix = _format_of(image) or "bin"
        wanted = Path(f"{hashlib.sha256(image).hexdigest()[:16]}.{suffix}")
    else:
        below = [image.relative_to(each) for each in folders if image.is_relative_to(each)]
        wanted = below[-1] if below and ".." not in below[-1].parts else Path(image.name)
    name, number = wanted.as_posix(), 1
    while pictures.setdefault(name, image) != image:
        number += 1
        name = wanted.with_stem(f"{wanted.stem}_{number}").as_posix()
    return name

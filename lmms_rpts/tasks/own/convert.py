"""Conversion of others' files to instances: names of fields, form of the answers, images."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from PIL import Image

from lmms_rpts.base.escaping import listed
from lmms_rpts.base.rows import Row, read_rows, row_files
from lmms_rpts.scoring.question import form_of
from lmms_rpts.tasks.data import DataError, download, raise_faults
from lmms_rpts.tasks.fields import RowError, any_list, encoded
from lmms_rpts.tasks.images import FORMATS, fault_of_image, image_faults
from lmms_rpts.tasks.own.data import Instance, label, stance_of, written

TARGETS = tuple(Instance.model_fields)
"""The fields that others can be mapped to; ``question`` is also used for a statement."""

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "id": ("question_id", "uid", "qid", "index", "idx"),
    "question": ("statement", "prompt", "query", "instruction", "problem", "q"),
    "answer": (
        *("label", "gold", "target", "ground_truth", "gt", "correct_answer", "correct"),
        *("answer_key", "solution"),
    ),
    "images": (
        *("image", "image_path", "image_paths", "img", "img_path", "image_file", "image_name"),
        *("file_name", "filename", "picture", "pictures", "visual_clue"),
    ),
    "context": ("passage", "background", "hint"),
    "texts": ("textual_clue", "textual_clues", "clues", "facts"),
    "reasoning": ("gold_reasoning", "reasoning_steps", "steps"),
    "options": ("choices", "candidates", "choice"),
    "language": ("lang",),
}
"""Common names of the fields in other data, the most likely first."""

_LETTERS = tuple(string.ascii_uppercase)
_LISTS = {"images": r"[|;\n]", "options": r"[|;\n]", "texts": r"[|\n]", "reasoning": r"[|\n]"}
"""Fields with lists, and the separators of their items in a cell of CSV."""

_HUB = re.compile(r"hf:(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<inside>.+))?")
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_SPLITS = ("test", "validation", "val", "dev")
_PICTURES = ("*.png", "*.jpg", "*.jpeg", "*.webp", "*.gif", "*.bmp", "*.tif", "*.tiff")
_LONGEST_REFERENCE = 64


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with fields of any names.

    Attributes:
        place: the file or the data set, for messages.
        folders: where images are looked for.
        names: names of all fields, in the order of their first appearance.
        hub: name of the data set on the Hub; empty for the user's own files, whose images may be
            links and absolute paths.
    """

    place: str
    rows: tuple[Row, ...]
    folders: tuple[Path, ...]
    names: tuple[str, ...]
    hub: str = ""


@dataclass(slots=True)
class Pictures:
    """Images of instances.

    Attributes:
        found: files, or contents that were in the data, by their new names.
        faults: why images cannot be used, each with its row.
        outside: files that are not below the folders of the data, by their names or by links.
    """

    found: dict[str, Path | bytes] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    outside: list[Path] = field(default_factory=list)

    def add(self, wanted: str, source: Path | bytes) -> str:
        """The new name of an image; one that is taken by another gets a number."""
        path, number, name = PurePosixPath(wanted), 1, wanted
        while self.found.setdefault(name, source) != source:
            number += 1
            name = str(path.with_stem(f"{path.stem}_{number}"))
        return name


def read_table(source: str) -> Table:
    """The rows of a file, or of a data set on the Hub: ``hf:OWNER/NAME`` or ``.../FILE``."""
    hub = _HUB.fullmatch(source)
    if hub:
        folder, files = _hub_files(hub["name"], hub["inside"] or "")
    else:
        files = [Path(source).expanduser()]
        folder = files[0].absolute().parent
    rows = tuple(row for file in files for row in read_rows(file))
    if len(files) > 1:
        rows = tuple(replace(row, number=at) for at, row in enumerate(rows))
    if not rows:
        raise DataError(f"{source} contains no instance")
    names = dict.fromkeys(name for row in rows for name in (*row.cells, *row.fields))
    if not names:
        faults = [f"{row.place} {row.fault}" for row in rows if row.fault]
        raise_faults(source, faults, "Fix the file.")
    folders = tuple(dict.fromkeys([folder, folder / "images", *(each.parent for each in files)]))
    return Table(source, rows, folders, tuple(names), hub["name"] if hub else "")


def _hub_files(name: str, inside: str) -> tuple[Path, list[Path]]:
    """The folder of a data set, and the files of its test split or of the one that is named."""
    tables = ("*.parquet", "*.jsonl", "*.json", "*.csv", "*.tsv")
    folder = download(
        name,
        (f"{inside}*",) if inside else tables,
        f"The data set hf:{name} could not be downloaded",
        "Check its name, and log in (hf auth login) if it is not public; offline, only data sets "
        "in the local cache can be used",
    )
    sets: dict[str, list[Path]] = {}
    for file in row_files(folder):
        path = file.relative_to(folder)
        called = _SHARD.sub("", path.with_suffix("").as_posix())
        if path.as_posix().startswith(inside) and path.name != "dataset_infos.json":
            sets.setdefault(called, []).append(file)
    for split in _SPLITS:
        if len(sets) > 1:
            named = {each: files for each, files in sets.items() if split in each.lower()}
            sets = named or sets
    if len(sets) == 1:
        return folder, next(iter(sets.values()))
    if not sets:
        raise DataError(
            f"The data set hf:{name} has no file of rows: {inside or ', '.join(tables)}"
        )
    raise DataError(f"hf:{name} holds several sets: choose one, as hf:{name}/{listed(sets)}")


def map_names(names: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """The source of each field; fields without a source are left out.

    Args:
        names: the available fields.
        chosen: the user's choices, by field.
    """
    plain = {re.sub(r"[\s-]", "_", name.strip().lower()): name for name in reversed(names)}
    taken = set(chosen.values())
    found = dict(chosen)
    for target in TARGETS:
        if target in found:
            continue
        for name in (target, *SYNONYMS.get(target, ())):
            source = plain.get(name)
            if source is not None and source not in taken:
                found[target] = source
                taken.add(source)
                break
    return {target: found[target] for target in TARGETS if target in found}


def map_rows(table: Table, mapping: Mapping[str, str]) -> list[Row]:
    """The rows with mapped fields; other fields are left out."""
    count = next((at for at, each in enumerate(_LETTERS) if each not in table.names), len(_LETTERS))
    columns = [] if "options" in mapping or count < 2 else _LETTERS[:count]
    made = []
    for row in table.rows:
        given = {target: row.fields.get(source) for target, source in mapping.items()}
        if given.get("question") is None:  # a file may have questions and statements
            given["question"] = row.fields.get("statement")
        if columns:  # one column per option: A, B, ... up to the first blank one
            cells = (row.fields.get(name) for name in columns)
            given["options"] = list(
                takewhile(lambda cell: cell is not None and str(cell).strip(), cells)
            )
        values = {name: _value(name, value, row.cells) for name, value in given.items()}
        kept = {name: value for name, value in values.items() if value not in (None, [])}
        made.append(replace(row, fields=kept))
    return made


def _value(name: str, value: Any, cell: object) -> Any:
    """A value converted to the field's form, if that is clear; else unchanged."""
    if isinstance(value, float) and value.is_integer() and name == "id":
        return int(value)  # pandas writes whole numbers so, in a column with gaps
    if name == "options" and isinstance(value, dict) and (*value,) == _LETTERS[: len(value)]:
        return list(value.values())
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    if name in _LISTS and value.lstrip().startswith("["):
        with suppress(RowError):
            return list(encoded(any_list)(value, name))  # pandas writes lists as Python does
    if cell and name == "tolerance":
        try:
            return float(value)
        except ValueError:
            return value
    if name in _LISTS and cell and _picture(value) is None:
        return [each.strip() for each in re.split(_LISTS[name], value) if each.strip()]
    return [value] if name in ("texts", "reasoning") else value


def infer_form(rows: Iterable[Row]) -> str:
    """The type of the answers: see ``ANSWER_FORMS``.

    Raises:
        DataError: if they are positions of options, counted from 0 or 1: this is ambiguous.
    """
    pairs = [
        (row.fields["answer"], _items(row.fields.get("options")))
        for row in rows
        if row.fields.get("answer") is not None
    ]
    if not pairs:
        return "none"
    kinds = {_kind(*pair) for pair in pairs}
    if kinds != {"choice"} and all(_is_place(*pair) for pair in pairs):
        raise DataError(
            "The answers look like positions of options, counted from 0 or 1. Write the letters "
            "of the options (A, B, ...) or their texts, or use --answer number if they are numbers"
        )
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _is_place(answer: Any, options: Sequence[Any]) -> bool:
    text = str(answer).strip()
    plain = isinstance(answer, str | int) and text.isascii() and text.isdigit() and len(text) < 4
    return plain and bool(options) and int(text) <= len(options)


def _kind(answer: Any, options: Sequence[Any]) -> str:
    """The form of one answer; ``text`` for a value that the check of the fields will refuse."""
    if isinstance(answer, list) and answer:
        kinds = {_kind(each, options) for each in answer}
        return kinds.pop() if len(kinds) == 1 else "text"
    if not isinstance(answer, str | int | float) or isinstance(answer, bool):
        return "text"
    text = written(answer).strip()
    if re.fullmatch(r"[A-Ja-j]", text):
        return "choice"
    return form_of(text if options else stance_of(text), list(map(written, options)))


def collect_images(
    table: Table, rows: Sequence[Row], folder: Path | None
) -> tuple[list[Row], Pictures]:
    """The rows with the new names of their images, and the images.

    An image is a file, or content in the data: base64 (VLMEvalKit), or bytes (Parquet). A short
    text may be the id of a row whose image is meant, as in VLMEvalKit.

    Args:
        folder: the user's folder of images; None: the folder of the data, and ``images`` in it.
    """
    pictures = Pictures()
    folders = (folder.absolute(),) if folder else table.folders
    given = [_items(row.fields.get("images")) for row in rows]
    names = [each for items in given for each in items if isinstance(each, str)]
    if table.hub and not folder and any(len(each) < _LONGEST_REFERENCE for each in names):
        download(table.hub, _PICTURES, f"The images of hf:{table.hub}", "Set --images.")
    of_ids = {str(row.fields.get("id")): items for row, items in zip(rows, given, strict=True)}
    files: dict[Path, Path | None] = {}
    made, named = [], []
    for row, items in zip(rows, given, strict=True):
        new = []
        for item in items:
            meant = of_ids.get(item, []) if isinstance(item, str) else []
            content = _picture(meant[0] if len(meant) == 1 and meant[0] != item else item)
            if content is not None:
                opened = partial(Image.open, io.BytesIO(content), formats=FORMATS)
                if fault := fault_of_image(opened):
                    pictures.faults.append(f"{label(row)}: images: cannot read it ({fault})")
                suffix = "bin" if fault else str(opened().format).lower()
                name = f"{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
                new.append(pictures.add(name, content))
            elif isinstance(item, str) and item.strip():
                path, root = _find(item, folders)
                files[path] = root if table.hub or ".." in PurePosixPath(item).parts else None
                named.append((row, path))
                new.append(pictures.add(_below(path, root), path))
            else:
                new.append(item)  # the check of the fields reports it
        fields = {**row.fields, "images": new} if "images" in row.fields else row.fields
        made.append(replace(row, fields=fields))
    faults: dict[Path, str] = {}
    for place in set(files.values()):
        faults |= image_faults((path for path, own in files.items() if own == place), place)
    pictures.faults += (
        f"{label(row)}: images: {faults[path]}" for row, path in named if path in faults
    )
    inside = [each.resolve() for each in folders]
    if not pictures.faults:  # a path with a fault may not be resolvable
        outside = (path for path in files if not any(map(path.resolve().is_relative_to, inside)))
        pictures.outside += outside
    return made, pictures


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _picture(value: Any) -> bytes | None:
    """The content of an image that is in the data: bytes, or base64 with or without a header."""
    if isinstance(value, Mapping):
        value = value.get("bytes")
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str) or len(value) <= _LONGEST_REFERENCE:
        return None
    text = value.partition("base64,")[2] if value.startswith("data:image/") else value
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:  # a path has a dot
        return None


def _find(name: str, folders: Sequence[Path]) -> tuple[Path, Path]:
    """The file of an image, in the first folder that has it, and that folder."""
    for root in folders:
        try:
            if (root / name).is_file():
                return root / name, root
        except (OSError, ValueError):  # a name with a zero byte, or too long
            break
    return folders[0] / name, folders[0]


def _below(path: Path, root: Path) -> str:
    """The new name of a file: as below its folder, else only its own name."""
    if not path.is_relative_to(root):
        return path.name
    return path.relative_to(root).as_posix().removeprefix("images/")

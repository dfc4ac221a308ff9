"""Files and images for the ``datasets`` library."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lmms_rpts.files import draft_of
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.images import require_inside

if TYPE_CHECKING:
    from datasets import Dataset


class Row(Protocol):
    """What can be written as a line of JSONL, with the same fields and types for every row."""

    def as_line(self) -> str:
        """The row as JSON, without a line end."""


def as_jsonl(rows: Iterable[Row]) -> bytes:
    """The rows as JSONL."""
    return "".join(f"{row.as_line()}\n" for row in rows).encode()


def content_digest(content: bytes) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def store(content: bytes, benchmark: str, name: str) -> Path:
    """A file of this content, under its digest.

    It stands where LMMS_RPTS_CACHE says, else in the temporary folder, so that every process of a
    run finds or writes the same file.

    Args:
        content: all that stands in it.
        benchmark: whose it is, such as ``ROME``; in small letters the name of the folder.
        name: what is in it, such as ``questions``.

    Raises:
        DataError: where no folder can be written to.
    """
    refusals = []
    for place in _places(benchmark.lower()):
        path = place / content_digest(content) / f"{name}.jsonl"
        try:
            if not path.is_file() or path.read_bytes() != content:
                with draft_of(path) as draft:  # other processes may be reading or writing it
                    draft.write_bytes(content)
            return path
        except OSError as error:
            refusals.append(f"{path.parent}: {error.strerror or error}")
    raise DataError(
        f"the {name} of {benchmark} can't be kept in a file ({'; '.join(refusals)}). Set "
        "LMMS_RPTS_CACHE to a folder that can be written to."
    )


def add_image_column(dataset: Dataset, folder: Path, root: Path) -> Dataset:
    """Add a column of the images that ``img_path`` names, relative to a folder of the data.

    They are decoded when a document is looked at, not before.

    Args:
        dataset: with a column ``img_path`` of lists of names.
        folder: of the images.
        root: the data's folder, which no image may lie outside of.

    Raises:
        DataError: where one does.
    """
    from datasets import Image, Sequence

    paths = [[str(folder / name) for name in names] for names in dataset["img_path"]]
    require_inside(itertools.chain.from_iterable(paths), root)
    return dataset.add_column("images", paths).cast_column("images", Sequence(Image()))


def _places(folder: str) -> Iterator[Path]:
    settled = load_settings().cache
    if settled is not None:
        yield settled / folder
    # Everybody may write to the folder of temporary files: ours is our own, or is not used.
    user = os.getuid() if hasattr(os, "getuid") else 0
    own = Path(tempfile.gettempdir()) / f"lmms_rpts-{user}"
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode) and found.st_uid == user:
        yield own / folder

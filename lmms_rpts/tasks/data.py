"""Files and images for the ``datasets`` library."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.files import draft_of
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.images import require_inside

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from datasets import Dataset


def digest(rows: Sequence[DataclassInstance | Mapping[str, Any]]) -> str:
    """SHA-256 of rows as they are evaluated, in hexadecimal, without the contents of images."""
    return hashlib.sha256(_as_jsonl(rows)).hexdigest()


def store(rows: Sequence[DataclassInstance | Mapping[str, Any]], benchmark: str, name: str) -> Path:
    """Write these rows to a JSONL file for the ``datasets`` library, named by its digest.

    It is in LMMS_RPTS_CACHE, else in the temporary folder, so that every process of a run finds or
    writes the same file.

    Args:
        rows: instances of one dataclass, or mappings, with the same types of fields in every row.
        benchmark: their benchmark, such as ``ROME``; in lower case, the name of the folder.
        name: a word for the rows, such as ``questions``.

    Raises:
        DataError: if no folder is writable.
    """
    content, refusals = _as_jsonl(rows), []
    for place in _places(benchmark.lower()):
        path = place / hashlib.sha256(content).hexdigest() / f"{name}.jsonl"
        try:
            if not path.is_file() or path.read_bytes() != content:
                with draft_of(path) as draft:  # other processes may be reading or writing it
                    draft.write_bytes(content)
            return path
        except OSError as error:
            refusals.append(f"{path.parent}: {error.strerror or error}")
    raise DataError(
        f"Cannot write the {name} of {benchmark} to a file ({'; '.join(refusals)}). Set "
        "LMMS_RPTS_CACHE to a folder that is writable."
    )


def download(name: str, files: list[str], fault: str, remedy: str) -> Path:
    """The folder with these files of a data set on the Hub, downloaded if necessary.

    Args:
        name: name of the data set.
        files: patterns of file names.
        fault: the error message if the download fails; the Hub's reason follows.
        remedy: what to do then, in complete sentences.

    Raises:
        DataError: if it fails.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, repo_type="dataset", allow_patterns=files))
    except Exception as error:  # the Hub's client raises many kinds; all mean no data
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{fault} ({reason}). {remedy}") from error


def downloaded(name: str) -> Path | None:
    """The Hub's copy of a data set on this machine; None if there is none."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, repo_type="dataset", local_files_only=True))
    except Exception:  # whatever the Hub's client raises: it was not downloaded
        return None


def add_image_column(
    dataset: Dataset, folder: Path, root: Path, column: str = "img_path"
) -> Dataset:
    """Add a column ``images`` of the images that another column names.

    They are decoded when a document is accessed.

    Args:
        dataset: data set with a column of lists of image names.
        folder: folder of the images.
        root: the data's folder, which must contain all images.
        column: the column with the names, relative to the folder.

    Raises:
        DataError: if an image is outside of ``root``.
    """
    from datasets import Image
    from datasets import Sequence as ListOf

    paths = [[str(folder / name) for name in names] for names in dataset[column]]
    require_inside(itertools.chain.from_iterable(paths), root)
    return dataset.add_column("images", paths).cast_column("images", ListOf(Image()))


def _as_jsonl(rows: Sequence[DataclassInstance | Mapping[str, Any]]) -> bytes:
    plain = (row if isinstance(row, Mapping) else asdict(row) for row in rows)
    return "".join(f"{json.dumps(row)}\n" for row in plain).encode()


def _places(folder: str) -> Iterator[Path]:
    settled = load_settings().cache
    if settled is not None:
        yield settled / folder
    # Any user may write to the temporary folder: use only a folder that this user owns.
    user = os.getuid() if hasattr(os, "getuid") else 0
    own = Path(tempfile.gettempdir()) / f"lmms_rpts-{user}"
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode) and found.st_uid == user:
        yield own / folder

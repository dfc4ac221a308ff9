"""The data set of CMMaTH: its location, and its documents and images for lmms-eval.

The YAML files refer to ``kwargs`` and ``metadata`` of this module. These are computed whenever a
task is built, not once at import, so that CMMATH_PATH is read again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.escaping import listed
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.cmmath.settings import asks_judge, load_cmmath_settings
from lmms_rpts.tasks.cmmath.source_format import Problem, Problems, holds_problems, read_file
from lmms_rpts.tasks.data import add_image_column, digest, download, store
from lmms_rpts.tasks.data_errors import DataError, raise_faults

if TYPE_CHECKING:
    from datasets import Dataset

REPOSITORY = "https://github.com/zzli2022/CMMaTH"
FILE = "cmmath.json"
IMAGES = "images"

_ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,95}")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the data are, and what to do if they are wrong."""

    file: Path
    images: Path
    remedy: str


def source(images: bool = True) -> Source:
    """The data at CMMATH_PATH; a data set on the Hub is downloaded if necessary.

    Args:
        images: whether the images are needed, too; they are not checked here.

    Raises:
        DataError: if CMMATH_PATH is not set, or has no file of problems.
    """
    named = load_cmmath_settings().path
    if named is None:
        raise DataError(
            "CMMATH_PATH is not set, and CMMaTH is not on the Hub: git clone "
            f"{REPOSITORY} and set CMMATH_PATH to its folder with {FILE} and {IMAGES}/."
        )
    place = _expanded(named)
    if place.is_file():
        return _local(place)
    if place.is_dir():
        return _local(_find_file(place))
    if place.exists() or not _ON_HUB.fullmatch(named):
        raise DataError(
            f"CMMATH_PATH={named!r} is neither a folder nor a file. {_allowed()}",
        )
    folder = _download(named, images)
    return Source(
        folder / FILE,
        folder / IMAGES,
        f"The download from {named} may be damaged: delete {folder} and retry, or set "
        f"CMMATH_PATH to a copy of {REPOSITORY}.",
    )


def load_problems(found: Source) -> Problems:
    """All problems and faults of the data."""
    return read_file(found.file)


def read_problems() -> tuple[Problem, ...]:
    """The problems that are evaluated; their images may be missing.

    Raises:
        DataError: if there is no file of problems, or it has faults.
    """
    found = source(images=False)
    read = load_problems(found)
    faults = [fault.text for fault in read.faults if not fault.of_image]
    raise_faults(found.file, faults, found.remedy)
    return read.problems


prepare = partial(store, benchmark="CMMaTH", name="problems")
"""Writes problems as a file that the ``datasets`` library can read: see ``store``."""


def attach_images(dataset: Dataset) -> Dataset:
    """Add a column of images, each decoded only when its document is accessed."""
    images = source().images
    return add_image_column(dataset, images, images.parent)


def leave_out_images(dataset: Dataset) -> Dataset:
    """The documents unchanged, for tasks that show no image."""
    return dataset


def _expanded(named: str) -> Path:
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise DataError(f"CMMATH_PATH={named!r}: {error}. {_allowed()}") from None


def _allowed() -> str:
    return (
        f"Set it to a copy of {REPOSITORY}: its folder with {FILE} and {IMAGES}/, or the JSON file "
        "in it; or to a data set on the Hub, as OWNER/NAME."
    )


def _local(file: Path) -> Source:
    remedy = f"Fix or complete {file.parent} (CMMATH_PATH); {REPOSITORY} has the complete data."
    return Source(file, file.parent / IMAGES, remedy)


def _find_file(folder: Path) -> Path:
    """``cmmath.json``, or the only other JSON file that contains problems."""
    usual = folder / FILE
    if usual.is_file():
        return usual
    files = [path for path in sorted(folder.glob("*.json")) if path.is_file()]
    # The check reports the faults of a single file.
    found = files if len(files) == 1 else [path for path in files if holds_problems(path)]
    if len(found) == 1:
        return found[0]
    if found:
        names = listed([path.name for path in found])
        raise DataError(
            f"CMMATH_PATH={str(folder)!r} has no {FILE}, and several files with problems: "
            f"{names}. Set CMMATH_PATH to one of these files."
        )
    raise DataError(f"CMMATH_PATH={str(folder)!r} is not a folder with {FILE}. {_allowed()}")


@cache  # failures are not cached: the next call retries
def _download(name: str, images: bool) -> Path:
    folder = download(
        name,
        [FILE, f"{IMAGES}/**"] if images else [FILE],
        f"CMMATH_PATH={name!r} is not a local folder or file, and a data set of that name could "
        "not be downloaded from the Hub",
        _allowed(),
    )
    if not (folder / FILE).is_file():
        raise DataError(
            f"The data set {name} (CMMATH_PATH) has no {FILE}. Download it, and set CMMATH_PATH "
            f"to its folder, or to the file of problems in it, with {IMAGES}/ next to it."
        )
    return folder


def _metadata() -> dict[str, Any]:
    settings, cmmath = load_settings(), load_cmmath_settings()
    read = load_problems(source(images=False))
    return {
        "version": 1.0,
        "problems": len(read.problems),
        "left_out_without_answer": read.left_out,
        "data_sha256": digest(read.problems),
        "grader": cmmath.grader,
        "mistakes": cmmath.errors,
        "judge": settings.judge if asks_judge(cmmath) else None,
    }


def _kwargs() -> dict[str, Any]:
    from datasets import Features, Sequence, Value

    numbers, lists = ("grade_id", "grade_group"), ("img_path",)
    # Explicit types: the type of a column that begins empty cannot be inferred.
    features = {
        name: Sequence(Value("string")) if name in lists else Value("string")
        for name in Problem.__dataclass_fields__
    }
    features |= {name: Value("int64") for name in numbers}
    problems = load_problems(source(images=False)).problems
    return {"data_files": {"test": str(prepare(problems))}, "features": Features(features)}


def __getattr__(name: str) -> Any:
    if name == "kwargs":
        return _kwargs()
    if name == "metadata":
        return _metadata()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

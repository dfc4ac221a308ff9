"""Collection of the images of custom instances in one folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from tqdm import tqdm

from lmms_rpts.tasks.images import image_faults
from lmms_rpts.tasks.own.config import IMAGES
from lmms_rpts.tasks.own.data import Record
from lmms_rpts.tasks.own.fields import image_names

_MANY = 100


def find_images(
    records: Sequence[Record], folders: Sequence[Path]
) -> tuple[dict[str, Path], list[str]]:
    """Find the images that instances name, and their faults.

    Args:
        folders: searched in order; nothing outside of them is opened.

    Returns:
        Files by the names in the instances; faults, each with its instance.
    """
    found: dict[str, tuple[Path, Path]] = {}
    for record in records:
        for name in image_names(record.fields) or []:
            if name not in found:
                root = next((each for each in folders if _is_there(each / name)), folders[0])
                found[name] = (root / name, root)
    wrong: dict[Path, str] = {}
    for root in folders:
        wrong |= image_faults((path for path, other in found.values() if other == root), root)
    faults = [
        f"{record.label}: 'images': {wrong[found[name][0]]}"
        for record in records
        for name in image_names(record.fields) or []
        if found[name][0] in wrong
    ]
    return {name: path for name, (path, _) in found.items()}, faults


def new_names(found: Mapping[str, Path], folders: Sequence[Path]) -> dict[str, str]:
    """The names of images in their new folder, by their names in the instances.

    They are relative to the old folder, without a leading ``images/`` unless two would collide.
    """
    names = {name: _below(path, folders) for name, path in found.items()}
    short = {name: new.removeprefix(f"{IMAGES}/") for name, new in names.items()}
    sources: dict[str, Path] = {}
    for name, new in short.items():
        if sources.setdefault(new.lower(), found[name]) != found[name]:
            return names
    return short


def renamed(record: Record, names: Mapping[str, str]) -> Record:
    """An instance with its images' new names."""
    if "images" not in record.fields:
        return record
    listed = [names[name] for name in image_names(record.fields) or []]
    return Record(record.place, record.fields | {"images": listed})


def copy_images(found: Mapping[str, Path], names: Mapping[str, str], folder: Path) -> int:
    """Copy images and return their number; shows progress if there are many.

    Raises:
        OSError: if an image cannot be read or written.
    """
    pairs = {names[name]: path for name, path in found.items()}
    for name, path in tqdm(pairs.items(), desc="Copying images", disable=len(pairs) <= _MANY):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return len(pairs)


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name with a zero byte, or too long
        return False


def _below(path: Path, folders: Sequence[Path]) -> str:
    root = next(each for each in folders if path.is_relative_to(each))
    return str(PurePosixPath(path.relative_to(root).as_posix()))

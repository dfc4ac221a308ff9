"""Locations of the data sets of ReForm-Eval below a given folder."""

from __future__ import annotations

from pathlib import Path

HUB_FOLDER = "huggingface_data"
_PLACES = (f"ReForm-Eval-Data/{HUB_FOLDER}", HUB_FOLDER, "")


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; a path may be longer than any file system takes."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def root_of(path: Path) -> Path:
    """The folder of the sets: REFORM_PATH may be this one, or one of two above it."""
    return next(path / place for place in _PLACES if place == "" or is_folder(path / place))

"""Location of the data sets of ReForm-Eval below a given folder."""

from __future__ import annotations

from pathlib import Path

HUB_FOLDER = "huggingface_data"
_PLACES = (f"ReForm-Eval-Data/{HUB_FOLDER}", HUB_FOLDER, "")


def is_folder(path: Path) -> bool:
    """Whether the folder exists; False if the path is too long for the file system."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def root_of(path: Path) -> Path:
    """The folder that contains the sets: REFORM_PATH itself, or one or two levels below it."""
    return next(path / place for place in _PLACES if place == "" or is_folder(path / place))

"""Custom tasks, below the folder of lmms-eval's ``--include_path``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmms_rpts.tasks.any_task.names import read_simply, uses_our_filters
from lmms_rpts.tasks.data import DataError


def own_tasks(folder: Path | None) -> tuple[str, ...]:
    """The names of the tasks below a folder whose files use RPTS filters or the key ``rpts``.

    Raises:
        DataError: if a file cannot be read.
    """
    return tuple(task for task, path in task_files(folder).items() if uses_our_filters(path))


def task_files(folder: Path | None) -> dict[str, Path]:
    """The task files below a folder, by the names of their tasks.

    Raises:
        DataError: if a file cannot be read.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.yaml")) if folder is not None else ():
        task = simple_config(path).get("task")
        if isinstance(task, str):
            found[task] = path
    return found


def own_image_folders(folder: Path | None) -> dict[str, Path]:
    """The image folders of the tasks below a folder that use the short form, the key ``rpts``.

    Raises:
        DataError: if a task file cannot be read.
    """
    found = {}
    for task, path in task_files(folder).items():
        short = simple_config(path).get("rpts")
        if isinstance(short, dict):
            named = short.get("images")
            folder_of = named if isinstance(named, str) and named.strip() else "images"
            found[task] = path.parent / Path(folder_of).expanduser()
    return found


def simple_config(path: Path) -> dict[str, Any]:
    """The content of a task file, without its functions.

    Raises:
        DataError: if it cannot be read.
    """
    try:
        found = read_simply(str(path))
    except Exception as error:  # whatever YAML or an include raises
        raise DataError(f"Cannot read {path} as a task file: {error}") from None
    return dict(found) if isinstance(found, dict) else {}

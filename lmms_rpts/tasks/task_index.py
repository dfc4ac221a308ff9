"""Index of the few tasks of lmms-eval that are needed, without its thousands of files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.any_task.names import split_name

_NAME = re.compile(r"^task[ \t]*:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_MOST_CHARACTERS = 1_000_000


def find_tasks(
    manager: Any, root: Path, names: Sequence[str], known: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Index entries of tasks below lmms-eval's own folder.

    Only the folders are read whose files define one of the tasks.

    Args:
        manager: lmms-eval's TaskManager, which reads a folder.
        root: lmms-eval's folder of tasks.
        names: of tasks; ``NAME_rpts`` stands for NAME as well.
        known: entries that are there without this folder.

    Returns:
        The entries of all tasks in these folders; None where a name may be something else than a
        task in a file, a pattern or a group say, so that the index of all tasks is needed.
    """
    wanted = set(names) | {asked.base for name in names if (asked := split_name(name))}
    folders = {path.parent for path in root.rglob("*.yaml") if wanted & _tasks_in(path)}
    found: dict[str, Any] = {}
    for folder in sorted(folders):
        found |= manager._get_task_and_group(str(folder))
    return found if all(_is_in(name, {**known, **found}) for name in names) else None


def _is_in(name: str, index: Mapping[str, Any]) -> bool:
    asked = split_name(name)
    return name in index or (asked is not None and asked.base in index)


def _tasks_in(path: Path) -> set[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as text:
            return set(_NAME.findall(text.read(_MOST_CHARACTERS)))
    except OSError:
        return set()

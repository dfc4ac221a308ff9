"""Files and folders of users' tasks: by name for lmms-eval, and examined without its index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.own.reading import KEY


def name_files(manager: Any, tasks: Any) -> None:
    """Let ``--tasks path/to/task.yaml`` stand for the task in that file, where it has our key.

    lmms-eval reads such files, and then misses a task of the file's name.

    Args:
        manager: lmms-eval's TaskManager; the task is added to its index.
        tasks: names from the command line; a file's is replaced by that of its task.
    """
    for at, named in enumerate(tasks if isinstance(tasks, list) else ()):
        if not (isinstance(named, str) and named.endswith((".yaml", ".yml"))):
            continue
        name = _task_in(Path(named))
        if name is not None:
            tasks[at] = name
            manager.task_index[name] = {"type": "task", "yaml_path": named}
            for names in (manager.all_tasks, manager.all_subtasks):
                if name not in names:
                    names.append(name)


def _task_in(path: Path) -> str | None:
    from lmms_eval.utils import load_yaml_config

    try:
        config = load_yaml_config(str(path), mode="simple") if path.is_file() else None
    except Exception:  # lmms-eval reads it again, and says what is wrong
        return None
    if not isinstance(config, Mapping) or KEY not in config:
        return None
    name = config.get("task")
    return name if isinstance(name, str) and name else None

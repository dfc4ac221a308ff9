"""Documents of the tasks that RPTS scores, of any benchmark, for commands that need no model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from lmms_rpts.tasks.benchmark import Benchmark, benchmarks
from lmms_rpts.tasks.data_errors import DataError


def scored_tasks() -> dict[str, Benchmark]:
    """The tasks and groups that RPTS scores, with their benchmarks."""
    return {task: each for each in benchmarks().values() for task in each.scored}


def read_documents(task: str) -> Mapping[str, list[dict[str, Any]]]:
    """The documents of a task or group without their images, by their task.

    Raises:
        DataError: for an unknown task, or if they cannot be read.
    """
    known = scored_tasks()
    if task not in known:
        raise DataError(f"Unknown task {task!r}. Known tasks: {', '.join(known)}")
    found: Mapping[str, list[dict[str, Any]]] = resolve_name(str(known[task].documents))(task)
    return found


def images_folder(task: str) -> Path | None:
    """The folder of the images of a task on this machine; None if there is none.

    Nothing is downloaded.
    """
    benchmark = scored_tasks().get(task)
    if benchmark is None:
        return None
    folder: Path | None = resolve_name(str(benchmark.images))(task)
    return folder

"""Documents of the tasks that RPTS scores, of any benchmark, for commands that need no model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from lmms_rpts.escaping import did_you_mean
from lmms_rpts.tasks.benchmark import Benchmark, benchmark_of, benchmarks
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
        hint = did_you_mean(task, known)
        raise DataError(f"Unknown task {task!r}.{hint} Known tasks: {', '.join(known)}")
    found: Mapping[str, list[dict[str, Any]]] = resolve_name(str(known[task].documents))(task)
    return found


def published_documents(task: str) -> tuple[Mapping[str, list[dict[str, Any]]], str] | None:
    """Documents like the published ones, with a note; None if the real ones can be read.

    Nothing is downloaded.
    """
    benchmark = scored_tasks().get(task)
    if benchmark is None or benchmark.published is None:
        return None
    found: tuple[Mapping[str, list[dict[str, Any]]], str] | None
    found = resolve_name(benchmark.published)(task)
    return found


def images_folder(task: str) -> Path | None:
    """The folder of the images of a task on this machine; None if there is none.

    Nothing is downloaded.
    """
    benchmark = scored_tasks().get(task) or _graded(task)
    if benchmark is None or benchmark.images is None:
        return None
    folder: Path | None = resolve_name(str(benchmark.images))(task)
    return folder


def _graded(task: str) -> Benchmark | None:
    """The benchmark that grades the answers to a task."""
    found = benchmark_of(task)
    return found if found is not None and found.grades else None

"""Documents of the tasks that RPTS scores, of any benchmark, for commands that need no model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from lmms_rpts.escaping import did_you_mean
from lmms_rpts.tasks.benchmark import Benchmark, benchmark_of, benchmarks
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.rpts_eval.data import DEMO_TASK

_HUB_COPY = re.compile(r"/datasets--([^/]+?)--([^/]+)/snapshots/([^/]+)")
"""OWNER, NAME and REVISION of a folder in the cache of the Hub."""


def scored_tasks() -> dict[str, Benchmark]:
    """The tasks and groups that RPTS scores, with their benchmarks."""
    return {task: each for each in benchmarks().values() for task in each.scored}


def answered_tasks() -> dict[str, Benchmark]:
    """The tasks and groups of ``scored_tasks``, and those whose answers a benchmark grades."""
    graded = {task: each for each in benchmarks().values() for task in each.answered}
    return scored_tasks() | graded


def read_documents(task: str) -> Mapping[str, list[dict[str, Any]]]:
    """The documents of a task or group without their images, by their task.

    Raises:
        DataError: for an unknown task, or if they cannot be read.
    """
    known = answered_tasks()
    if task not in known:
        hint = did_you_mean(task, known)
        raise DataError(f"Unknown task {task!r}.{hint} Known tasks: {', '.join(known)}")
    found: Mapping[str, list[dict[str, Any]]] = resolve_name(str(known[task].documents))(task)
    return found


def images_folder(task: str, recorded: Path | None = None) -> Path | None:
    """The folder of the images of a task on this machine; None if there is none.

    The setting for the data comes first, then ``recorded``, then the cache of the Hub. Nothing is
    downloaded.

    Args:
        task: name of the task.
        recorded: the place in the results of a run.
    """
    benchmark = scored_tasks().get(task) or _graded(task)
    if recorded is not None and recorded.is_dir() and not (benchmark and benchmark.data_path):
        return recorded
    if benchmark is None or benchmark.images is None:
        return None
    folder: Path | None = resolve_name(str(benchmark.images))(task)
    return folder


def record_places(configs: Mapping[str, dict[str, Any]]) -> None:
    """Add to the metadata of tasks where their data and images are, for reports in another shell.

    Args:
        configs: lmms-eval's configurations of the tasks by name; changed in place.
    """
    for task, config in configs.items():
        images = images_folder(task) if task != DEMO_TASK else None
        known = config.get("metadata") or {}
        if images is None or "images" in known:
            continue
        places = {"images": str(images.absolute())}
        benchmark, hub = benchmark_of(task), _HUB_COPY.search(images.as_posix())
        if hub:
            places["data"] = f"{hub[1]}/{hub[2]}@{hub[3]}"
        elif benchmark and benchmark.data_path:
            places["data"] = str(Path(benchmark.data_path).expanduser().absolute())
        config["metadata"] = {**known, **places}


def _graded(task: str) -> Benchmark | None:
    """The benchmark that grades the answers to a task."""
    found = benchmark_of(task)
    return found if found is not None and found.grades else None

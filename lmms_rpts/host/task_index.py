"""Index of the few tasks of lmms-eval that are needed, without its thousands of files."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.host.names import split_name
from lmms_rpts.host.wanted_tasks import wanted_tasks
from lmms_rpts.tasks.benchmark import Benchmark, benchmark_of

_NAME = re.compile(r"^task[ \t]*:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_MOST_CHARACTERS = 1_000_000


def few_tasks(
    original: Callable[..., dict[str, Any]], manager: Any, include_path: Any, ours: dict[str, Any]
) -> dict[str, Any] | None:
    """The index of the tasks that this process needs, from ``only_tasks``.

    Of two tasks with one name, lmms-eval's own takes precedence, as in the full index.

    Args:
        original: ``TaskManager.initialize_tasks``.
        manager: the TaskManager that is being created.
        include_path: folders with custom tasks.
        ours: entries of this package's tasks.

    Returns:
        None if the index of all tasks is needed.
    """
    names = wanted_tasks()
    if names is None:
        return None
    known = ours | original(manager, include_path=include_path, include_defaults=False)
    root = Path(inspect.getfile(type(manager))).parent
    others = [name for name in names if name not in ours]
    found = find_tasks(manager, root, others, known) if others else {}
    return None if found is None else {**known, **found}


def built_entries(benchmark: Benchmark) -> dict[str, Any]:
    """Index entries of the tasks and groups that a benchmark builds: their paths have no file."""
    place = str(benchmark.built).partition(":")[0]
    entries: dict[str, Any] = {}
    for name, build in benchmark.built_tasks().items():
        kind = {"type": "group", "task": -1} if "group" in build(full=False) else {"type": "task"}
        entries[name] = {
            **kind,
            "yaml_path": f"{benchmark.folder / place.rpartition('.')[2]}.py#{name}",
        }
    return entries


def built_config(
    yaml_path: str | None = None,
    yaml_config: Any = None,
    yaml_dir: str | None = None,
    mode: str = "full",
) -> dict[str, Any] | None:
    """The configuration for a path from ``built_entries``; None for any other path.

    Args are those of lmms-eval's ``load_yaml_config``.
    """
    place, _, name = str(yaml_path or "").rpartition(".py#")
    benchmark = benchmark_of(name) if place else None
    build = benchmark.built_tasks().get(name) if benchmark else None
    return None if build is None else build(full=mode == "full")


def find_tasks(
    manager: Any, root: Path, names: Sequence[str], known: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Index entries of tasks below lmms-eval's own folder.

    Only folders with a file that defines one of the tasks are read.

    Args:
        manager: lmms-eval's TaskManager, which reads a folder.
        root: lmms-eval's folder of tasks.
        names: names of tasks; ``NAME_rpts`` also stands for NAME.
        known: entries from elsewhere.

    Returns:
        The entries of all tasks in these folders; None if a name may not be a task in a file but,
        say, a pattern or a group: then the index of all tasks is needed.
    """
    wanted = set(names) | {asked.base for name in names if (asked := split_name(name))}
    files = {path: wanted & _tasks_in(path) for path in root.rglob("*.yaml")}
    defined = Counter(name for found_names in files.values() for name in found_names)
    if any(count > 1 for count in defined.values()):
        return None  # only the index of all tasks says which definition lmms-eval uses
    found: dict[str, Any] = {}
    for folder in sorted({path.parent for path, here in files.items() if here}):
        found |= manager._get_task_and_group(str(folder))
    return found if all(_is_in(name, known, found) for name in names) else None


def _is_in(name: str, known: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether a name is a known entry, or a task; groups and tags need the tasks of all folders."""
    asked = split_name(name)
    names = (name, asked.base) if asked else (name,)
    return any(each in known or found.get(each, {}).get("type") == "task" for each in names)


def _tasks_in(path: Path) -> set[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as text:
            return set(_NAME.findall(text.read(_MOST_CHARACTERS)))
    except OSError:
        return set()

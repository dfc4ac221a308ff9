"""Names of tasks that RPTS wraps: ``NAME_rpts`` and ``NAME_rpts_steps``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.tasks.benchmark import filter_names
from lmms_rpts.tasks.data import DataError

Variant = Literal["default", "steps"]

SUFFIX, STEPS_SUFFIX = "_rpts", "_rpts_steps"
_MARK = "lmms_rpts_base"
_OUTPUT = "generate_until"


@dataclass(frozen=True, slots=True)
class WrappedName:
    """A parsed name: the wrapped task, and whether its prompt asks for steps."""

    base: str
    variant: Variant


def split_name(name: str) -> WrappedName | None:
    """Parse ``NAME_rpts`` or ``NAME_rpts_steps``; None for any other name."""
    for suffix, variant in ((STEPS_SUFFIX, "steps"), (SUFFIX, "default")):
        if name.endswith(suffix) and len(name) > len(suffix):
            return WrappedName(name.removesuffix(suffix), variant)  # type: ignore[arg-type]
    return None


def add_wrapped(manager: Any, names: Sequence[Any]) -> None:
    """Register in lmms-eval the names that request RPTS for another task.

    Known names, patterns and files are ignored.

    Args:
        manager: lmms-eval's TaskManager.
        names: the requested names.

    Raises:
        DataError: if the other task is unknown or cannot be wrapped; the message says why.
    """
    for name in names:
        if not isinstance(name, str) or name in manager.task_index or not _is_plain(name):
            continue
        asked = split_name(name)
        if asked is None:
            continue
        fault = _fault(manager, asked.base)
        if fault:
            raise DataError(f"The task {name!r} cannot be run: {fault}")
        entry = dict(manager.task_index[asked.base])
        manager.task_index[name] = {**entry, _MARK: asked}
        for listed in (manager.all_tasks, manager.all_subtasks):
            listed.append(name)


def wrapped_name(manager: Any, name: str) -> WrappedName | None:
    """The parsed name of an index entry; None for a task that is not wrapped."""
    found: WrappedName | None = manager.task_index.get(name, {}).get(_MARK)
    return found


def _is_plain(name: str) -> bool:
    return not set(name) & set("*?[]/\\") and not Path(name).suffix


def _fault(manager: Any, base: str) -> str | None:
    """Why RPTS cannot wrap a task."""
    entry = manager.task_index.get(base)
    if entry is None:
        hint = did_you_mean(base, manager.all_tasks, SUFFIX)
        if getattr(manager, "include_path", None) is None:
            hint += " Use --include_path FOLDER for your own tasks"
        return f"lmms-eval has no task {base!r}.{hint}"
    if entry["type"] != "task":
        return _parts_fault(base, entry, manager)
    config = read_simply(entry["yaml_path"])
    if is_scored(config):
        return f"{base!r} is scored by RPTS already: use it without {SUFFIX}"
    kind = config.get("output_type", _OUTPUT)
    if kind != _OUTPUT:
        return (
            f"{base!r} has the output type {kind!r}; only free-text responses ({_OUTPUT}) contain "
            "reasoning"
        )
    return None


def _parts_fault(base: str, entry: Mapping[str, Any], manager: Any) -> str:
    if entry["type"] == "python_task":
        return f"{base!r} is a task written in Python, which cannot be wrapped"
    parts = entry.get("task")
    if not isinstance(parts, list):
        parts = read_simply(entry["yaml_path"]).get("task") or []
    named = [each if isinstance(each, str) else str(each.get("task")) for each in parts]
    tasks = ",".join(f"{each}{SUFFIX}" for each in named[:10])
    more = f" (the first 10 of {len(named)})" if len(named) > 10 else ""
    return f"{base!r} is a {entry['type']} of several tasks. List them: --tasks {tasks}{more}"


def read_simply(path: Any) -> Mapping[str, Any]:
    """The content of a task file, without its functions; raises any error of YAML or an include."""
    from lmms_eval.utils import load_yaml_config

    found: Mapping[str, Any] = load_yaml_config(path, mode="simple")  # runs no !function
    return found


def task_files(folder: Path | None) -> dict[str, tuple[Path, Mapping[str, Any]]]:
    """The task files below the folder of ``--include_path`` and their contents, by task name.

    Raises:
        DataError: if a file cannot be read.
    """
    found: dict[str, tuple[Path, Mapping[str, Any]]] = {}
    for path in sorted(folder.rglob("*.yaml")) if folder is not None else ():
        try:
            config = read_simply(str(path))
        except Exception as error:  # whatever YAML or an include raises
            raise DataError(f"Cannot read {path} as a task file: {error}") from None
        task = config.get("task") if isinstance(config, Mapping) else None
        if isinstance(task, str):
            found[task] = path, config
    return found


def own_tasks(folder: Path | None) -> tuple[str, ...]:
    """The names of the tasks below a folder whose files use RPTS filters or the key ``rpts``."""
    return tuple(task for task, (_, config) in task_files(folder).items() if is_scored(config))


def own_image_folders(folder: Path | None) -> dict[str, Path]:
    """The image folders of the tasks below a folder that use the key ``rpts``."""
    found = {}
    for task, (path, config) in task_files(folder).items():
        short = config.get("rpts")
        if isinstance(short, dict):
            named = short.get("images")
            folder_of = named if isinstance(named, str) and named.strip() else "images"
            found[task] = path.parent / Path(folder_of).expanduser()
    return found


def is_scored(config: Mapping[str, Any]) -> bool:
    """Whether a task uses RPTS filters, or the key ``rpts``."""
    if "rpts" in config:
        return True
    return bool(filters_of(config) & filter_names())


def filters_of(config: Mapping[str, Any]) -> set[str]:
    """The names of the filters of a task's pipelines, ignoring everything else."""
    pipelines = config.get("filter_list")
    return {
        str(component.get("function"))
        for pipeline in (pipelines if isinstance(pipelines, list) else ())
        if isinstance(pipeline, Mapping)
        for component in pipeline.get("filter") or ()
        if isinstance(component, Mapping)
    }

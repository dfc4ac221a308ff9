"""The index of tasks: names that RPTS wraps (``NAME_rpts``), and only the tasks that are needed."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.rows import read_rows
from lmms_rpts.runs.metadata import value_at
from lmms_rpts.tasks.benchmark import Benchmark, benchmark_of, filter_names
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
    """The task files below the folder of ``--include_path`` and their contents, by task name."""
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


def own_tasks(folder: Path | None) -> dict[str, list[str]]:
    """The tasks below a folder whose files use RPTS filters or the key ``rpts``.

    With the ids of their instances, if they have that key.
    """
    found: dict[str, list[str]] = {}
    for task, (path, config) in task_files(folder).items():
        keys = config.get("rpts")
        data = path.parent / str(value_at(keys, "data") or "")
        if is_scored(config):
            rows = read_rows(data) if data.is_file() else ()
            found[task] = [str(row.fields.get("id", row.number)) for row in rows]
    return found


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


_wanted: ContextVar[tuple[str, ...] | None] = ContextVar("wanted_tasks", default=None)


@contextmanager
def only_tasks(names: Sequence[str]) -> Iterator[None]:
    """Context in which TaskManagers index only these tasks, ours, and those of ``include_path``."""
    token = _wanted.set(tuple(names))
    try:
        yield
    finally:
        _wanted.reset(token)


def document_metrics(task: Any, request: Any, pipeline: str) -> dict[str, float]:
    """The metrics of a document that are numbers, as lmms-eval computes them.

    Args:
        task: of ``load_task``.
        request: the document's request, with the output of the pipeline's filters.
        pipeline: name of the filter pipeline; those of a wrapped task's own metrics come first.
    """
    from lmms_eval.api.reasoning import parse_reasoning_tags_config
    from lmms_eval.evaluator import _process_document_results

    done = _process_document_results(
        (request.doc_id, task.eval_docs_no_media[request.doc_id], [request]),
        task=task,
        filter_key=pipeline,
        reasoning_tags=parse_reasoning_tags_config(task_value=task.config.reasoning_tags),
        log_samples=False,
    )
    return {name: float(v) for name, v in done.metrics.items() if isinstance(v, int | float)}


def wanted_tasks() -> tuple[str, ...] | None:
    """The tasks that are needed; None: all."""
    return _wanted.get()


_NAME = re.compile(r"^task[ \t]*:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
# Files of lmms-eval are far smaller; a stray data file must not be read whole
_MOST_CHARACTERS = 1_000_000


def few_tasks(
    original: Callable[..., dict[str, Any]], manager: Any, include_path: Any, ours: dict[str, Any]
) -> dict[str, Any] | None:
    """The index of the tasks that this process needs, from ``only_tasks``.

    Of two tasks with one name, lmms-eval's own takes precedence, as in the full index.

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

"""Task files below the folder of ``--include_path``, read without lmms-eval's index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.base.rows import read_rows
from lmms_rpts.runs.metadata import value_at
from lmms_rpts.tasks.benchmark import get_benchmark
from lmms_rpts.tasks.data import DataError


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


def own_configs(folder: Path | None) -> dict[str, Mapping[str, Any]]:
    """The tasks below a folder that RPTS scores, with their whole configurations."""
    from lmms_eval.utils import load_yaml_config

    filters = set(get_benchmark("rpts").filters)
    return {
        task: load_yaml_config(str(path), mode="full")
        for task, (path, config) in task_files(folder).items()
        if filters_of(config) & filters
    }


def own_documents(folder: Path | None) -> dict[str, list[str]]:
    """The ids of the documents of tasks below a folder that RPTS scores; empty if not known."""
    found: dict[str, list[str]] = {}
    for task, config in own_configs(folder).items() if folder else ():
        data = value_at(config, "dataset_kwargs", "data_files", "test")
        rows = read_rows(Path(data)) if isinstance(data, str) and Path(data).is_file() else ()
        found[task] = [str(row.fields.get("id", row.number)) for row in rows]
    return found


def own_image_folders(folder: Path | None) -> dict[str, Path]:
    """The image folders of the tasks below a folder whose metadata have one."""
    configs = own_configs(folder) if folder else {}
    found = {task: value_at(config, "metadata", "images") for task, config in configs.items()}
    return {task: Path(each) for task, each in found.items() if each}


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

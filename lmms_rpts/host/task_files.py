"""Task files below the folder of ``--include_path``; tasks of lmms-eval, and their images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.runs.reading import read_results
from lmms_rpts.runs.run import value_at
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import task_images
from lmms_rpts.tasks.own.data import OwnData
from lmms_rpts.tasks.registry import RPTS_FILTERS, filter_names

SUFFIX = "_rpts"
"""Of the name under which saved responses to a task are scored."""
_LEAVE_WHOLE = {"take_first", "take_first_k", "lowercase", "uppercase", "remove_whitespace"}
"""Filters of lmms-eval that leave a response unchanged, or nearly so."""


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

    return {
        task: load_yaml_config(str(path), mode="full")
        for task, (path, config) in task_files(folder).items()
        if filters_of(config) & {*RPTS_FILTERS}
    }


def own_image_folders(folder: Path | None) -> dict[str, Path]:
    """The image folders of the own tasks below a folder."""
    data = {task: config.get("dataset_kwargs") for task, config in own_configs(folder).items()}
    return {task: own.images for task, own in data.items() if isinstance(own, OwnData)}


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


# --- tasks of lmms-eval


def load_task(name: str, include_path: Path | None = None, with_filters: bool = False) -> Any:
    """A task of lmms-eval; for ``NAME_rpts`` the task NAME.

    Args:
        with_filters: whether to build its filters if they are ours, which needs a judge.

    Raises:
        DataError: if the task is unknown, or cannot be loaded.
    """
    import lmms_eval.models  # noqa: F401 - it loads the plugin
    from lmms_eval.tasks import TaskManager

    folder = None if include_path is None else str(include_path)
    logger.disable("lmms_eval")  # it logs every file that it reads
    try:
        base, files = name.removesuffix(SUFFIX) or name, task_files(include_path)
        manager = TaskManager(include_path=folder, include_defaults=not {name, base} & files.keys())
        base = name if name in manager.task_index else base
        if base not in manager.task_index:
            hint = did_you_mean(base, manager.all_tasks)
            hint += "" if folder else " Use --include_path FOLDER for your own tasks"
            raise DataError(f"Unknown task {base!r} of lmms-eval.{hint}")
        if (kind := manager.task_index[base]["type"]) != "task":
            raise DataError(f"{base!r} is a {kind} of lmms-eval: name its tasks (--task)")
        ours = base in files and filters_of(files[base][1]) & filter_names()
        config = {"task": base} | ({} if with_filters and ours else {"filter_list": None})
        task = manager.load_task_or_group([config])[base]
    except UserError:
        raise
    except Exception as error:  # another package's task, its data set, or the network
        cause = getattr(error, "last_attempt", None)
        reason = error if cause is None else cause.exception()
        if isinstance(reason, UserError):
            raise reason from None
        raise DataError(f"Cannot load {name!r} ({type(reason).__name__}: {reason})") from None
    finally:
        logger.enable("lmms_eval")
    if task.OUTPUT_TYPE not in (None, "generate_until"):
        raise DataError(f"{base!r} has the output type {task.OUTPUT_TYPE!r}: no text, no reasoning")
    return task


def image_name(task: str, doc_id: int, number: int) -> str:
    """The name in records of an image without a name."""
    return f"{task}#{doc_id}/{number}"


def read_image_name(task: str, name: str) -> tuple[int, int] | None:
    """The numbers of the document and of the image; None for any other name."""
    beginning, _, rest = name.rpartition("#")
    doc_id, _, number = rest.partition("/")
    plain = all(each.isascii() and each.isdigit() and len(each) < 10 for each in (doc_id, number))
    return (int(doc_id), int(number)) if beginning == task and plain else None


def named_images(task: Any, name: str, wanted: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The images of a task by their names in records; unreadable ones are left out."""
    places = ((each, read_image_name(name, each)) for each in wanted)
    by_document: dict[int, list[tuple[int, str]]] = {}
    for each, place in places:
        if place is not None and place[0] < len(task.task_docs):
            by_document.setdefault(place[0], []).append((place[1], each))
    for doc_id, numbered in sorted(by_document.items()):
        images: list[Any] = []
        with suppress(Exception):  # whatever another package's function or a broken image raises
            images = task_images(task, doc_id)
        yield from ((each, images[number]) for number, each in numbered if number < len(images))


def refuse_filtered(files: Iterable[Path], task: str) -> None:
    """Raise a DataError if samples of a task have only what its filters left of the responses.

    lmms-eval saves this if it strips reasoning tags, its default.
    """
    for file in files:
        results = read_results(file)
        config = value_at(results, "configs", task) or {}
        tags = config.get("reasoning_tags")  # as lmms-eval does: it takes precedence
        if tags is None:
            tags = value_at(results, "config", "resolved_cli_args", "reasoning_tags")
        filters = filters_of(config)
        ours = any(name.startswith("rpts_") for name in filters)
        cut = sorted(filters - _LEAVE_WHOLE)
        if cut and not ours and tags not in (None, False, "none"):
            raise DataError(
                f"{file} contains filtered responses to {task} ({', '.join(cut)}), not the model's "
                "output. Run the task with --reasoning_tags none, so that lmms-eval saves the "
                "output (with --use_cache, from the cache of that run)"
            )

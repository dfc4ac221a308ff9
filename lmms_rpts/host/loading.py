"""Loading of tasks of lmms-eval, for commands that run no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.host.names import split_name, task_files
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import task_images


def load_task(name: str, include_path: Path | None = None) -> Any:
    """A task of lmms-eval without the filters of RPTS; for ``NAME_rpts`` the task NAME.

    Args:
        name: name of the task.
        include_path: a folder with custom tasks.

    Raises:
        DataError: if the task is unknown or cannot be loaded.
    """
    import lmms_eval.models  # noqa: F401 - it loads the plugin
    from lmms_eval.tasks import TaskManager

    from lmms_rpts.host.wanted_tasks import only_tasks

    asked = split_name(name)
    base = asked.base if asked else name
    folder = None if include_path is None else str(include_path)
    # Building the index of all of lmms-eval's tasks takes ten seconds.
    elsewhere = base not in task_files(include_path)
    logger.disable("lmms_eval")  # it logs every file that it reads
    try:
        with only_tasks([base]):
            manager = TaskManager(include_path=folder, include_defaults=elsewhere)
        if base not in manager.task_index:
            hint = did_you_mean(base, manager.all_tasks, name.removeprefix(base))
            hint += "" if folder else " Use --include_path FOLDER for your own tasks"
            raise DataError(f"Unknown task {base!r} of lmms-eval.{hint}")
        # A task whose filters need a judge cannot be built.
        return manager.load_task_or_group([{"task": base, "filter_list": None}])[base]
    except UserError:
        raise
    except Exception as error:  # another package's task, its data set, or the network
        cause = getattr(error, "last_attempt", None)
        reason = error if cause is None else cause.exception()
        raise DataError(
            f"Cannot load the task {base!r} ({type(reason).__name__}: {reason})"
        ) from None
    finally:
        logger.enable("lmms_eval")


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
    """The images of a task by their names in records, one document at a time.

    Unreadable images are left out.

    Args:
        task: as returned by ``load_task``.
        name: name of the task in the records.
        wanted: names of images.
    """
    by_document: dict[int, list[tuple[int, str]]] = {}
    for each in wanted:
        place = read_image_name(name, each)
        if place is not None and place[0] < len(task.task_docs):
            by_document.setdefault(place[0], []).append((place[1], each))
    for doc_id, places in sorted(by_document.items()):
        try:
            images = task_images(task, doc_id)
        except Exception:  # whatever another package's function or a broken image raises
            images = []
        yield from ((each, images[number]) for number, each in places if number < len(images))

"""Images of instances for a page: by name, or from their benchmark's own function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType

from loguru import logger

from lmms_rpts.host.documents import load_task, named_images, read_image_name
from lmms_rpts.host.task_index import own_image_folders
from lmms_rpts.report.entries import GradedView, RptsView
from lmms_rpts.report.pictures import Picture, place_of, shrink_all, shrink_image
from lmms_rpts.tasks.benchmark import images_folder
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.rpts_eval.data import DEMO_TASK


def find_pictures(
    wanted: Set[tuple[str, str]],
    images: Path | None,
    longest_side: int,
    progress: bool = True,
    include_path: Path | None = None,
    recorded: Mapping[str, Path] = MappingProxyType({}),
) -> dict[tuple[str, str], Picture]:
    """The pictures of the images that are found, by task and name.

    Args:
        images: folder of the tasks with an image in it; None: each task has its own folder.
        include_path: folder with custom tasks.
        recorded: where the images were in the runs, by task.
    """
    tasks: dict[str, list[str]] = {}
    for task, name in sorted(wanted):
        tasks.setdefault(task, []).append(name)
    own = own_image_folders(include_path)
    places = {}
    for task, names in tasks.items():
        # The demo has its own images.
        is_given = images and task != DEMO_TASK and any(place_of(images, each) for each in names)
        folder = images if is_given else own.get(task) or images_folder(task, recorded.get(task))
        if folder is not None:
            places.update({(task, name): (folder, name) for name in names})
    shrunk = shrink_all(places.values(), longest_side, progress)
    found = {image: shrunk[place] for image, place in places.items() if place in shrunk}
    for task, every in tasks.items():
        # Images that only a task of lmms-eval has: the task is loaded for them.
        named = [name for name in every if read_image_name(task, name) is not None]
        try:
            loaded = load_task(task, include_path) if named else None
        except DataError as error:
            logger.warning("The images of {} are left out: {}", task, error)
            continue
        for name, image in named_images(loaded, task, named) if loaded else ():
            if picture := shrink_image(image, longest_side):
                found[task, name] = picture
    return found


def own_pictures(
    views: Iterable[RptsView | GradedView],
    images: Path | None,
    longest: int,
    recorded: Mapping[str, Path],
) -> dict[tuple[str, str], Picture]:
    """The pictures from benchmarks' own functions, by the anchor of the instance.

    Args:
        images: the folder set by the user; None: the benchmark's own folder.
        longest: longer side, in pixels.
        recorded: where the images were in the runs, by task.
    """
    found: dict[tuple[str, str], Picture] = {}
    for view in views:
        for entry in (each for each in view.entries if "" in each.images):
            folder = images or images_folder(entry.task, recorded.get(entry.task))
            try:
                find = resolve_name(str(view.benchmark.picture))  # type: ignore[union-attr]
                image = find(entry.instance, folder)
            except Exception as error:  # a function of another package, called with any file
                logger.warning("The image of {} is left out: {}", entry.anchor, error)
                continue
            if image is not None and (picture := shrink_image(image, longest)):
                found[entry.anchor, ""] = picture
    return found

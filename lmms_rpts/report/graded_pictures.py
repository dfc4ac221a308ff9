"""Images of graded instances for a report: by name, or from their benchmark's own function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name

from loguru import logger

from lmms_rpts.report.graded_view import GradedEntry, GradedView, make_graded
from lmms_rpts.report.pictures import Picture, shrink_image
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.tasks.benchmark import benchmarks
from lmms_rpts.tasks.documents import images_folder
from lmms_rpts.tasks.grade_types import Grading


def graded_views(
    graded: Mapping[str, Sequence[AnyRun]], limit: int | None, given: Iterable[str]
) -> list[GradedView]:
    """The views of graded benchmarks.

    Args:
        graded: the runs of each benchmark, by its name.
        limit: as for ``make_graded``.
        given: anchors that are already used.

    Raises:
        RunError: if samples that must be read again cannot be read.
    """
    anchors = set(given)
    found = []
    for name, runs in graded.items():
        benchmark = benchmarks()[name]
        grading: Grading = resolve_name(str(benchmark.grades))
        found.append(make_graded(benchmark, grading, runs, limit, anchors))
    return found


def wanted_images(views: Iterable[GradedView]) -> set[tuple[str, str]]:
    """The images that records refer to, by task and file name."""
    return {
        (entry.task, name)
        for view in views
        for entry in view.entries
        for name in entry.images
        if name
    }


def tasks_in(folder: Path | None, wanted: Iterable[tuple[str, str]]) -> set[str]:
    """The tasks with at least one image in a folder: a report may show several benchmarks."""
    if folder is None:
        return set()
    return {task for task, name in wanted if _is_file(folder, name)}


def count_images(views: Iterable[GradedView]) -> int:
    """The number of images that a report of these views needs."""
    every = list(views)
    own = sum("" in entry.images for view in every for entry in view.entries)
    return len(wanted_images(every)) + own


def own_pictures(
    views: Iterable[GradedView], folder: Path | None, longest: int, recorded: Mapping[str, Path]
) -> dict[tuple[str, str], Picture]:
    """The pictures from benchmarks' own functions, by the anchor of the instance.

    Args:
        folder: the folder set by the user; None: the benchmark's own folder.
        longest: longer side, in pixels.
        recorded: where the images were in the runs, by task.
    """
    found: dict[tuple[str, str], Picture] = {}
    for view in views:
        for entry in view.entries:
            if "" not in entry.images:
                continue
            place = folder or images_folder(entry.task, recorded.get(entry.task))
            picture = _own_picture(view, entry, place, longest)
            if picture is not None:
                found[entry.anchor, ""] = picture
    return found


def _own_picture(
    view: GradedView, entry: GradedEntry, folder: Path | None, longest: int
) -> Picture | None:
    find = resolve_name(str(view.benchmark.picture))
    try:
        image = find(entry.answers[0].record.instance, folder)
    except Exception as error:  # a function of another package, called with any file
        logger.warning("The image of {} is left out: {}", entry.anchor, error)
        return None
    return None if image is None else shrink_image(image, longest)


def _is_file(folder: Path, name: str) -> bool:
    try:
        return (folder / name).is_file()
    except (OSError, ValueError):
        return False

"""Writer of a report: one HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from lmms_rpts.analysis.published import set_beside
from lmms_rpts.analysis.reading import AllRuns, sort_runs
from lmms_rpts.base.errors import UserError
from lmms_rpts.report.entries import RptsView, View
from lmms_rpts.report.pages import render
from lmms_rpts.report.pictures import Picture, find_pictures, own_pictures
from lmms_rpts.runs.files import draft_of
from lmms_rpts.runs.run import Run
from lmms_rpts.tasks.registry import BENCHMARKS

LONGEST_SIDE = 480
# Default maximum number of instances of a graded benchmark.
LIMIT = 5_000
# Longer side of the stored images: a report has to stay small.
ZOOM = 640

_MANY = 50
_NOT_WANTED = "Left out (--no-images)."
_NOT_FOUND = "The image is not on this machine: set its folder with --images."


class ReportError(UserError):
    """A report that can't be written; the message says why, and what to do."""


class Written(NamedTuple):
    """A report on disk.

    Attributes:
        path: the file to open.
        size: its bytes.
        instances: number of instances that it shows.
        images: number of the ``images_wanted`` that it shows.
        left_out: a sentence for each graded benchmark of which not all instances are shown.
    """

    path: Path
    size: int
    instances: int
    images: int
    images_wanted: int
    left_out: tuple[str, ...] = ()


def write_report(
    runs: Sequence[Run],
    output: Path,
    *,
    title: str | None = None,
    with_images: bool = True,
    images: Path | None = None,
    include_path: Path | None = None,
    longest_side: int = LONGEST_SIDE,
    progress: bool = True,
    limit: int | None = None,
    published: bool = False,
) -> Written:
    """Write a report of one or several runs, scored by RPTS or with graded answers.

    Args:
        runs: as ``read_runs`` and the readers of graded benchmarks return them.
        output: the file to write.
        title: title of the page; None: the tasks and the runs.
        with_images: False leaves them out.
        images: folder of the images; None: the folders of the tasks.
        include_path: folder with custom tasks.
        longest_side: longer side of the images as shown, in pixels. For zoom, they are stored with
            at least 640 pixels.
        progress: whether long work shows a progress bar.
        limit: maximum number of instances shown per graded benchmark, wrong and ungraded ones
            first; 0: all; None: 5,000.
        published: whether published figures stand beside those of the runs.

    Raises:
        ReportError: if ``output`` can't be written.
        RunError: for a run without records that a report can show.
    """
    kinds = sort_runs(runs)
    views = _views(kinds, LIMIT if limit is None else limit or None)
    if published:
        for view, (name, own) in zip(views, kinds.items(), strict=True):
            view.beside = set_beside(BENCHMARKS[name], own)
    zoom = max(ZOOM, longest_side)
    entries = [entry for view in views for entry in view.entries]
    named = {(entry.task, name) for entry in entries for name in entry.images if name}
    gallery: dict[tuple[str, str], Picture] = {}
    if with_images:
        gallery = find_pictures(named, images, zoom, progress, include_path)
        gallery |= own_pictures(views, images, zoom)
    parts = render(
        views,
        title or _title(kinds),
        no_image=_NOT_FOUND if with_images else _NOT_WANTED,
        longest_side=longest_side,
        gallery=gallery,
    )
    total, few = len(entries) + len(views) + 3, len(entries) < _MANY
    shown = tqdm(parts, "Writing pages", total, disable=few or not progress)
    try:
        # Written atomically: a reload never shows half a page.
        with draft_of(output) as draft:
            with draft.open("x", encoding="utf-8", errors="replace", newline="\n") as out:
                out.writelines(shown)
            size = draft.stat().st_size
    except OSError as error:
        raise _unwritable(output, error) from None
    return Written(
        output,
        size,
        len(entries),
        len(gallery),
        len(named) + sum("" in entry.images for entry in entries),
        tuple(_left_out(views)),
    )


def _views(kinds: AllRuns, limit: int | None) -> list[View]:
    views: list[View] = []
    anchors: set[str] = set()
    for name, runs in kinds.items():
        if name == "rpts":
            views.append(RptsView(runs, anchors))
        else:
            views.append(View(BENCHMARKS[name], runs, limit, anchors))
    return views


def write_page(output: Path, page: str) -> int:
    """Write one page atomically and return its size in bytes."""
    try:
        with draft_of(output) as draft:
            return draft.write_bytes(page.encode("utf-8", "replace"))
    except OSError as error:
        raise _unwritable(output, error) from None


def _unwritable(output: Path, error: OSError) -> ReportError:
    return ReportError(f"Cannot write to {error.filename or output}: {error.strerror}")


def _left_out(views: Sequence[View]) -> Iterator[str]:
    for view in views:
        if len(view.entries) < view.total:
            yield (
                f"{len(view.entries):,} of {view.total:,} documents of {view.benchmark.title} are "
                "shown, those with wrong answers first. --limit N "
                "shows more, --limit 0 all"
            )


def _title(kinds: AllRuns) -> str:
    tasks = sorted({task for run in kinds.get("rpts", ()) for task in run.tasks})
    names = [*tasks, *(BENCHMARKS[name].title for name in kinds if name != "rpts")]
    labels = dict.fromkeys(run.label for run in chain(*kinds.values()))
    return f"{', '.join(names)}: {', '.join(labels)}"

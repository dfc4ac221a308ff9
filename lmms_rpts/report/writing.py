"""Writer of a report: one HTML file, or a folder with a page and its images."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.files import draft_of, may_overwrite
from lmms_rpts.report.entries import RptsView, View
from lmms_rpts.report.pages import render
from lmms_rpts.report.pictures import Picture, find_pictures, own_pictures
from lmms_rpts.runs.rating_file import read_comments
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.validity import ValidityFile
from lmms_rpts.tasks.all_runs import AllRuns, grading_of, sort_runs
from lmms_rpts.tasks.benchmark import benchmarks
from lmms_rpts.tasks.published import set_beside

LONGEST_SIDE = 480
# Default maximum number of instances of a graded benchmark.
LIMIT = 5_000
# Longer side of the stored images: a report in one file has to stay small.
ZOOM_IN_FILE, ZOOM_IN_FOLDER = 640, 1600

_MANY = 50
# A page that was not written to its end (``draft_of``), as a process that is killed leaves it.
_DRAFT = "." + 8 * "[0-9a-f]" + ".html"
# Seconds after which a draft is left by a report that was killed.
_STALE = 600.0
_DESKTOP = {".DS_Store", "Thumbs.db", "desktop.ini"}  # written by file managers
_NOT_WANTED = "Left out (--no-images)."
_NOT_FOUND = "The image is not on this machine: set its folder with --images."


class ReportError(UserError):
    """A report that can't be written; the message says why, and what to do."""


class Written(NamedTuple):
    """A report on disk.

    Attributes:
        path: the file to open.
        size: bytes of all its files.
        instances: number of instances that it shows.
        images: number of the ``images_wanted`` that it shows.
        mismatches: why validity files do not belong to the runs' judges.
        left_out: a sentence for each graded benchmark of which not all instances are shown.
    """

    path: Path
    size: int
    instances: int
    images: int
    images_wanted: int
    mismatches: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def write_report(
    runs: Sequence[AnyRun],
    output: Path,
    *,
    title: str | None = None,
    with_images: bool = True,
    images: Path | None = None,
    include_path: Path | None = None,
    longest_side: int = LONGEST_SIDE,
    progress: bool = True,
    validity: Sequence[ValidityFile] = (),
    limit: int | None = None,
    published: bool = False,
    comments: Sequence[Path] = (),
) -> Written:
    """Write a report of one or several runs, scored by RPTS or with graded answers.

    Args:
        runs: as ``read_runs`` and the readers of graded benchmarks return them.
        output: a file that ends with ``.html`` or ``.htm``; anything else is a folder, with the
            page ``index.html`` and the images in ``images``.
        title: title of the page; None: the tasks and the runs.
        with_images: False leaves them out.
        images: folder of the images; None: the folders of the tasks.
        include_path: folder with custom tasks.
        longest_side: longer side of the images as shown, in pixels. For zoom, they are stored with
            at least 640 pixels in a file, 1600 in a folder.
        progress: whether long work shows a progress bar.
        validity: validity files of judges, in addition to those named in the runs' results.
        limit: maximum number of instances shown per graded benchmark, wrong and ungraded ones
            first; 0: all; None: 5,000.
        published: whether published figures stand beside those of the runs.
        comments: files of readers' comments, to begin with.

    Raises:
        ReportError: if ``output`` can't be written.
        RunError: for a run without records that a report can show.
    """
    is_file = output.suffix.lower() in (".html", ".htm")
    if not is_file:
        check_folder(output)
    kinds, said = sort_runs(runs), read_comments(comments, runs)
    views = _views(kinds, LIMIT if limit is None else limit or None, validity)
    if published:
        for view, (name, own) in zip(views, kinds.items(), strict=True):
            view.beside = set_beside(benchmarks()[name], own)
    zoom = max(ZOOM_IN_FILE if is_file else ZOOM_IN_FOLDER, longest_side)
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
        beside=not is_file,
        comments=said,
    )
    total, few = len(entries) + len(views) + 3, len(entries) < _MANY
    shown = tqdm(parts, "Writing pages", total, disable=few or not progress)
    path = output if is_file else output / "index.html"
    try:
        size = 0 if is_file else _write_images(output, {*gallery.values()})
        # Written atomically: a reload never shows half a page.
        with draft_of(path) as draft:
            with draft.open("x", encoding="utf-8", errors="replace", newline="\n") as out:
                out.writelines(shown)
            size += draft.stat().st_size
    except OSError as error:
        raise _unwritable(output, error) from None
    notes = [note for view in views if isinstance(view, RptsView) for note in view.validity]
    return Written(
        path,
        size,
        len(entries),
        len(gallery),
        len(named) + sum("" in entry.images for entry in entries),
        tuple(dict.fromkeys(said for note in notes for said in note.mismatches)),
        tuple(_left_out(views)),
    )


def _views(kinds: AllRuns, limit: int | None, validity: Sequence[ValidityFile]) -> list[View]:
    views: list[View] = []
    anchors: set[str] = set()
    for name, runs in kinds.items():
        if name == "rpts":
            views.append(RptsView(runs, validity, anchors))
        else:
            views.append(View(benchmarks()[name], grading_of(name), runs, limit, anchors))
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
        if view.benchmark and len(view.entries) < view.total:
            yield (
                f"{len(view.entries):,} of {view.total:,} {view.grading.questions} of "
                f"{view.benchmark.title} are shown, those with wrong answers first. --limit N "
                "shows more, --limit 0 all"
            )


def _title(kinds: AllRuns) -> str:
    tasks = sorted({task for run in kinds.get("rpts", ()) for task in run.tasks})
    names = [*tasks, *(benchmarks()[name].title for name in kinds if name != "rpts")]
    labels = dict.fromkeys(run.label for run in kinds.every)
    return f"{', '.join(names)}: {', '.join(labels)}"


def _write_images(output: Path, pictures: set[Picture]) -> int:
    """Write the images of a report in a folder, instead of an earlier one; their size in bytes."""
    folder = output / "images"
    folder.mkdir(parents=True, exist_ok=True)
    # The page last: a report that is not written to its end must not have one.
    for file in (output / "index.html", *folder.glob("*.webp")):
        file.unlink(missing_ok=True)
    for draft in output.glob(_DRAFT):  # a fresh one may belong to a report that is being written
        if time.time() - draft.stat().st_mtime > _STALE:
            draft.unlink(missing_ok=True)
    return sum((folder / each.file_name).write_bytes(each.content) for each in pictures)


def check_folder(output: Path) -> None:
    """Refuse a folder with files that are not of an earlier report."""
    page, images = output / "index.html", output / "images"
    try:
        there = [*output.iterdir()] if output.exists() else []
        names = {each.name for each in there if not each.match(_DRAFT)} - _DESKTOP
        kinds = {each.suffix for each in images.iterdir()} if images.is_dir() else set()
        if images.is_symlink() or not (
            names <= {page.name, images.name}
            and kinds <= {".webp"}
            and may_overwrite(page, "report")
        ):
            raise ReportError(f"{output} contains other files: use a new folder, or FILE.html")
    except OSError as error:
        raise _unwritable(output, error) from None

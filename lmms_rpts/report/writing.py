"""Writer of a report: one HTML file, or a folder of pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.files import draft_of
from lmms_rpts.report.entries import GradedView, RptsView
from lmms_rpts.report.gallery import find_pictures, own_pictures
from lmms_rpts.report.pages import Pages
from lmms_rpts.report.pictures import Picture
from lmms_rpts.report.written_by import may_overwrite
from lmms_rpts.runs.reading import recorded_images
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.validity import ValidityFile
from lmms_rpts.tasks.all_runs import AllRuns, grading_of, sort_runs
from lmms_rpts.tasks.benchmark import benchmarks

LONGEST_SIDE = 480
LIMIT = 1_000
"""Default maximum number of instances of a graded benchmark in one file."""
FOLDER_LIMIT = 5_000
"""The same for a folder."""
ZOOM_IN_FILE, ZOOM_IN_FOLDER = 640, 1600
"""Longer side of the stored images: a report in one file has to stay small."""

_MANY = 50
_PARTS = ("instances", "images")
"""Folders of a report in a folder, next to ``index.html``."""
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
) -> Written:
    """Write a report of one or several runs, scored by RPTS or with graded answers.

    Args:
        runs: as ``read_runs`` and the readers of graded benchmarks return them.
        output: a file that ends with ``.html`` or ``.htm``; anything else is a folder.
        title: title of the page; None: the tasks and the runs.
        with_images: False leaves them out.
        images: folder of the images; None: the folders of the tasks.
        include_path: folder with custom tasks.
        longest_side: longer side of the images as shown, in pixels. For zoom, they are stored with
            at least 640 pixels in a file, 1600 in a folder.
        progress: whether long work shows a progress bar.
        validity: validity files of judges, in addition to those named in the runs' results.
        limit: maximum number of instances shown per graded benchmark, wrong and ungraded ones
            first; 0: all; None: 1,000 in a file, 5,000 in a folder.

    Raises:
        ReportError: if ``output`` can't be written.
        RunError: for a run without records that a report can show.
    """
    is_file = output.suffix.lower() in (".html", ".htm")
    if not is_file:
        _check_folder(output)
    kinds = sort_runs(runs)
    usual = LIMIT if is_file else FOLDER_LIMIT
    views = _views(kinds, usual if limit is None else limit or None, validity)
    zoom = max(ZOOM_IN_FILE if is_file else ZOOM_IN_FOLDER, longest_side)
    entries = [entry for view in views for entry in view.entries]
    named = {(entry.task, name) for entry in entries for name in entry.images if name}
    gallery: dict[tuple[str, str], Picture] = {}
    if with_images:
        recorded = recorded_images(runs)
        gallery = find_pictures(named, images, zoom, progress, include_path, recorded)
        gallery |= own_pictures(views, images, zoom, recorded)
    no_image = _NOT_FOUND if with_images else _NOT_WANTED
    pages = Pages(views, title or _title(kinds), no_image, longest_side, gallery)
    many = progress and pages.count >= _MANY
    try:
        size = _write_file(pages, output, many) if is_file else _write_folder(pages, output, many)
    except OSError as error:
        raise _unwritable(output, error) from None
    path = output if is_file else output / "index.html"
    notes = [note for view in views if isinstance(view, RptsView) for note in view.validity]
    return Written(
        path,
        size,
        len(entries),
        len(gallery),
        len(named) + sum("" in entry.images for entry in entries),
        tuple(dict.fromkeys(said for note in notes for said in note.mismatches)),
        tuple(_left_out(views, is_file)),
    )


def _views(
    kinds: AllRuns, limit: int | None, validity: Sequence[ValidityFile]
) -> list[RptsView | GradedView]:
    views: list[RptsView | GradedView] = []
    if "rpts" in kinds:
        views.append(RptsView(kinds["rpts"], validity))
    anchors = {entry.anchor.lower() for view in views for entry in view.entries}
    for name, runs in kinds.items():
        if name != "rpts":
            benchmark = benchmarks()[name]
            views.append(GradedView(benchmark, grading_of(name), runs, limit, anchors))
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


def _left_out(views: Sequence[RptsView | GradedView], is_file: bool) -> Iterator[str]:
    folder = "; a folder as output takes more" if is_file else ""
    for view in views:
        if isinstance(view, GradedView) and len(view.entries) < view.total:
            yield (
                f"{len(view.entries):,} of {view.total:,} {view.grading.questions} of "
                f"{view.benchmark.title} are shown, those with wrong answers first. --limit N "
                f"shows more, --limit 0 all{folder}"
            )


def _title(kinds: AllRuns) -> str:
    tasks = sorted({task for run in kinds.get("rpts", ()) for task in run.tasks})
    names = [*tasks, *(benchmarks()[name].title for name in kinds if name != "rpts")]
    labels = dict.fromkeys(run.label for run in kinds.every)
    return f"{', '.join(names)}: {', '.join(labels)}"


def _write_file(pages: Pages, output: Path, progress: bool) -> int:
    # Written atomically: a reload never shows half a page.
    with draft_of(output) as draft:
        with draft.open("x", encoding="utf-8", errors="replace", newline="\n") as out:
            total = pages.count + len(pages.views) + 2
            out.writelines(tqdm(pages.single(), "Writing pages", total, disable=not progress))
        return draft.stat().st_size


def _write_folder(pages: Pages, output: Path, progress: bool) -> int:
    _clear(output)
    for part in _PARTS:
        (output / part).mkdir(parents=True, exist_ok=True)
    pictures = {each.file_name: each.content for each in pages.gallery.values()}
    size = sum((output / "images" / name).write_bytes(each) for name, each in pictures.items())
    shown = tqdm(pages.instances(), "Writing pages", pages.count, disable=not progress)
    # The index last: a report that is not written to its end must not have one.
    for name, page in chain(shown, [("../index.html", pages.index())]):
        size += (output / "instances" / name).write_bytes(page.encode("utf-8", "replace"))
    return size


def _check_folder(output: Path) -> None:
    """Refuse a folder with files that are not of an earlier report."""
    try:
        names = {each.name for each in output.iterdir()} if output.exists() else set()
        if not names:
            return
        is_report = (output / "instances").is_dir() and may_overwrite(
            output / "index.html", "report"
        )
        if "index.html" not in names:
            # Perhaps a report that was not written to its end.
            kinds = {each.suffix for part in _PARTS for each in (output / part).glob("*")}
            is_report &= names <= {*_PARTS} and kinds <= {".html", ".webp"}
        if not is_report:
            raise ReportError(f"{output} contains other files: use a new folder, or FILE.html")
    except OSError as error:
        raise _unwritable(output, error) from None
    # The files in the target of a link may belong to something else.
    for part in _PARTS:
        if (output / part).is_symlink():
            raise ReportError(
                f"{output / part} is a symbolic link, and the files in its target would be "
                "deleted: remove the link, or use a new folder"
            )


def _clear(output: Path) -> None:
    """Delete the pages of an earlier report."""
    # The index first. Another process that writes the same report may have deleted a file.
    old = [*(output / "instances").glob("*.html"), *(output / "images").glob("*.webp")]
    for file in (output / "index.html", *old):
        file.unlink(missing_ok=True)

"""Writer of a report: one HTML file that needs no network and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from lmms_rpts import __version__
from lmms_rpts.base.errors import UserError
from lmms_rpts.report.data import report_data
from lmms_rpts.report.rating import rating_data
from lmms_rpts.runs.files import draft_of
from lmms_rpts.runs.run import Run

# Characters that could end the script element, or a line in it.
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


class ReportError(UserError):
    """A report that can't be written; the message says why, and what to do."""


class Written(NamedTuple):
    """A report on disk.

    Attributes:
        path: the file to open.
        size: its bytes.
        instances: number of instances that it shows; of a page for raters, of responses.
        images: number of the ``images_wanted`` that it shows.
        notes: what is left out, in sentences.
    """

    path: Path
    size: int
    instances: int
    images: int
    images_wanted: int
    notes: tuple[str, ...] = ()


def write_report(
    runs: Sequence[Run],
    output: Path,
    *,
    images: Path | None = None,
    include_path: Path | None = None,
    rate: bool = False,
    progress: bool = True,
) -> Written:
    """Write a report of runs, or a page on which people rate a sample of a run's steps.

    Args:
        runs: of any benchmarks; to rate, one run with steps.
        output: the file to write.
        images: folder of the images; None: the folders of the tasks.
        include_path: folder with custom tasks.
        rate: whether to write the page for raters.
        progress: whether long work shows a progress bar.

    Raises:
        ReportError: if ``output`` can't be written.
        RunError: for runs that such a page can't show.
    """
    data = (rating_data if rate else report_data)(runs, images, include_path, progress)
    page = _page(data).encode("utf-8", "replace")
    try:
        # Written atomically: a reload never shows half a page.
        with draft_of(output) as draft:
            draft.write_bytes(page)
    except OSError as error:
        raise ReportError(f"Cannot write to {output}: {error.strerror}") from None
    entries = [entry for section in data["sections"] for entry in section["entries"]]
    notes = [
        f"{len(section['entries']):,} of {section['total']:,} instances of {section['title']} are "
        "shown, those with wrong answers first"
        for section in data["sections"]
        if len(section["entries"]) < section["total"]
    ]
    shown = [image for entry in entries for image in entry["images"]]
    placed = sum(number is not None for _, number in shown)
    return Written(
        output, len(page), len(entries), placed, len(shown), (*notes, *data.get("notes", ()))
    )


def _page(data: dict[str, Any]) -> str:
    style, script, page = (
        (files("lmms_rpts.report") / "app" / name).read_text("utf-8")
        for name in ("app.css", "app.js", "page.html")
    )
    # Only this script and this style apply, and only images in the page itself are shown.
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    content = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Template(page).substitute(
        version=__version__,
        policy=policy,
        title=escape(data["title"]),
        style=style,
        script=script,
        data=content.translate(_ESCAPES),
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()

"""HTML page on which human annotators rate a sample of a run's steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from lmms_rpts.analysis.ratings import RatingSample, rated_steps
from lmms_rpts.report.frame import Frame
from lmms_rpts.report.pictures import Picture, find_pictures
from lmms_rpts.report.trees import clue_label
from lmms_rpts.report.writing import write_page
from lmms_rpts.runs.rating_file import FORMAT, VERSION
from lmms_rpts.scoring.record import JudgedStep, RptsRecord

LONGEST_SIDE = 800
_DIGEST = 32
# Characters that could end a script element, or a line in it.
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


class WrittenRatingPage(NamedTuple):
    """A rating page on disk: its size in bytes, and what it shows of the ``images_wanted``."""

    path: Path
    size: int
    responses: int
    steps: int
    images: int
    images_wanted: int


def write_rating_page(
    sample: RatingSample,
    output: Path,
    *,
    images: Path | None = None,
    include_path: Path | None = None,
    longest_side: int = LONGEST_SIDE,
    progress: bool = True,
) -> WrittenRatingPage:
    """Write the page as one file, without scores, gold answers or the model's name.

    Args:
        sample: the steps to rate.
        output: the file.
        images: folder of the images; None: the folders of the tasks.
        include_path: folder with custom tasks.
        longest_side: maximum length of an image's longer side, in pixels.
        progress: whether long work shows a progress bar.
    """
    wanted = {
        (response.instance.task, name)
        for response in sample.responses
        for name in response.instance.visual_clue
    }
    gallery = find_pictures(wanted, images, longest_side, progress, include_path)
    page = render_rating_page(sample, gallery)
    size = write_page(output, page)
    return WrittenRatingPage(
        output, size, len(sample.responses), sample.steps, len(gallery), len(wanted)
    )


def render_rating_page(sample: RatingSample, gallery: Mapping[tuple[str, str], Picture]) -> str:
    """The page as HTML; ``gallery``: pictures by task and file name."""
    frame = Frame(("report.css", "tree.css", "rate.css"), ("files.js", "rate.js"), command="rate")
    responses = [_response(each) for each in sample.responses]
    # Only of the texts: the same sample with larger images has the same digest.
    canonical = json.dumps(responses, ensure_ascii=True, sort_keys=True).encode("ascii")
    pictures = [
        [gallery.get((each.instance.task, name)) for name in each.instance.visual_clue]
        for each in sample.responses
    ]
    page_data = {
        "format": FORMAT,
        "version": VERSION,
        "sample": hashlib.sha256(canonical).hexdigest()[:_DIGEST],
        "responses": responses,
        "images": [[each and _shown(each) for each in own] for own in pictures],
    }
    # JSON that is safe in a script element.
    data = json.dumps(page_data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    embedded = Markup(data.translate(_ESCAPES))  # noqa: S704 - escaped here
    return frame.page("rate.jinja", title="Rate reasoning steps", sample=embedded)


def _shown(picture: Picture) -> dict[str, Any]:
    return {"source": picture.data_uri, "width": picture.width, "height": picture.height}


def _response(response: RptsRecord) -> dict[str, Any]:
    instance, rated = response.instance, set(rated_steps(response))
    place = ("task", "doc_id", "id", "language", "statement", "context")
    steps = [
        _step(step, at in rated, len(instance.visual_clue))
        for at, step in enumerate(response.steps)
    ]
    return {name: getattr(instance, name) for name in place} | {
        "repeat": response.repeat,
        "asked": "Statement" if instance.is_statement else "Question",
        "texts": list(instance.textual_clue),
        "steps": steps,
    }


def _step(step: JudgedStep, is_rated: bool, n_images: int) -> dict[str, Any]:
    """A step, without the gold reasoning's description of its image."""
    shown: dict[str, Any] = {
        "cites": [clue_label(clue) for clue in step.premises],
        "conclusion": step.conclusion,
    }
    if not is_rated:
        return shown
    first = step.verdicts[0]
    if not first.kind.startswith("image"):
        return shown | {"kind": "inference", "premises": list(first.evidence)}
    cited = [clue.index for clue in step.premises if clue.kind == "image"]
    there = [index for index in cited if index is not None and index < n_images]
    return shown | {"kind": "image", "premises": [], "images": there or [*range(n_images)]}

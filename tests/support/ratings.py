"""Rating files as saved by the page of ``lmms-rpts rate``, made without a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.analysis.ratings import RatingSample, draw_sample
from lmms_rpts.report.rating import render_rating_page
from lmms_rpts.runs.run import Run

START = '<script type="application/json" id="sample">'


def data_in(page: str) -> dict[str, Any]:
    """The data for the script of a page."""
    found: dict[str, Any] = json.loads(page.partition(START)[2].partition("</script>")[0])
    return found


def item_with(**changes: Any) -> dict[str, Any]:
    """A rated inference."""
    item = {
        "task": "rpts_eval_en",
        "doc_id": 0,
        "id": "q0",
        "repeat": 0,
        "step": 1,
        "kind": "inference",
        "language": "en",
        "context": "A shop.",
        "premises": ["The clock shows nine.", "The shop closes at eight."],
        "conclusion": "The shop is closed.",
        "score": 1.0,
        "comment": "",
    }
    return item | changes


def file_with(*items: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """A file as a page saves it."""
    return {
        "format": "lmms-rpts-ratings",
        "version": 1,
        "rater": "Ann",
        "sample": "0" * 32,
        "created": "2026-11-22T10:00:00.000Z",
        "items": list(items),
        **changes,
    }


def rated_file(run: Run, scores: Mapping[tuple[int, int], float | None], **changes: Any) -> Any:
    """The file that the page of ``run`` saves after these steps (doc_id, step) have been rated."""
    sample: RatingSample = draw_sample(run)
    data = data_in(render_rating_page(sample, {}))
    items = []
    for response in data["responses"]:
        place = {name: response[name] for name in ("task", "doc_id", "id", "repeat")}
        shown = {name: response[name] for name in ("language", "context")}
        for at, step in enumerate(response["steps"]):
            if (response["doc_id"], at) in scores:
                asked = {name: step[name] for name in ("kind", "premises", "conclusion")}
                score = scores[response["doc_id"], at]
                items.append({**place, "step": at, **asked, **shown, "score": score, "comment": ""})
    return file_with(*items, sample=data["sample"], **changes)


def write_ratings(path: Path, value: Any) -> Path:
    """Writes a file of ratings."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path

"""Files of people's ratings, as the rating mode of the report saves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def rating(doc_id: int, step: int, score: float | None, **changes: Any) -> dict[str, Any]:
    """The rating of one step."""
    place = {
        "task": "rpts_eval_en",
        "doc_id": doc_id,
        "id": f"d{doc_id}",
        "repeat": 0,
        "step": step,
    }
    return place | {"conclusion": "", "score": score} | changes


def write_ratings(path: Path, *ratings: Any, rater: Any = "Ann", **changes: Any) -> Path:
    """Writes the file of one rater."""
    head = {"format": "lmms-rpts-ratings", "version": 1, "rater": rater, "ratings": list(ratings)}
    path.write_text(json.dumps(head | changes), encoding="utf-8")
    return path

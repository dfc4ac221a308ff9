"""Data of own_counts, and its grading function: accepts counts that are off by at most one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.own.data import OwnData

FOLDER = Path(__file__).parent
DATA = OwnData(data=FOLDER / "counts.jsonl", images=FOLDER / "images", answer="function")


def grade(response: str, doc: Mapping[str, Any]) -> bool | None:
    """Whether the last number of a response is close enough; None: it has no number."""
    numbers = re.findall(r"[0-9]{1,9}", response)
    return abs(int(numbers[-1]) - int(doc["answer"])) <= 1 if numbers else None

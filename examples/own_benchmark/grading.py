"""Grading function of own_counts: accepts counts that are off by at most one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def grade(response: str, doc: Mapping[str, Any]) -> bool | None:
    """Whether the last number of a response is close enough; None: it has no number."""
    numbers = re.findall(r"[0-9]{1,9}", response)
    return abs(int(numbers[-1]) - int(doc["answer"])) <= 1 if numbers else None

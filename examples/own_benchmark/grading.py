"""Grading of own_counts: a count is right that is off by one at most."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def grade(response: str, doc: Mapping[str, Any]) -> bool | None:
    """Whether the last number of a response is near enough; None: it names none."""
    numbers = re.findall(r"[0-9]{1,9}", response)
    return abs(int(numbers[-1]) - int(doc["answer"])) <= 1 if numbers else None

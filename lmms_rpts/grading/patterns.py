"""Patterns of the grading rules: phrases from ``vocabulary.yaml``, and a bound on their time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import regex
import yaml

VOCABULARY: dict[str, Any] = yaml.load(
    Path(__file__).with_name("vocabulary.yaml").read_text(encoding="utf-8"),
    getattr(yaml, "CSafeLoader", yaml.SafeLoader),  # noqa: S506 - safe; the former is faster
)
# Processor time that a pattern may take with one text, in seconds.
_TIMEOUT = 0.005


def find_all(pattern: regex.Pattern[str], text: str) -> list[regex.Match[str]]:
    """The matches of a pattern that may be slow; none if they take too long."""
    try:
        return list(pattern.finditer(text, timeout=_TIMEOUT))
    except TimeoutError:
        return []


def phrases(name: str) -> re.Pattern[str]:
    """The pattern of a list of phrases, without regard to case."""
    listed = VOCABULARY["phrases"][name]
    words, text = ("|".join(listed.get(part, "(?!)").split()) for part in ("words", "text"))
    # "Format2: the answer is B" names no condition.
    return re.compile(rf"(?:(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_])|{text})", re.IGNORECASE)

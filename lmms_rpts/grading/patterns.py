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
_TIMEOUT = 0.01


class TooSlow(Exception):  # noqa: N818 - an outcome, not a fault
    """A pattern took too long with a text."""


def phrases(name: str) -> re.Pattern[str]:
    """The pattern of a list of phrases, without regard to case."""
    listed = VOCABULARY["phrases"][name]
    words, text = ("|".join(listed[part].split()) for part in ("words", "text"))
    # "Format2: the answer is B" names no condition.
    return re.compile(rf"(?:(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_])|{text})", re.IGNORECASE)


def either(name: str) -> str:
    """The alternatives of a list of phrases, as a part of a pattern without regard to case."""
    return phrases(name).pattern

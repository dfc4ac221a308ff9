"""Vocabulary of the grading rules, English and Chinese, from ``vocabulary.yaml``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

VOCABULARY: dict[str, Any] = yaml.load(
    Path(__file__).with_name("vocabulary.yaml").read_text(encoding="utf-8"),
    getattr(yaml, "CSafeLoader", yaml.SafeLoader),  # noqa: S506 - safe; the former is faster
)


def rows(text: str) -> list[list[str]]:
    """The words of each entry of a list; entries end with semicolons."""
    return [entry.split() for entry in text.split(";")]


def either(name: str) -> str:
    """The alternatives of a list of phrases, for a pattern without regard to case."""
    listed = VOCABULARY["phrases"][name]
    words, text = ("|".join(listed[part].split()) for part in ("words", "text"))
    # "Format2: the answer is B" names no condition, "3not" denies nothing that counts.
    edge = "A-Za-z0-9_" if listed.get("apart") else "A-Za-z"
    return rf"(?:(?<![{edge}])(?:{words})(?![{edge}])|{text})"


def phrases(name: str) -> re.Pattern[str]:
    """The pattern of a list of phrases, without regard to case."""
    return re.compile(either(name), re.IGNORECASE)

"""Rows of the published files, parsed without the loader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.rows import LeftOut, Row


def rows_of(path: Path) -> list[Row]:
    return [
        Row(value, path.stem, number, key)
        for number, (key, value) in enumerate(objects_of(path.read_text(encoding="utf-8")))
    ]


def objects_of(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(whole, list):
        yield from (("", value) for value in whole)
    elif all(isinstance(value, list) for value in whole.values()):
        yield from ((key, value) for key, values in whole.items() for value in values)
    else:
        yield "", whole


def read(layout: Layout, rows: list[Row]) -> tuple[list[LabelledChain], list[str]]:
    """The chains of rows, and why others were left out."""
    chains: list[LabelledChain] = []
    left: list[str] = []
    for row in rows:
        try:
            chains += layout.read(row)
        except LeftOut as reason:
            left.append(str(reason))
    return chains, left

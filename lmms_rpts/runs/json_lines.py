"""Lenient reader of JSON lines, for files that are also read by a strict reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lmms_rpts.runs.samples import RunError


def read_objects(file: Path) -> Iterator[dict[str, Any]]:
    """Read the JSON objects in the lines of a file; other lines are ignored.

    Raises:
        RunError: if the file cannot be read.
    """
    try:
        with file.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
            for line in lines:
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(entry, dict):
                    yield entry
    except OSError as error:
        raise RunError(f"Cannot read {file} ({error.strerror})") from None

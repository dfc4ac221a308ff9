"""Stream for progress bars, where standard error is a log file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

_stream: TextIO | None = None


def bar_stream() -> TextIO | None:
    """Where progress is shown; None: nowhere."""
    return _stream or sys.stderr


def log_to(path: Path) -> None:
    """Write all that this process prints to a file, except progress bars.

    Raises:
        OSError: where the file can't be written.
    """
    global _stream
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _stream = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    # The numbers, not only Python's objects: libraries in C print as well.
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)

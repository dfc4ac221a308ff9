"""Stream for progress bars if standard error is redirected to a log file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

_stream: TextIO | None = None


def bar_stream() -> TextIO | None:
    """The stream for progress bars; None: no progress is shown."""
    return _stream or sys.stderr


def log_to(path: Path) -> None:
    """Redirect the output of this process to a file, except progress bars.

    Raises:
        OSError: if the file can't be written.
    """
    global _stream
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _stream = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    # Redirect file descriptors, not only Python's streams: C libraries print as well.
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)

"""Terminal output: the stream of progress bars, and log messages as plain lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import wrapt
from loguru import logger

if TYPE_CHECKING:
    from loguru import Message, Record

_stream: TextIO | None = None
_say: Callable[[str], None] | None = None
_handler = 0  # loguru's own at first, which writes to standard error
_WARNING = 30


def bar_stream() -> TextIO | None:
    """The stream for progress bars; None: no progress is shown."""
    return _stream or sys.stderr


def log_to(path: Path) -> None:
    """Redirect the output of this process to a file, except progress bars."""
    global _stream
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _stream = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    # Redirect file descriptors, not only Python's streams: C libraries print as well.
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)


def plain_log(say: Callable[[str], None]) -> None:
    """Show log messages as lines without time and place, for this process.

    Shown are warnings and errors, and information of this package.
    """
    global _say
    if _say is None:
        # Importing it replaces all handlers by one that writes to standard output.
        wrapt.register_post_import_hook(_restore, "lmms_eval.models")
    _say = say
    _replace_handler()


def _restore(module: object) -> None:
    logger.remove()
    _replace_handler()


def _replace_handler() -> None:
    global _handler
    with suppress(ValueError):  # removed already
        logger.remove(_handler)
    _handler = logger.add(_show, level="INFO", format="{message}", filter=_is_wanted)


def _is_wanted(record: Record) -> bool:
    own = (record["name"] or "").startswith("lmms_rpts")
    return own or record["level"].no >= _WARNING


def _show(message: Message) -> None:
    if _say is not None:
        warning = "Warning: " if message.record["level"].no >= _WARNING else ""
        _say(f"{warning}{message.rstrip()}")

"""Atomic writes: a file is written completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_writable(path: Path) -> None:
    """Check that ``path`` can be written: create its folder and a temporary file in it."""
    target = _target(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=target.parent):
        pass


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A temporary file that replaces ``path`` once it is written; links are followed.

    The folder of ``path`` is created. If anything fails, no partial file is left.
    """
    target = _target(path)
    # Short, since long names may not fit; random, since other processes may write the same file.
    draft = target.with_name(f".{secrets.token_hex(4)}{target.suffix.lower()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """The file to replace; links are followed."""
    target = path.expanduser().resolve()
    if target.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    # As root, `-o /dev/full` would replace the device by a file.
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return target

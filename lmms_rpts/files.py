"""Atomic writes: a file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_writable(path: Path) -> None:
    """See that ``path`` can be written: its folder is made, and a nameless file in it.

    Raises:
        OSError: it can't be; RuntimeError: its ``~`` names a user that is not there.
    """
    target = path.expanduser().resolve()
    if target.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=target.parent):
        pass


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of ``path`` once it is written; links are followed.

    Its folder is made. Whatever goes wrong, nothing stays behind.
    """
    target = path.expanduser().resolve()
    # A short name of its own: long ones may not fit, and others may be writing, too.
    draft = target.with_name(f".{secrets.token_hex(4)}{target.suffix.lower()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)

"""Atomic writes: a file is written whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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

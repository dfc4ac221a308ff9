"""On-disk cache of thumbnails: one file for each image, size and encoder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lmms_rpts.files import draft_of

FOLDER = "thumbnails"
MOST_BYTES = 500_000_000
"""Size of the folder after ``prune``: about 15,000 thumbnails of 480 pixels."""

_SUFFIX = ".thumbnail"


class ThumbnailCache(NamedTuple):
    """Thumbnails below ``folder``, safe with several processes: files are written atomically.

    A file that can't be read or written is ignored: the image is decoded again.
    """

    folder: Path

    def get(self, key: str) -> bytes | None:
        """A stored thumbnail, encoded; None if there is none."""
        path = self._path(key)
        with suppress(OSError):
            found = path.read_bytes()
            with suppress(OSError):  # the least recently used files are deleted first
                os.utime(path)
            return found
        return None

    def put(self, key: str, content: bytes) -> None:
        """Store a thumbnail; do nothing if the folder can't be written."""
        with suppress(OSError, RuntimeError), draft_of(self._path(key)) as draft:
            draft.write_bytes(content)

    def prune(self, most_bytes: int = MOST_BYTES) -> None:
        """Delete the least recently used thumbnails until at most ``most_bytes`` are left."""
        files = sorted(stored(self.folder), key=lambda each: each.used)
        excess = sum(each.size for each in files) - most_bytes
        for each in files:
            if excess <= 0:
                return
            with suppress(OSError):
                each.path.unlink(missing_ok=True)
                excess -= each.size

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{_SUFFIX}"


class Stored(NamedTuple):
    """A file of the cache: ``size`` in bytes, ``used`` in seconds since 1970."""

    path: Path
    size: int
    used: float


def stored(folder: Path) -> Iterator[Stored]:
    """The thumbnails below a cache's folder; none if there is no folder."""
    for path in folder.glob(f"*/*{_SUFFIX}"):
        with suppress(OSError):  # another process deleted it
            status = path.stat()
            yield Stored(path, status.st_size, status.st_mtime)


def clear(folder: Path) -> int:
    """Delete all thumbnails below a cache's folder and return their number.

    Raises:
        OSError: if one can't be deleted.
    """
    files = [*stored(folder)]
    for each in files:
        each.path.unlink(missing_ok=True)
    return len(files)


def key_of(content: bytes, *settings: object) -> str:
    """SHA-256 of an image's file and of all settings that its thumbnail depends on."""
    told = repr(settings).encode()
    return hashlib.sha256(hashlib.sha256(content).digest() + told).hexdigest()

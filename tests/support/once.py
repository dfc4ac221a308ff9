"""Resources shared by the processes of a test run; one process builds each of them."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def build_once(folder: Path, build: Callable[[Path], None]) -> Path:
    """Returns ``folder``, after the first process has created and filled it; the others wait.

    If that fails, the next process tries.
    """
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder.with_name(f"{folder.name}.done")
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            build(folder)
            done.touch()
    return folder

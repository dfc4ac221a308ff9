"""The wheel and the source archive, built from a copy of the checkout.

Never in the checkout itself: building rewrites its ``*.egg-info``, which other tests' processes
read at the same moment to find the plugin.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.fork_server import ROOT
from tests.support.lmms import clean_environment

_SKIPPED = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "site", "shared", "*.egg-info", "__pycache__", ".*_cache",
    ".hypothesis", "demo-results",
)  # fmt: skip


def command(command: list[str], folder: Path, **changes: str) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean_environment() | changes,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build_dist(folder: Path) -> None:
    """Builds the wheel from the source archive, and that archive, in ``folder/dist``.

    They are built from ``folder/checkout``, the copy.
    """
    copy = shutil.copytree(ROOT, folder / "checkout", ignore=_SKIPPED)
    build = [sys.executable, "-m", "build", "--no-isolation", "-o", str(folder / "dist")]
    command([*build, str(copy)], folder)

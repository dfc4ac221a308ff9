"""MkDocs hook: the report of the demo, for the first page.

The build runs the demo itself, in about 25 seconds, and writes it below build/, where the next
build finds them until the package changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

import lmms_rpts
from lmms_rpts.cli import app
from lmms_rpts.demo.run import MODELS, run_demo

PACKAGE = Path(lmms_rpts.__file__).parent
BUILD = PACKAGE.parent / "build" / "site"
# Rooms that only show a run: after a change there, the demo needn't be evaluated again.
_SHOWS = ("report", "commands", "analysis", "validation", "cli.py")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add ``demo/report.html``."""
    page = _cached("shown", (), _show) / "report.html"
    files.append(File.generated(config, "demo/report.html", abs_src_path=str(page)))
    return files


def _show(folder: Path) -> None:
    runs = next(_cached("runs", _SHOWS, run_demo).iterdir())
    compared = [f"{model}={runs / model}" for model in MODELS]
    app(["report", *compared, "-o", str(folder / "report.html")], standalone_mode=False)


def _cached(name: str, without: tuple[str, ...], make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` fills, made again when a file of the package has changed."""
    digest = hashlib.sha256()
    for path in sorted(each for each in PACKAGE.rglob("*") if each.is_file()):
        parts = path.relative_to(PACKAGE).parts
        if "__pycache__" not in parts and parts[0] not in without:
            digest.update("/".join(parts).encode() + path.read_bytes())
    folder = BUILD / f"{name}-{digest.hexdigest()[:16]}"
    if not folder.is_dir():
        BUILD.mkdir(parents=True, exist_ok=True)
        for old in BUILD.glob(f"{name}-*"):
            shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=BUILD) as made:
            new = Path(made) / "new"
            new.mkdir()
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                make(new)
            os.replace(new, folder)
    return folder

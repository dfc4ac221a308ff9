"""Settings of tests: the variables that are ours, and a file with other settings."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.settings import CONFIG
from lmms_rpts.filters.session import reset_session
from lmms_rpts.tasks.registry import SETTINGS_TABLES

if TYPE_CHECKING:
    import pytest

VARIABLES = [
    CONFIG,
    *("OPENAI_API_KEY", "OPENAI_API_URL", "OPENAI_BASE_URL", "WORLD_SIZE", "RANK", "LOCAL_RANK"),
    *(name for table in SETTINGS_TABLES for name in table.variables()),
]
"""All variables, except LMMS_RPTS_CACHE: see conftest.py."""
VARIABLES.remove("LMMS_RPTS_CACHE")

_FOLDER = TemporaryDirectory(prefix="lmms-rpts-tests-")
_NUMBERS = itertools.count()


def write_config(path: Path, **settings: Any) -> dict[str, str]:
    """Write a file of settings; returns the variable that names it.

    Args:
        path: the file, or the folder of ``rpts.toml``.
        settings: settings, and a mapping of settings for each benchmark.
    """
    file = path / "rpts.toml" if path.is_dir() else path
    rows = [
        f"{name} = {json.dumps(value)}"
        for name, value in settings.items()
        if not isinstance(value, dict)
    ]
    for table, values in settings.items():
        if isinstance(values, dict):
            rows += [
                f"[{table}]",
                *(f"{name} = {json.dumps(value)}" for name, value in values.items()),
            ]
    file.write_text("\n".join(rows), encoding="utf-8")
    return {CONFIG: str(file)}


def configure(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    """Write a file of settings, as ``write_config``, for the rest of a test."""
    file = Path(_FOLDER.name, f"{next(_NUMBERS)}.toml")
    for name, value in write_config(file, **settings).items():
        monkeypatch.setenv(name, value)
    reset_session()

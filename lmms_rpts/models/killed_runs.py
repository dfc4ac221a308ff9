"""Responses of killed runs in lmms-eval's ``--use_cache`` folder."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from loguru import logger


def add_killed_runs(root: Path) -> None:
    """Make the responses of interrupted runs available to later runs."""
    from lmms_eval.caching.response_cache import ResponseCache

    runs = (run for run in (root / "runs").glob("*") if not (run / ".merged").exists())
    parts = sorted(str(part) for run in runs for part in run.glob("rank_*.db"))
    for part in parts:  # one by one: a damaged part does not affect the others
        try:
            ResponseCache.merge_shards([part], str(root / "cache.db"))
        except sqlite3.Error as error:
            logger.warning("Cannot read the responses of a killed run in {}: {}", part, error)

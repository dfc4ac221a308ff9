"""Responses that killed runs left in lmms-eval's ``--use_cache`` folder."""

from __future__ import annotations

from pathlib import Path


def add_killed_runs(root: Path) -> None:
    """Make the responses of interrupted runs available to later runs."""
    from lmms_eval.caching.response_cache import ResponseCache

    runs = (run for run in (root / "runs").glob("*") if not (run / ".merged").exists())
    parts = sorted(str(part) for run in runs for part in run.glob("rank_*.db"))
    if parts:
        ResponseCache.merge_shards(parts, str(root / "cache.db"))

"""Responses of killed runs: a damaged file loses only its own responses."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from lmms_eval.caching.response_cache import ResponseCache

from lmms_rpts.host.result_hooks import add_killed_runs


def rows(file: Path) -> int:
    with sqlite3.connect(file) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM responses").fetchone()[0])


def test_a_damaged_part_loses_only_itself(tmp_path: Path) -> None:
    ResponseCache.merge_shards([], str(tmp_path / "empty.db"))
    for at in range(3):
        folder = tmp_path / "runs" / f"run{at}"
        folder.mkdir(parents=True)
        (folder / "rank_0.db").write_bytes((tmp_path / "empty.db").read_bytes())
    (tmp_path / "runs" / "run0" / "rank_0.db").write_bytes(b"")
    (tmp_path / "runs" / "run1" / "rank_0.db").write_bytes(b"no database")
    add_killed_runs(tmp_path)
    add_killed_runs(tmp_path)
    assert rows(tmp_path / "cache.db") == rows(tmp_path / "empty.db")

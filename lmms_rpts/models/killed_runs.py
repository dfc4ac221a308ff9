"""Responses in lmms-eval's ``--use_cache`` folder: of killed runs, and of one model."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def cached_responses(
    root: Path, task: str, model: str, model_args: str | Mapping[str, Any]
) -> dict[str, set[str]]:
    """The different responses of a model to each document of a task, by ``doc_id``.

    They are read from the audit log, which has all responses, each with the model that gave it.

    Args:
        root: the folder.
        task: the name of the task.
        model, model_args: as in lmms-eval's results.
    """
    from lmms_eval.utils import simple_parse_args_string

    if isinstance(model_args, str):
        model_args = simple_parse_args_string(model_args)
    # As in ResponseCache.create.
    named = json.dumps(model_args, sort_keys=True, separators=(",", ":"), default=str)
    given = (task, hashlib.sha256(f"{model}|{named}".encode()).hexdigest()[:16], "generate_until")
    found: dict[str, set[str]] = {}
    for log in (*root.glob("cache.audit.jsonl"), *root.glob("runs/*/rank_*.audit.jsonl")):
        with log.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                try:
                    entry = json.loads(line)
                    text = json.loads(entry["response"])
                except (ValueError, KeyError, TypeError, RecursionError):  # a killed run cut it
                    continue
                fields = ("task_name", "model_fingerprint_hash", "request_type")
                if tuple(map(entry.get, fields)) == given and isinstance(text, str):
                    found.setdefault(str(entry.get("doc_id")), set()).add(text)
    return found

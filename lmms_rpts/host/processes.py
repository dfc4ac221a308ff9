"""Exchange of data about a task among the processes of a run."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError

_PATIENCE = timedelta(minutes=10)
"""Time after which another process that computes its task's own metrics counts as failed."""

_evaluations: Counter[str] = Counter()


class OtherProcessError(UserError):
    """Another process of the run failed, and this one ends as well."""


class Exchange:
    """Exchanges results among all processes that have documents of the task.

    Each process sees only its own documents. Processes without documents do not run lmms-eval's
    code for documents: a collective of torch would wait for them forever.

    Args:
        task: name of the task.
        has_documents: whether this process has documents of the task. All processes must report it
            once in each evaluation.
    """

    def __init__(self, task: str, has_documents: bool) -> None:
        _evaluations[task] += 1
        self._key = f"lmms_rpts/{task}/{_evaluations[task]}"
        distributed: Any = sys.modules.get("torch.distributed")
        self._store: Any = None
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            self._store = distributed.distributed_c10d._get_default_store()
            self._rank, self._count = distributed.get_rank(), distributed.get_world_size()
            self._set("there", has_documents)

    def gather(self, found: Any) -> list[Any]:
        """The results of all processes with documents, in order; waits for them. Called once.

        Args:
            found: the result of this process, of JSON types, not None.

        Raises:
            OtherProcessError: if another process failed.
        """
        if self._store is None:
            return [found]
        self._set("found", found)
        try:
            there = [at for at in range(self._count) if self._get("there", at)]
            parts = [self._get("found", at) for at in there]
        except RuntimeError as error:  # of torch: another process took too long, or ended
            logger.warning("Processes could not agree on a task's metric: {}", error)
            return [found]
        if None in parts:
            raise OtherProcessError(
                f"Process {there[parts.index(None)]} of this run failed while it computed the "
                "task's own metrics; its error is above. This process ends as well"
            )
        return parts

    def fail(self) -> None:
        """Tell the other processes that this one failed and has no result."""
        if self._store is not None:
            with contextlib.suppress(RuntimeError):  # the store is gone: the others have ended
                self._set("found", None)

    def _set(self, kind: str, value: Any) -> None:
        self._store.set(f"{self._key}/{kind}/{self._rank}", json.dumps(value))

    def _get(self, kind: str, rank: int) -> Any:
        name = f"{self._key}/{kind}/{rank}"
        self._store.wait([name], _PATIENCE)
        return json.loads(self._store.get(name))

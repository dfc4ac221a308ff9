"""Exchange of data about a task among the processes of a run."""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

from loguru import logger

_PATIENCE = timedelta(minutes=10)
"""Seconds after which another process that computes its task's own metrics counts as failed."""

_evaluations: Counter[str] = Counter()


class Exchange:
    """Sends the result of one process to all that have documents of the task.

    Each process sees its own documents only, and some see none. Those do not run
    lmms-eval's code for documents: a collective of torch would wait for them forever.

    Args:
        task: its name.
        has_documents: whether this process has documents of the task. All processes must state it
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
            self._store.set(f"{self._key}/there/{self._rank}", str(int(has_documents)))

    def gather(self, found: Any) -> list[Any]:
        """The results of all processes with documents, in order; waits for them.

        Args:
            found: the result of this process, of JSON types.
        """
        if self._store is None:
            return [found]
        self._store.set(f"{self._key}/found/{self._rank}", json.dumps(found))
        try:
            self._store.wait([self._name("there", at) for at in range(self._count)], _PATIENCE)
            there = [at for at in range(self._count) if self._read("there", at) == 1]
            self._store.wait([self._name("found", at) for at in there], _PATIENCE)
            return [self._read("found", at) for at in there]
        except RuntimeError as error:  # of torch: another process took too long, or ended
            logger.warning("Processes could not agree on a task's metric: {}", error)
            return [found]

    def _read(self, kind: str, rank: int) -> Any:
        return json.loads(self._store.get(self._name(kind, rank)))

    def _name(self, kind: str, rank: int) -> str:
        return f"{self._key}/{kind}/{rank}"

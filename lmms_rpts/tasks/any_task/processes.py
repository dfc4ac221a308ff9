"""Exchange of data about a task among the processes of a run."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from loguru import logger

from lmms_rpts.errors import UserError

_PATIENCE = timedelta(minutes=10)
"""Seconds after which another process that computes its task's own metrics counts as failed."""

_PAUSE = 0.1
"""Seconds between two checks for results of the other processes."""

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
        self._times = 0
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            self._store = distributed.distributed_c10d._get_default_store()
            self._rank, self._count = distributed.get_rank(), distributed.get_world_size()
            self._store.set(f"{self._key}/there/{self._rank}", str(int(has_documents)))

    def gather(self, found: Any) -> list[Any]:
        """The results of all processes with documents, in order; waits for them.

        Args:
            found: the result of this process, of JSON types.

        Raises:
            OtherProcessError: if another process failed.
        """
        if self._store is None:
            return [found]
        self._times += 1
        kind = f"found{self._times}"  # keeps later results apart from earlier ones
        self._store.set(self._name(kind, self._rank), json.dumps(found))
        try:
            self._wait("there", range(self._count))
            there = [at for at in range(self._count) if self._read("there", at) == 1]
            self._wait(kind, there)
            return [self._read(kind, at) for at in there]
        except RuntimeError as error:  # of torch: another process took too long, or ended
            logger.warning("Processes could not agree on a task's metric: {}", error)
            return [found]

    def fail(self) -> None:
        """Tell the other processes that this one failed and will send no result."""
        if self._store is not None:
            with contextlib.suppress(RuntimeError):  # the store is gone: the others have ended
                self._store.set(self._name("failed", self._rank), "1")

    def _wait(self, kind: str, ranks: Sequence[int]) -> None:
        """Wait until these processes have sent a result; raises early if any process failed."""
        deadline = time.monotonic() + _PATIENCE.total_seconds()
        while not all(self._store.check([self._name(kind, at)]) for at in ranks):
            failed = [
                at for at in range(self._count) if self._store.check([self._name("failed", at)])
            ]
            if failed:
                raise OtherProcessError(
                    f"Process {failed[0]} of this run failed while it computed the task's own "
                    "metrics; its error is above. This process ends as well"
                )
            if time.monotonic() > deadline:
                raise RuntimeError(f"no answer for {_PATIENCE.total_seconds():.0f} s")
            time.sleep(_PAUSE)

    def _read(self, kind: str, rank: int) -> Any:
        return json.loads(self._store.get(self._name(kind, rank)))

    def _name(self, kind: str, rank: int) -> str:
        return f"{self._key}/{kind}/{rank}"

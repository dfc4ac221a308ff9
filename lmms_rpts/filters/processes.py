"""Shared counters of the processes of one run, in torch's distributed store."""

from __future__ import annotations

import contextlib
import json
import sys
from functools import partial
from typing import Any

from lmms_rpts.judging.progress import Board

_PREFIX = "lmms_rpts"


class Processes:
    """A shared store that each process of a distributed run writes to and all processes read.

    Without torch.distributed there is no store, and only this process is visible. If the store
    fails, nothing is written or read; no error is raised.
    """

    def __init__(self, rank: int, processes: int) -> None:
        self._rank = rank
        self._others = [other for other in range(processes) if other != rank]

    def topic(self, name: str) -> Board:
        """The entry of the store for one topic."""
        return Board(partial(self.tell, name), partial(self.heard, name))

    def tell(self, topic: str, said: Any) -> None:
        """Write ``said``, a JSON value; replaces the previous value of this process."""
        store = self._store()
        if store is not None:
            with contextlib.suppress(Exception):  # the store is optional
                store.set(_key(topic, self._rank), json.dumps(said))

    def heard(self, topic: str) -> list[Any]:
        """The latest values of the other processes; processes without a value are left out."""
        store = self._store()
        found = []
        for other in self._others if store is not None else []:
            key = _key(topic, other)
            with contextlib.suppress(Exception):
                if store.check([key]):  # get() would wait for the key
                    found.append(json.loads(store.get(key)))
        return found

    def _store(self) -> Any:
        # No import: if torch.distributed was not imported, it was not started.
        distributed = sys.modules.get("torch.distributed")
        if not self._others or distributed is None or not distributed.is_initialized():
            return None
        try:
            return distributed.distributed_c10d._get_default_store()
        except Exception:  # a private function of torch, which may change
            return None


def _key(topic: str, rank: int) -> str:
    return f"{_PREFIX}/{topic}/{rank}"

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
    """A small board that each process of a distributed run writes to and all read.

    There is none where torch.distributed was not started; then one process is all that is seen.
    A failure of the board is no failure of the run: nothing is told, and nothing is read.
    """

    def __init__(self, rank: int, processes: int) -> None:
        self._rank = rank
        self._others = [other for other in range(processes) if other != rank]

    def topic(self, name: str) -> Board:
        """The part of the board that holds one topic."""
        return Board(partial(self.tell, name), partial(self.heard, name))

    def tell(self, topic: str, said: Any) -> None:
        """Write ``said``, which JSON can hold, in place of what this process said before."""
        store = self._store()
        if store is not None:
            with contextlib.suppress(Exception):  # the board is a courtesy
                store.set(_key(topic, self._rank), json.dumps(said))

    def heard(self, topic: str) -> list[Any]:
        """What the others said last; those that said nothing are left out."""
        store = self._store()
        found = []
        for other in self._others if store is not None else []:
            key = _key(topic, other)
            with contextlib.suppress(Exception):
                if store.check([key]):  # get() would wait for it
                    found.append(json.loads(store.get(key)))
        return found

    def _store(self) -> Any:
        # Without an import: where nobody imported it, it was not started.
        distributed = sys.modules.get("torch.distributed")
        if not self._others or distributed is None or not distributed.is_initialized():
            return None
        try:
            return distributed.distributed_c10d._get_default_store()
        except Exception:  # an inner function of torch, which may change
            return None


def _key(topic: str, rank: int) -> str:
    return f"{_PREFIX}/{topic}/{rank}"

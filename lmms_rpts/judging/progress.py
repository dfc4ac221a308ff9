"""Progress bar of judging (tqdm): rate, estimated time left, outcomes."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tqdm import tqdm

from lmms_rpts.base.terminal import bar_stream
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.types import Verdict

_OUTCOMES = ("asked", "cached", "identical", "failed", "no call")


class _Bar(tqdm):  # type: ignore[type-arg]
    """A bar whose stream may be closed: tqdm keeps its lock, and so all bars, if a write fails."""

    def display(self, *arguments: Any, **named: Any) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().display(*arguments, **named)

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().close()


def open_bar(shown: bool, items: Iterable[Any] | None = None, **options: Any) -> tqdm[Any]:
    """A bar on standard error, with tqdm's options; disabled if it cannot be shown."""
    stream = bar_stream() if shown else None
    if stream is None or stream.closed:
        return tqdm(items, disable=True, **options)
    interval = 0.2 if stream.isatty() else 30.0  # a log file
    return _Bar(items, file=stream, mininterval=interval, dynamic_ncols=True, **options)


class Board:
    """Values on one topic that each process of a distributed run writes and all processes read.

    Without torch.distributed there is no store, and only this process is visible. If the store
    fails, nothing is written or read; no error is raised.
    """

    def __init__(self, topic: str = "", rank: int = 0, processes: int = 1) -> None:
        self._own = f"lmms_rpts/{topic}/{rank}"
        others = (other for other in range(processes) if other != rank)
        self._others = [f"lmms_rpts/{topic}/{other}" for other in others]

    def write(self, value: Any) -> None:
        """Write a JSON value; replaces the previous value of this process."""
        store = self._store()
        if store is not None:
            with contextlib.suppress(Exception):  # the store is optional
                store.set(self._own, json.dumps(value))

    def read(self) -> list[Any]:
        """The latest values of the other processes; processes without a value are left out."""
        store, found = self._store(), []
        for key in self._others if store is not None else []:
            with contextlib.suppress(Exception):
                if store.check([key]):  # get() would wait for the key
                    found.append(json.loads(store.get(key)))
        return found

    def _store(self) -> Any:
        # No import: if torch.distributed was not imported, it was not started.
        distributed = sys.modules.get("torch.distributed")
        if not self._others or distributed is None or not distributed.is_initialized():
            return None
        with contextlib.suppress(Exception):  # a private function of torch, which may change
            return distributed.distributed_c10d._get_default_store()


NO_BOARD = Board()


class Progress:
    """Bar of one unit, responses or judgements: number done, rate, ETA, and outcomes.

    ``asked``: the judge was called; ``cached``: all answers were cached; ``identical``: all
    answers are those to identical requests of this run; ``waiting``: an answer will come by a batch
    file; ``failed``: an answer is missing; ``no call``: no judge call was needed. Each unit has one
    outcome.

    The bar covers all processes that share ``board``; ``budget`` has the cost, if prices are known.
    """

    def __init__(
        self,
        total: int,
        label: str,
        shown: bool,
        budget: Budget,
        board: Board = NO_BOARD,
        unit: str = "requests",
    ) -> None:
        self._counts: Counter[str] = Counter(total=total)
        self._budget = budget
        self._board = board
        self._bar: Any = open_bar(shown, total=total, desc=label, unit=f" {unit}")
        self._others: Counter[str] = Counter()
        self._last = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *raised: object) -> None:
        self._show()
        self._bar.close()

    def done(self, verdicts: Sequence[Verdict]) -> None:
        """Record the end of a unit with these verdicts."""
        if any(each.error for each in verdicts):
            outcome = "failed"
        elif not verdicts:
            outcome = "no call"
        elif not all(each.cached for each in verdicts):
            outcome = "asked"
        else:
            outcome = "identical" if all(each.identical for each in verdicts) else "cached"
        self._counts[outcome] += 1
        self._count()
        if time.monotonic() - self._last >= getattr(self._bar, "mininterval", 30.0):
            self._show()

    def _own(self) -> Any:
        return {**self._counts, "cost": self._budget.cost}

    def _count(self) -> Counter[str]:
        """The counts of all processes; the bar follows them."""
        counts = Counter(self._own()) + self._others
        self._bar.total = counts["total"]
        self._bar.n = sum(counts[name] for name in _OUTCOMES)
        return counts

    def _show(self) -> None:
        self._last = time.monotonic()
        self._board.write(self._own())
        if self._bar.disable:
            return
        self._others = sum(map(Counter, self._board.read()), Counter())
        counts = self._count()
        shown = {name: f"{counts[name]:,.0f}" for name in _OUTCOMES if counts[name]}
        if counts["cost"]:
            shown["cost"] = f"{counts['cost']:.3g}"
        self._bar.set_postfix(shown)

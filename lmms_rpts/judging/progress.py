"""Progress bar of judging: rate, estimate of the end, mean score."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from tqdm import tqdm

from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.types import Verdict

IN_A_TERMINAL, IN_A_FILE = 0.2, 30.0
"""Seconds between two updates in a log file."""


Counts = dict[str, float]


class Unbreakable:
    """A stream whose reader may disappear: writing to it then has no effect.

    tqdm does not release its lock where a write fails: every other bar, such as that of a model
    being loaded in another thread, would wait forever.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, ignoring errors; returns the length of the text."""
        with contextlib.suppress(OSError, ValueError):  # a closed pipe or file
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, ignoring errors."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def standard_error() -> tuple[Unbreakable, float] | None:
    """The stream of a bar, and the seconds between two updates; None without a stream."""
    if sys.stderr is None:
        return None
    with contextlib.suppress(OSError, ValueError):  # a closed pipe or file
        interval = IN_A_TERMINAL if sys.stderr.isatty() else IN_A_FILE
        return Unbreakable(sys.stderr), interval
    return None


@dataclass(frozen=True, slots=True)
class Board:
    """Shared progress of the processes of a run."""

    tell: Callable[[Counts], None]
    heard: Callable[[], Sequence[Counts]]


NO_BOARD = Board(lambda counts: None, lambda: ())


class Progress:
    """Progress bar of questions: answered by the judge, from the cache, or failed; rate and ETA.

    Args:
        total: number of conversations.
        label: text of the bar.
        shown: whether there is a bar at all.
        budget: for the cost, where prices are known.
        board: shared progress, so that the bar covers all processes.
    """

    def __init__(
        self, total: int, label: str, shown: bool, budget: Budget, board: Board = NO_BOARD
    ) -> None:
        self._counts: Counts = dict.fromkeys(("done", "asked", "cached", "failed", "cost"), 0.0)
        self._counts["total"] = total
        self._budget = budget
        self._board = board
        self._interval = IN_A_FILE
        self._last = time.monotonic()
        self._bar: tqdm[Any] | None = None
        place = standard_error() if shown else None
        if place is not None:
            stream, self._interval = place
            self._bar = tqdm(total=total, desc=label, dynamic_ncols=True, file=stream)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *raised: object) -> None:
        self._show()
        if self._bar is not None:
            self._bar.close()

    def answered(self, verdict: Verdict) -> None:
        """Record an answered or failed question."""
        outcome = "failed" if verdict.error else "cached" if verdict.cached else "asked"
        self._counts[outcome] += 1

    def done(self) -> None:
        """Record the end of a conversation."""
        self._counts["done"] += 1
        if time.monotonic() - self._last >= self._interval:
            self._show()

    def _show(self) -> None:
        self._last = time.monotonic()
        self._counts["cost"] = self._budget.cost
        self._board.tell(self._counts)
        if self._bar is None:
            return
        everybody = [self._counts, *self._board.heard()]
        counts = {name: sum(each[name] for each in everybody) for name in self._counts}
        outcomes = ("asked", "cached", "failed")
        shown = {name: f"{counts[name]:,.0f}" for name in outcomes if counts[name]}
        if counts["cost"]:
            shown["cost"] = f"{counts['cost']:.3g}"
        self._bar.total, self._bar.n = int(counts["total"]), int(counts["done"])
        self._bar.set_postfix(shown)

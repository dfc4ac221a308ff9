"""Progress bar of judging (tqdm): rate, estimated time left, outcomes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from tqdm import tqdm

from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.types import Verdict
from lmms_rpts.terminal import bar_stream

Counts = dict[str, float]
_OUTCOMES = ("asked", "cached", "identical", "failed", "no call")


class _Pipe:
    """A stream that may be closed: tqdm keeps its lock, and so all bars, if a write fails."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return (lambda: None) if name == "flush" else getattr(self._stream, name)


def standard_error() -> tuple[Any, float] | None:
    """The stream of a bar, and the seconds between two updates; None if there is no stream."""
    stream = bar_stream()
    if stream is None or stream.closed:
        return None
    return _Pipe(stream), 0.2 if stream.isatty() else 30.0  # a log file


@dataclass(frozen=True, slots=True)
class Board:
    """Shared progress of the processes of a run."""

    tell: Callable[[Counts], None]
    heard: Callable[[], Sequence[Counts]]


NO_BOARD = Board(lambda counts: None, lambda: ())


class Progress:
    """Bar of one unit, responses or judgements: number done, rate, ETA, and outcomes.

    ``asked``: the judge was called; ``cached``: all answers were cached; ``identical``: all
    answers are those to identical requests of this run; ``failed``: an answer is missing;
    ``no call``: no judge call was needed. Each unit has one outcome.

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
        self._counts: Counts = {**dict.fromkeys((*_OUTCOMES, "cost"), 0.0), "total": total}
        self._budget = budget
        self._board = board
        stream, self._interval = (standard_error() if shown else None) or (None, 30.0)
        self._last = time.monotonic()
        options: dict[str, Any] = {"desc": label, "unit": f" {unit}", "dynamic_ncols": True}
        self._bar: tqdm[Any] = tqdm(total=total, file=stream, disable=stream is None, **options)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *raised: object) -> None:
        self._show()
        self._bar.close()

    def done(self, verdicts: Sequence[Verdict]) -> None:
        """Record the end of a unit with these verdicts."""
        self._counts[_outcome(verdicts)] += 1
        if time.monotonic() - self._last >= self._interval:
            self._show()

    def _show(self) -> None:
        self._last = time.monotonic()
        self._counts["cost"] = self._budget.cost
        self._board.tell(self._counts)
        if self._bar.disable:
            return
        everybody = [self._counts, *self._board.heard()]
        counts = {name: sum(each[name] for each in everybody) for name in self._counts}
        shown = {name: f"{counts[name]:,.0f}" for name in _OUTCOMES if counts[name]}
        if counts["cost"]:
            shown["cost"] = f"{counts['cost']:.3g}"
        self._bar.total = int(counts["total"])
        self._bar.n = int(sum(counts[name] for name in _OUTCOMES))
        self._bar.set_postfix(shown)


def _outcome(verdicts: Sequence[Verdict]) -> str:
    if any(each.error for each in verdicts):
        return "failed"
    if not verdicts:
        return "no call"
    if not all(each.cached for each in verdicts):
        return "asked"
    return "identical" if all(each.identical for each in verdicts) else "cached"

"""The metrics of a benchmark, each declared once: task files, tables and reports follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric.

    Attributes:
        value: the value of a record; None if it has none and enters no mean.
        over: the value of a set of records, of a metric that is no mean over them; None if there
            is none. A metric has either ``value`` or ``over``.
        higher_is_better: None if neither more nor less is better: lmms-eval shows no arrow.
        kind: a ``share`` of responses, the mean of a ``score`` in [0, 1], or a mean ``count``;
            None: a share if all values are 0 or 1.
        group: the title of its table with ``--all``; empty: only the benchmark's columns are shown.
        head: the heading of its column; empty: its name.
        words: what it measures, for tables and reports.
        interval: whether tables show its interval.
        listed: whether lmms-eval's results contain it.
        tested: whether `compare` tests it: each test raises the corrected p-values of the others.
        needs_answer: whether it needs a gold answer.
        optional: whether a setting asks for it; without any value, tables leave it out.
    """

    name: str
    value: Callable[[Any], float | None] | None = None
    over: Callable[[Sequence[Any]], float | None] | None = None
    higher_is_better: bool | None = True
    kind: Literal["share", "score", "count"] | None = None
    group: str = ""
    head: str = ""
    words: str = ""
    interval: bool = True
    listed: bool = True
    tested: bool = True
    needs_answer: bool = False
    optional: bool = False

    def of(self, record: Any) -> float | None:
        """The value of a record; None if it has none."""
        return None if self.value is None else self.value(record)


Metrics = Mapping[str, Metric]
"""Metrics by name, in the order of tables and columns."""


def by_name(*metrics: Metric) -> Metrics:
    """The metrics by their names."""
    found = {each.name: each for each in metrics}
    if len(found) < len(metrics):
        raise ValueError(f"Two metrics have one name: {[each.name for each in metrics]}")
    return found

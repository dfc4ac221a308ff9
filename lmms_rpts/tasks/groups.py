"""Grouping of responses, and figures over their documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from lmms_rpts.runs.record import R, Record
from lmms_rpts.runs.rounds import Figure, document_means, over_rounds, there
from lmms_rpts.runs.run import RunOf
from lmms_rpts.stats.intervals import Indices, estimate_mean

if TYPE_CHECKING:
    import pandas as pd

M = TypeVar("M", bound=Hashable)
V = TypeVar("V", bound=Hashable)


def by_field(path: str) -> Callable[[Record], Iterable[str | None]]:
    """A breakdown by a field of records, such as ``instance.language``, as text."""
    value_of = attrgetter(path)

    def values(record: Record) -> Iterable[str | None]:
        value = value_of(record)
        return (None if value is None else str(value),)

    return values


def grouped(
    models: Mapping[M, Sequence[RunOf[R]]], values_of: Callable[[R], Iterable[V]]
) -> dict[V, dict[M, list[list[R]]]]:
    """The responses with each value, by model and round; rounds without any are left out.

    Args:
        models: the rounds of each model.
        values_of: returns the values of a response, which is listed with each of them.
    """
    found: dict[V, dict[M, list[list[R]]]] = {}
    for model, runs in models.items():
        for run in runs:
            of_round: dict[V, list[R]] = {}
            for each in run.responses:
                for value in values_of(each):
                    of_round.setdefault(value, []).append(each)
            for value, responses in of_round.items():
                found.setdefault(value, {}).setdefault(model, []).append(responses)
    return found


def figure_over(
    rounds: Sequence[Sequence[R]],
    value_of: Callable[[R], float | None],
    kind: str | None = None,
    clusters: Indices | None = None,
) -> Figure:
    """The mean over questions, each with the mean of its responses that have a value.

    One round has the 95% interval of ``estimate_mean`` over questions. Several have the mean and
    the sample standard deviation of their means.

    Args:
        kind: ``share``, ``score`` or ``count``, as in `Grading`; None: a share if all values are 0
            or 1.
        clusters: as for ``estimate_mean``, of the questions in their order.
    """
    means = [
        document_means((each.instance.key, value_of(each)) for each in responses)
        for responses in rounds
    ]
    values = [there(each) for each in means]
    if len(rounds) == 1:
        share = all(each in (0, 1) for each in values[0]) if kind is None else kind == "share"
        found = estimate_mean(means[0], clusters, share, kind != "count")
        return Figure(found.value, None, found.low, found.high, found.n)
    return over_rounds([math.fsum(each) / len(each) if each else None for each in values])


def figure_columns(figures: Mapping[str, Figure]) -> dict[str, float | None]:
    """Figures as columns: for each M ``M``, ``M_sd``, ``M_low``, ``M_high``, ``M_n``."""
    columns: dict[str, float | None] = {}
    for name, figure in figures.items():
        columns[name] = figure.value
        columns |= {f"{name}_{each}": getattr(figure, each) for each in ("sd", "low", "high", "n")}
    return columns


def numeric_frame(rows: Sequence[Mapping[str, Any]], texts: Collection[str]) -> pd.DataFrame:
    """A table whose columns are numbers except ``texts``, even if all values are missing."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    # A column of only None would not be numeric.
    numbers = [name for name in frame if frame[name].dtype == object and name not in texts]
    typed: pd.DataFrame = frame.astype(dict.fromkeys(numbers, float))
    return typed

"""Summary of graded answers with metrics and breakdowns alone, for benchmarks that need no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmms_rpts.escaping import shorten
from lmms_rpts.runs.rounds import Figure, differing_models, rounds_of
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.grades import (
    Breakdown,
    Group,
    check_breakdowns,
    figure_columns,
    figure_over,
    grouped,
    numeric_frame,
)
from lmms_rpts.tasks.sheets import NOT_GIVEN, GradePage, Sheet, figure_text

if TYPE_CHECKING:
    import pandas as pd

Metrics = Mapping[str, Callable[[Any], float | None]]
"""The value of a response in each metric, None where it has none; the first is the main one."""

Breakdowns = Mapping[str, Callable[[Any], str | None]]
"""What responses can be told apart by; None: the data don't say."""

_ALL = "all questions"
_EXPLAINED = (
    "n: questions. unscored: responses without a value of the first metric. [ ]: 95% interval over "
    "questions, of one round. ±: sample standard deviation over rounds."
)


@dataclass(frozen=True, slots=True)
class PlainFigures:
    """One model on some questions.

    Attributes:
        rounds: how many runs of it cover any of them.
        unscored: responses without a value of the first metric.
        metrics: by name.
    """

    model: str
    rounds: int
    questions: int
    responses: int
    unscored: int
    metrics: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class PlainSummary:
    """Models side by side, over all questions and broken down."""

    overall: Group[PlainFigures]
    tables: tuple[Breakdown[PlainFigures], ...]
    warnings: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """A row a group and model: ``by``, ``group`` (both empty: all questions), ``model``,
        ``rounds``, ``questions``, ``responses``, ``unscored``, and for each metric M ``M``,
        ``M_sd``, ``M_low``, ``M_high``, ``M_n`` (see ``Figure``).
        """
        groups = [("", self.overall)]
        groups += [(table.by, group) for table in self.tables for group in table.groups]
        rows = [_row(by, group, each) for by, group in groups for each in group.models]
        return numeric_frame(rows, ("by", "group", "model"))


def plain_page(
    title: str,
    runs: Sequence[AnyRun],
    metrics: Metrics,
    breakdowns: Breakdowns,
    by: Sequence[str] = (),
) -> GradePage:
    """A page of runs: a table over all questions, and one for each breakdown that is asked for.

    A metric is the mean over questions, each with the mean of its responses that have a value.

    Args:
        title: of the benchmark.
        metrics, breakdowns: by name.
        by: names of ``breakdowns``.

    Raises:
        RunError: if there is no run, or no such breakdown.
    """
    if not runs:
        raise RunError("there is no run to summarise")
    check_breakdowns(by, breakdowns)
    models = rounds_of(runs)

    def groups(values_of: Callable[[Any], str | None]) -> Iterator[Group[PlainFigures]]:
        found = grouped(models, lambda each: (values_of(each),))
        for value in sorted(found, key=lambda value: (value is None, str(value))):
            figures = (_figures(*pair, metrics) for pair in found[value].items())
            yield Group(value, tuple(figures))

    (overall,) = groups(lambda each: None)
    tables = tuple(Breakdown(name, tuple(groups(breakdowns[name]))) for name in dict.fromkeys(by))
    summary = PlainSummary(overall, tables, tuple(differing_models(models, "questions")))
    shown = (_sheet(title, each, list(metrics)) for each in (Breakdown("", (overall,)), *tables))
    return GradePage(summary, tuple(shown), _EXPLAINED, warnings=summary.warnings)


def _figures(model: str, rounds: Sequence[Sequence[Any]], metrics: Metrics) -> PlainFigures:
    responses = [each for run in rounds for each in run]
    main = next(iter(metrics.values()))
    return PlainFigures(
        model=model,
        rounds=len(rounds),
        questions=len({each.instance.key for each in responses}),
        responses=len(responses),
        unscored=sum(main(each) is None for each in responses),
        metrics={name: figure_over(rounds, value_of) for name, value_of in metrics.items()},
    )


def _sheet(title: str, table: Breakdown[PlainFigures], metrics: Sequence[str]) -> Sheet:
    sections = []
    for group in table.groups:
        value = NOT_GIVEN if group.value is None else shorten(group.value)
        name = value if table.by else _ALL
        rows: list[list[str]] = []
        for each in group.models:
            numbers = (figure_text(each.metrics[metric]) for metric in metrics)
            cells = (shorten(each.model), str(each.questions), *numbers, str(each.unscored))
            rows.append(["" if rows else name, *cells])
        sections.append(rows)
    heads = [table.by or "questions", "model", "n", *metrics, "unscored"]
    return Sheet(f"{title} by {table.by}" if table.by else title, heads, 2, sections)


def _row(by: str, group: Group[PlainFigures], figures: PlainFigures) -> dict[str, Any]:
    row: dict[str, Any] = {"by": by, "group": group.value or "", "model": figures.model}
    names = ("rounds", "questions", "responses", "unscored")
    row |= {name: getattr(figures, name) for name in names}
    return row | figure_columns(figures.metrics)

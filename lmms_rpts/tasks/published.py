"""Figures that papers and leaderboards printed, set beside own runs.

A benchmark lists them in ``published.yml`` of its folder; docs/benchmarks.md describes the fields.
They were not measured here: they enter no mean, interval or test, and every row is marked.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import yaml
from pydantic import BeforeValidator, ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import did_you_mean, shorten
from lmms_rpts.base.schema import FieldError, Model, all_faults, wrong
from lmms_rpts.base.sheet import Sheet
from lmms_rpts.runs.rounds import NONE, Figure, figure_text
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.tasks.all_runs import grading_of
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.grade_types import Grading
from lmms_rpts.tasks.graded import GradeSummary, numeric_frame, summarize_grades

if TYPE_CHECKING:
    import pandas as pd

FILE = "published.yml"
OWN, PUBLISHED = "measured here", "as published"
NOT_MEASURED = "as published, not measured here"

_CELL = re.compile(r"(\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?")
"""A printed figure, and its standard deviation over rounds: ``44.7 ± 5.0``."""


def _figures(value: object) -> list[tuple[str, dict[str, Figure]]]:
    """The rows of a table in CSV: models, and their printed figures by column."""
    if not isinstance(value, str):
        raise wrong("a table in CSV", value)
    found = []
    for row in csv.DictReader(value.splitlines(), skipinitialspace=True):
        model, figures = row.pop("model", None), {}
        if not model or None in row or None in row.values():
            raise FieldError(f"the row {row} needs a model and one cell for each column")
        for column, cell in row.items():
            read = _CELL.fullmatch(cell.strip())
            if not read and cell.strip() not in ("", "-"):
                raise FieldError(f"{model}, {column}: should be 44.7 or 44.7 ± 5.0, not {cell!r}")
            if read:
                figures[column] = Figure(float(read[1]), float(read[2]) if read[2] else None)
        found.append((model, figures))
    return found


class Table(Model):
    """Figures from one source that were measured in one way, as printed.

    Attributes:
        source: paper or page, with the number of the table.
        date: of the source.
        protocol: how they were measured, in a few words.
        here: how a run of this package differs.
        figures: in the file, CSV with a column ``model``; the others are named by a metric, or by
            a metric and a value of the file's breakdown: ``accuracy spatial``.
    """

    source: str
    date: str
    protocol: str
    here: str
    figures: Annotated[list[tuple[str, dict[str, Any]]], BeforeValidator(_figures)]

    @property
    def said(self) -> str:
        """Source, date and protocol."""
        return (
            f"{self.protocol}: {NOT_MEASURED}, from {self.source}, {self.date}. Here: {self.here}"
        )


class Published(Model):
    """The published figures of a benchmark.

    Attributes:
        per: the printed value that is a share of 1: 100 for percent. Only metrics of the benchmark
            are divided by it.
        by: the breakdown whose values are in the names of columns.
        tasks: groups of tasks whose own figures belong in one row; empty: all tasks of a run.
        tables: the tables, of different sources or protocols.
    """

    per: float = 1.0
    by: str = ""
    tasks: tuple[tuple[str, ...], ...] = ()
    tables: tuple[Table, ...]


class Row(NamedTuple):
    """The figures of one model by column; ``source`` is empty if they were measured here."""

    model: str
    protocol: str
    source: str
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Beside:
    """Own figures and published ones.

    Attributes:
        title: of the benchmark.
        metrics: the names of its metrics; other columns are not shares.
        by: the breakdown of columns whose name has a value.
        columns: in the order of the file.
        sections: the own rows, then those of each table.
        notes: source, date and protocol of each table.
    """

    title: str
    metrics: frozenset[str]
    by: str
    columns: tuple[str, ...]
    sections: tuple[tuple[Row, ...], ...]
    notes: tuple[str, ...]

    def sheet(self) -> Sheet:
        """The table for people."""
        heads = list(self.columns)
        if len({each.partition(" ")[0] for each in heads}) == 1:
            heads = [each.partition(" ")[2] or each for each in heads]
        sections = [[self._cells(row) for row in rows] for rows in self.sections if rows]
        return Sheet(
            f"{self.title} beside figures {NOT_MEASURED}", ["model", "figures", *heads], 2, sections
        )

    def _cells(self, row: Row) -> list[str]:
        numbers = (self._text(column, row.figures.get(column)) for column in self.columns)
        mark = PUBLISHED if row.source else OWN
        return [shorten(row.model, 40), shorten(f"{mark}: {row.protocol}", 80), *numbers]

    def _text(self, column: str, figure: Figure | None) -> str:
        if figure is None or figure.value is None:
            return NONE
        is_share = column.partition(" ")[0] in self.metrics
        return figure_text(figure) if is_share else f"{figure.value:.2f}"

    def frame(self, summary: GradeSummary) -> pd.DataFrame:
        """The rows of a summary, then the published ones in its columns, with their source."""
        import pandas as pd

        rows = []
        for row in filter(lambda row: row.source, chain(*self.sections)):
            groups: dict[str, dict[str, float | None]] = {}
            for column, figure in row.figures.items():
                metric, _, group = column.partition(" ")
                values = groups.setdefault(group, {})
                values |= {metric: figure.value, f"{metric}_sd": figure.sd}
            rows += [
                {"by": self.by if group else "", "group": group, "model": row.model}
                | {"published": row.source, "protocol": row.protocol}
                | values
                for group, values in groups.items()
            ]
        texts = ("by", "group", "model", "published", "protocol")
        own = summary.frame()
        # Counts, which published rows lack, stay whole numbers.
        own = own.astype(dict.fromkeys(own.select_dtypes("int"), "Int64"))
        frame: pd.DataFrame = pd.concat([own, numeric_frame(rows, texts)])
        return frame

    def to_dict(self, summary: GradeSummary) -> dict[str, Any]:
        """A summary with all rows, for JSON."""
        rows = [
            {"figures": PUBLISHED if row.source else OWN, "model": row.model}
            | {"protocol": row.protocol, "source": row.source}
            | {name: asdict(row.figures[name]) for name in self.columns if name in row.figures}
            for row in chain(*self.sections)
        ]
        return summary.to_dict() | {"published": {"notes": self.notes, "rows": rows}}


def has_published(benchmark: Benchmark) -> bool:
    """Whether a benchmark has published figures."""
    return (benchmark.folder / FILE).is_file()


def set_beside(
    benchmark: Benchmark, runs: Sequence[AnyRun], task: str | None = None
) -> Beside | None:
    """The published figures of a benchmark beside those of runs; None if it has none.

    Args:
        task: only the responses of the runs to this task.

    Raises:
        UserError: if its file is wrong; the message names file, table and field.
    """
    if not has_published(benchmark):
        return None
    path, grading = benchmark.folder / FILE, grading_of(benchmark.name)
    try:
        known = Published.model_validate(yaml.safe_load(path.read_text("utf-8")))
        columns = _columns(known, grading)
    except ValidationError as error:
        raise UserError(f"{path}: {'; '.join(all_faults(error))}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path}: {error}") from None
    published = [
        tuple(
            Row(model, each.protocol, each.source, _shares(figures, known.per, grading))
            for model, figures in each.figures
        )
        for each in known.tables
    ]
    return Beside(
        title=benchmark.title,
        metrics=frozenset(grading.metrics),
        by=known.by,
        columns=columns,
        sections=(tuple(_own(known, grading, runs, task)), *published),
        notes=tuple(each.said for each in known.tables),
    )


def _columns(known: Published, grading: Grading) -> tuple[str, ...]:
    """The columns of all tables, which name metrics and a breakdown of the benchmark."""
    if known.by and known.by not in grading.breakdowns:
        raise ValueError(f"by: unknown breakdown {known.by!r}; {', '.join(grading.breakdowns)}")
    columns = [name for each in known.tables for _, figures in each.figures for name in figures]
    names = {*grading.metrics, *grading.explained}
    for name in columns:
        if (metric := name.partition(" ")[0]) not in names:
            raise ValueError(f"unknown metric {metric!r}.{did_you_mean(metric, names)}")
    return tuple(dict.fromkeys(columns))


def _shares(figures: Mapping[str, Figure], per: float, grading: Grading) -> dict[str, Figure]:
    """Printed figures of metrics as shares; others as printed."""

    def share(value: float | None) -> float | None:
        return None if value is None else round(value / per, 6)

    return {
        name: replace(each, value=share(each.value), sd=share(each.sd))
        if name.partition(" ")[0] in grading.metrics
        else each
        for name, each in figures.items()
    }


def _own(
    known: Published, grading: Grading, runs: Sequence[AnyRun], task: str | None
) -> Iterator[Row]:
    """The figures of the runs, for each group of tasks."""
    for tasks in known.tasks or ((),):
        wanted = [
            (run, [e for e in run.responses if not tasks or e.instance.task in tasks])
            for run in runs
        ]
        parts = [replace(run, responses=tuple(kept)) for run, kept in wanted if kept]
        parts = [part for run in parts if (part := of_task(run, task)) is not None]
        if not parts:
            continue
        summary = summarize_grades(grading, parts, [known.by] if known.by else ())
        found: dict[tuple[str, str], dict[str, Figure]] = {}
        groups = [("", summary.models)]
        groups += [
            (f" {group.value}", group.models)
            for table in summary.tables
            if table.by == known.by
            for group in table.groups
        ]
        for end, models in groups:
            for each in models:
                named = {f"{name}{end}": figure for name, figure in each.metrics.items()}
                found.setdefault((each.task, each.model), {}).update(named)
        if grading.beside:
            found = {key: dict(own) for key, own in grading.beside(summary.models).items()}
        judges = sorted({str(each.judge) for run in parts for each in run.scorings})
        asked = sorted({name for run in parts for name in run.tasks if name in tasks})
        for (own_task, model), figures in found.items():
            protocol = [own_task or ", ".join(asked), f"by {', '.join(judges)}"]
            yield Row(model, "; ".join(filter(None, protocol)), "", figures)

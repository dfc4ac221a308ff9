"""Figures that papers and leaderboards printed, set beside own runs.

A benchmark lists them in ``published.yml`` of its folder. They were not measured here: they enter
no mean, interval or test, and every row is marked.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pydantic import Field, ValidationError

from lmms_rpts.analysis.summary import Summary, summarize
from lmms_rpts.analysis.tables import Sheet
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import listed, shorten
from lmms_rpts.base.schema import FieldError, Model, all_faults
from lmms_rpts.runs.rounds import Figure, figure_text, rounds_of
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.tasks.benchmark import Benchmark

if TYPE_CHECKING:
    import pandas as pd

FILE = "published.yml"
OWN, PUBLISHED = "measured here", "as published"
NOT_MEASURED = "as published, not measured here"

_CELL = re.compile(r"-|(\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?")
"""A printed figure, and its standard deviation over rounds: ``44.7 ± 5.0``; ``-``: none."""


class Row(NamedTuple):
    """The figures of one model by column; ``source`` is empty if they were measured here."""

    model: str
    figures: Mapping[str, Figure]
    protocol: str
    source: str = ""


class Table(Model):
    """Figures from one source that were measured in one way.

    Attributes:
        source: paper or page, with the number of the table.
        date: of the source.
        protocol: how they were measured, in a few words.
        here: how a run of this package differs.
        per: the printed value that is a share of 1: 100 for percent.
        figures: as printed, in CSV with a column ``model``; the others are named by a metric, or by
            a metric and a value of the file's breakdown: ``accuracy spatial``.
    """

    source: str
    date: str
    protocol: str
    here: str
    per: float = Field(1.0, gt=0)
    figures: str

    def rows(self) -> Iterator[Row]:
        """The figures of each model, divided by ``per``."""
        for cells in csv.DictReader(self.figures.splitlines(), skipinitialspace=True):
            model = cells.pop("model", None)
            if not model or None in cells or None in cells.values():
                raise FieldError(f"figures: {cells} needs a model and one cell for each column")
            figures = {name: self._figure(cell, f"{model}, {name}") for name, cell in cells.items()}
            yield Row(model, figures, self.protocol, self.source)

    def _figure(self, cell: str, place: str) -> Figure:
        read = _CELL.fullmatch(cell.strip())
        if not read:
            raise FieldError(f"{place}: should be 44.7, 44.7 ± 5.0 or -, not {cell!r}")
        parts = [None if it is None else float(it) for it in read.groups()]
        value, sd = (None if it is None else round(it / self.per, 6) for it in parts)
        return Figure(value, sd)


class Published(Model):
    """The published figures of a benchmark.

    Attributes:
        by: the breakdown whose values are in the names of columns.
        tasks: groups of tasks whose own figures belong in one row; empty: all tasks of a run.
        tables: the tables, of different sources or protocols.
    """

    by: str = ""
    tasks: tuple[tuple[str, ...], ...] = ()
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """Own figures and published ones.

    Attributes:
        title: of the benchmark.
        by: the breakdown of columns whose name has a value.
        columns: names of figures, in the order of the file.
        sections: the own rows, then those of each table.
        notes: source, date and protocol of each table.
    """

    title: str
    by: str
    columns: Sequence[str]
    sections: Sequence[Sequence[Row]]
    notes: Sequence[str]

    def sheet(self) -> Sheet:
        """The table for people."""
        # One metric by groups needs no name: academic, diagrams, ...
        one = len({name.partition(" ")[0] for name in self.columns if " " in name}) == 1
        heads = [name.partition(" ")[2] * one or name for name in self.columns]
        sections = [
            [
                [
                    shorten(row.model, 40),
                    shorten(f"{PUBLISHED if row.source else OWN}: {row.protocol}", 80),
                    *(figure_text(row.figures.get(name, Figure(None))) for name in self.columns),
                ]
                for row in rows
            ]
            for rows in self.sections
            if rows
        ]
        title = f"{self.title} beside figures {NOT_MEASURED}"
        return Sheet(title, ["model", "figures", *heads], 2, sections)

    def rows(self) -> list[dict[str, Any]]:
        """The published rows in the columns of ``Summary.frame``, with their source."""
        found: list[dict[str, Any]] = []
        for row in filter(lambda row: row.source, chain(*self.sections)):
            groups: dict[str, dict[str, Any]] = {}
            for name, figure in row.figures.items():
                metric, _, group = name.partition(" ")
                first = {"by": self.by * bool(group), "group": group, "model": row.model}
                marks = {"published": row.source, "protocol": row.protocol}
                cells = groups.setdefault(group, first | marks)
                for column, value in ((metric, figure.value), (f"{metric}_sd", figure.sd)):
                    if value is not None:
                        cells[column] = value
            found += groups.values()
        return found

    def frame(self, summary: Summary) -> pd.DataFrame:
        """The rows of a summary, then the published ones."""
        import pandas as pd

        own = summary.frame()
        # Counts, which published rows lack, stay whole numbers.
        own = own.astype(dict.fromkeys(own.select_dtypes("int"), "Int64"))
        frame: pd.DataFrame = pd.concat([own, pd.DataFrame(self.rows())])
        return frame

    def to_dict(self, summary: Summary) -> dict[str, Any]:
        """A summary with the published rows, for JSON."""
        return summary.to_dict() | {"published": {"notes": self.notes, "rows": self.rows()}}


def set_beside(
    benchmark: Benchmark, runs: Sequence[AnyRun], task: str | None = None
) -> Beside | None:
    """The published figures of a benchmark beside those of runs; None if it has none.

    Args:
        task: only the responses of the runs to this task.
    """
    path = benchmark.folder / FILE
    if not path.is_file():
        return None
    try:
        known = Published.model_validate(yaml.safe_load(path.read_text("utf-8")))
        sections = [list(table.rows()) for table in known.tables]
    except ValidationError as error:
        raise UserError(f"{path}: {'; '.join(all_faults(error))}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path}: {error}") from None
    own = [*_own(known, [part for run in runs if (part := of_task(run, task)) is not None])]
    notes = [
        f"{it.protocol}: {NOT_MEASURED}, from {it.source}, {it.date}. Here: {it.here}"
        for it in known.tables
    ]
    if runs and not own:
        wanted = listed(chain(*known.tasks))
        notes.append(f"These runs have no row: none of their responses is to {wanted}.")
    columns = list(dict.fromkeys(name for row in chain(*sections) for name in row.figures))
    return Beside(benchmark.title, known.by, columns, [own, *sections], notes)


def _own(known: Published, runs: Sequence[AnyRun]) -> Iterator[Row]:
    """The figures of the runs, for each group of tasks."""
    for tasks in known.tasks or (tuple({name for run in runs for name in run.tasks}),):
        parts = [
            replace(run, responses=kept)
            for run in runs
            if (kept := tuple(each for each in run.responses if each.instance.task in tasks))
        ]
        if not parts:
            continue
        summary = summarize(parts, [known.by] * bool(known.by))
        figures: dict[tuple[str, str], dict[str, Figure]] = {}
        groups = [each for table in summary.tables if table.by == known.by for each in table.groups]
        for end, models in (("", summary.models), *((f" {it.value}", it.models) for it in groups)):
            for each in models:
                named = {f"{name}{end}": figure for name, figure in each.metrics.items()}
                figures.setdefault((each.task, each.model), {}).update(named)
        if summary.dimensions:
            figures = summary.dimensions.averages(summary.models)
        rounds = rounds_of(parts)
        asked = ", ".join(sorted({name for run in parts for name in run.tasks}))
        for (own_task, model), of_model in figures.items():
            scorings = chain.from_iterable(run.scorings for run in rounds.get(model, parts))
            judges = ", ".join(sorted({str(each.judge) for each in scorings}))
            yield Row(model, of_model, f"{own_task or asked}; by {judges}")

"""Figures that papers and leaderboards printed, set beside own runs.

A benchmark lists them in ``published.yml`` of its folder.
They were not measured here: they enter no mean, interval or test, and every row is marked.
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

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import listed, shorten
from lmms_rpts.base.schema import FieldError, Model, all_faults
from lmms_rpts.runs.rounds import Figure, figure_text, rounds_of
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.tasks.all_runs import grading_of
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.grade_types import Grading, Sheet
from lmms_rpts.tasks.graded import GradeSummary, numeric_frame, summarize_grades

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
    protocol: str = ""
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
            model, figures = cells.pop("model", None), {}
            if not model or None in cells or None in cells.values():
                raise FieldError(f"figures: {cells} needs a model and one cell for each column")
            for column, cell in cells.items():
                read = _CELL.fullmatch(cell.strip())
                if not read:
                    raise FieldError(
                        f"{model}, {column}: should be 44.7, 44.7 ± 5.0 or -, not {cell!r}"
                    )
                value, sd = (
                    None if it is None else round(float(it) / self.per, 6) for it in read.groups()
                )
                figures[column] = Figure(value, sd)
            yield Row(model, figures, self.protocol, self.source)


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
        columns: in the order of the file.
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
        names = [each.partition(" ") for each in self.columns]
        # One metric by groups needs no name: academic, diagrams, ...
        one = len({metric for metric, _, group in names if group}) == 1
        heads = [
            group if group and one else f"{metric} {group}".strip() for metric, _, group in names
        ]
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
        """The published rows in the columns of ``GradeSummary.frame``, with their source."""
        found = []
        for row in filter(lambda row: row.source, chain(*self.sections)):
            groups: dict[str, dict[str, Any]] = {}
            for name, figure in row.figures.items():
                if figure.value is None:
                    continue
                metric, _, group = name.partition(" ")
                first = {"by": self.by if group else "", "group": group, "model": row.model}
                values = groups.setdefault(group, first)
                values |= {metric: figure.value, f"{metric}_sd": figure.sd}
            marks = {"published": row.source, "protocol": row.protocol}
            found += [values | marks for values in groups.values()]
        return found

    def frame(self, summary: GradeSummary) -> pd.DataFrame:
        """The rows of a summary, then the published ones."""
        import pandas as pd

        own = summary.frame()
        # Counts, which published rows lack, stay whole numbers.
        own = own.astype(dict.fromkeys(own.select_dtypes("int"), "Int64"))
        texts = ("by", "group", "model", "published", "protocol")
        frame: pd.DataFrame = pd.concat([own, numeric_frame(self.rows(), texts)])
        return frame

    def to_dict(self, summary: GradeSummary) -> dict[str, Any]:
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
    own = [*_own(known, grading_of(benchmark.name), runs, task)]
    notes = [
        f"{it.protocol}: {NOT_MEASURED}, from {it.source}, {it.date}. Here: {it.here}"
        for it in known.tables
    ]
    if runs and not own:
        wanted = listed(chain(*known.tasks))
        notes.append(f"These runs have no row: none of their responses is to {wanted}.")
    return Beside(
        title=benchmark.title,
        by=known.by,
        columns=list(dict.fromkeys(name for row in chain(*sections) for name in row.figures)),
        sections=[own, *sections],
        notes=notes,
    )


def _own(
    known: Published, grading: Grading, runs: Sequence[AnyRun], task: str | None
) -> Iterator[Row]:
    """The figures of the runs, for each group of tasks."""
    for tasks in known.tasks or ((),):
        parts = [
            replace(part, responses=kept)
            for run in runs
            if (part := of_task(run, task))
            and (kept := tuple(e for e in part.responses if not tasks or e.instance.task in tasks))
        ]
        if not parts:
            continue
        summary = summarize_grades(grading, parts, [known.by] if known.by else ())
        found: dict[tuple[str, str], dict[str, Figure]] = {}
        tables = [table.groups for table in summary.tables if table.by == known.by]
        groups = [(f" {each.value}", each.models) for each in chain(*tables)]
        for end, each in ((end, it) for end, of in [("", summary.models), *groups] for it in of):
            figures = {f"{name}{end}": figure for name, figure in each.metrics.items()}
            found.setdefault((each.task, each.model), {}).update(figures)
        asked = sorted({name for run in parts for name in run.tasks if name in tasks})
        own = grading.beside(summary.models) if grading.beside else found
        rounds = rounds_of(parts)
        for (own_task, model), of_model in own.items():
            scorings = chain.from_iterable(run.scorings for run in rounds.get(model, parts))
            judges = sorted({str(each.judge) for each in scorings})
            protocol = [own_task or ", ".join(asked), f"by {', '.join(judges)}"]
            yield Row(model, of_model, "; ".join(filter(None, protocol)))

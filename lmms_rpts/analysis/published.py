"""Figures that papers and leaderboards printed, set beside own runs.

A benchmark lists them in ``published.yml`` of its folder. They were not measured here: they enter
no mean, interval or test, and every row is marked.

``by``: the breakdown whose values are in the names of columns: ``accuracy spatial``. ``tasks``:
groups of tasks whose own figures belong in one row; without it, all tasks of a run do. ``tables``:
of different sources or protocols: ``source`` (with the number of the table) and its ``date``;
``protocol``: how they were measured; ``here``: how a run of this package differs; ``per``: the
printed value that is a share of 1, as 100 for percent; ``figures``: as printed, in CSV:
``44.7``, ``44.7 ± 5.0`` (over rounds), or ``-``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import yaml

from lmms_rpts.analysis.summary import summarize
from lmms_rpts.analysis.tables import Sheet
from lmms_rpts.base.escaping import listed, shorten
from lmms_rpts.runs.rounds import Figure, figure_text, rounds_of
from lmms_rpts.runs.run import Run, of_task
from lmms_rpts.tasks.benchmark import Benchmark

FILE = "published.yml"
OWN, PUBLISHED = "measured here", "as published"
NOT_MEASURED = "as published, not measured here"


class Row(NamedTuple):
    """The figures of one model by column; ``source`` is empty if they were measured here."""

    model: str
    figures: Mapping[str, Figure]
    protocol: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Beside:
    """Own figures and published ones.

    Attributes:
        title: of the benchmark.
        columns: in the order of the file.
        sections: the own rows, then those of each table.
        notes: source, date and protocol of each table.
    """

    title: str
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

    def to_dict(self) -> dict[str, Any]:
        """The published rows and their notes, for JSON."""
        rows = [
            {"model": row.model, "protocol": row.protocol, "source": row.source}
            | {name: each.value for name, each in row.figures.items() if each.value is not None}
            for row in chain(*self.sections[1:])
        ]
        return {"notes": self.notes, "rows": rows}


def set_beside(benchmark: Benchmark, runs: Sequence[Run], task: str | None = None) -> Beside | None:
    """The published figures of a benchmark beside those of runs; None if it has none.

    Args:
        task: only the responses of the runs to this task.
    """
    path = benchmark.folder / FILE
    if not path.is_file():
        return None
    known = yaml.safe_load(path.read_text("utf-8"))
    sections = [_printed(table) for table in known["tables"]]
    parts = [part for run in runs if (part := of_task(run, task)) is not None]
    own = [*_own(known.get("by"), known.get("tasks", ()), parts)]
    notes = [
        f"{it['protocol']}: {NOT_MEASURED}, from {it['source']}, {it['date']}. Here: {it['here']}"
        for it in known["tables"]
    ]
    if runs and not own:
        wanted = listed(chain(*known["tasks"]))
        notes.append(f"These runs have no row: none of their responses is to {wanted}.")
    columns = list(dict.fromkeys(name for row in chain(*sections) for name in row.figures))
    return Beside(benchmark.title, columns, [own, *sections], notes)


def _printed(table: Mapping[str, Any]) -> list[Row]:
    """The rows of a table; its figures are divided by ``per``."""
    rows = []
    for cells in csv.DictReader(table["figures"].splitlines(), skipinitialspace=True):
        model, figures = cells.pop("model"), {}
        for name, cell in cells.items():
            value, _, spread = cell.strip(" -").partition(" ± ")
            per = table.get("per", 1)
            parts = [round(float(it) / per, 6) if it else None for it in (value, spread)]
            figures[name] = Figure(parts[0], parts[1])
        rows.append(Row(model, figures, table["protocol"], table["source"]))
    return rows


def _own(by: str | None, groups: Sequence[Sequence[str]], runs: Sequence[Run]) -> Iterator[Row]:
    """The figures of the runs, for each group of tasks."""
    for tasks in groups or [[name for run in runs for name in run.tasks]]:
        parts = [
            replace(run, responses=kept)
            for run in runs
            if (kept := tuple(each for each in run.responses if each.instance.task in tasks))
        ]
        if not parts:
            continue
        summary = summarize(parts, [by] if by else ())
        figures: dict[tuple[str, str], dict[str, Figure]] = {}
        for row in (*summary.models, *(summary.of(by) if by else ())):
            named = {f"{name} {row.group or ''}".strip(): it for name, it in row.metrics.items()}
            figures.setdefault((row.task, row.model), {}).update(named)
        if summary.dimensions:
            figures = summary.dimensions.averages(summary.models)
        rounds = rounds_of(parts)
        asked = ", ".join(sorted({name for run in parts for name in run.tasks}))
        for (own_task, model), of_model in figures.items():
            scorings = chain.from_iterable(run.scorings for run in rounds.get(model, parts))
            judges = ", ".join(sorted({str(each.judge) for each in scorings}))
            yield Row(model, of_model, f"{own_task or asked}; by {judges}")

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
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import yaml

from lmms_rpts.analysis.summary import summarize
from lmms_rpts.base.escaping import listed
from lmms_rpts.runs.run import Run
from lmms_rpts.stats.figures import Interval
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.reform_eval.dimensions import averages

if TYPE_CHECKING:
    import pandas as pd

FILE = "published.yml"
NOT_MEASURED = "as published, not measured here"


def set_beside(benchmark: Benchmark, runs: Sequence[Run]) -> tuple[pd.DataFrame, list[str]] | None:
    """The published figures of a benchmark beside those of runs; None if it has none.

    Returns:
        A row per own model and per published one: ``model``, ``figures`` (which of both, and the
        protocol), then the columns of the file as `Interval`s; and notes with source, date and
        protocol of each table.
    """
    import pandas as pd

    path = benchmark.folder / FILE
    if not path.is_file():
        return None
    printed = yaml.safe_load(path.read_text("utf-8"))
    published = list(chain.from_iterable(map(_printed, printed["tables"])))
    own = list(_own(printed.get("by"), printed.get("tasks", ()), runs))
    notes = [
        f"{it['protocol']}: {NOT_MEASURED}, from {it['source']}, {it['date']}. Here: {it['here']}"
        for it in printed["tables"]
    ]
    if runs and not own:
        wanted = listed(chain(*printed["tasks"]))
        notes.append(f"These runs have no row: none of their responses is to {wanted}.")
    columns = list(dict.fromkeys(name for row in published for name in row))
    blank = dict.fromkeys(columns, Interval(None))
    table: pd.DataFrame = pd.DataFrame([blank | row for row in (*own, *published)], columns=columns)
    return table, notes


def _printed(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a table; its figures are divided by ``per``."""
    per = table.get("per", 1)
    for cells in csv.DictReader(table["figures"].splitlines(), skipinitialspace=True):
        row: dict[str, Any] = {"model": cells.pop("model")}
        row["figures"] = f"as published: {table['protocol']}"
        for name, cell in cells.items():
            value, _, spread = cell.strip(" -").partition(" ± ")
            numbers = [round(float(it) / per, 6) if it else None for it in (value, spread)]
            row[name] = Interval(numbers[0], sd=numbers[1])
        yield row


def _own(
    by: str | None, groups: Sequence[Sequence[str]], runs: Sequence[Run]
) -> Iterator[dict[str, Any]]:
    """The figures of the runs, for each group of tasks."""
    for tasks in groups or [[name for run in runs for name in run.tasks]]:
        parts = [
            replace(run, responses=kept)
            for run in runs
            if (kept := tuple(it for it in run.responses if it.instance.task in tasks))
        ]
        if not parts:
            continue
        summary = summarize(parts, by or ())
        rows: dict[tuple[str, str], dict[str, Interval]] = {}
        for row in summary.table.to_dict("records"):
            group = f" {row['group']}".rstrip()
            figures = {f"{name}{group}": row[name] for name in summary.benchmark.metrics}
            rows.setdefault((row["task"], row["model"]), {}).update(figures)
        if summary.benchmark.name == "reform":
            rows = {key: {"average": it} for key, it in averages(summary.models).items()}
        asked = ", ".join(sorted({name for run in parts for name in run.tasks}))
        judges = ", ".join(sorted({it.judge for run in parts for it in run.scorings}))
        for (task, model), figures in rows.items():
            where = f"measured here: {task or asked}; by {judges}"
            yield {"model": model, "figures": where, **figures}

"""Tables of measures with their intervals, as commands show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.tables import Sheet
from lmms_rpts.base.escaping import shorten
from lmms_rpts.stats.figures import figure, interval
from lmms_rpts.stats.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd

_TITLES = {
    "group": "kind of step",
    "mae": "MAE",
    "mae_from_first": "MAE - first",
    "spearman": "Spearman",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Tables of measures, with sentences before and after them.

    ``tables``: rows by title; a cell is a text, a number, an `Interval` or None.
    """

    lines: tuple[str, ...]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Measured: {shorten(', '.join(self.tables), 120)}>"

    def sheets(self) -> list[Sheet]:
        """The tables as texts."""
        return [measures_sheet(title, rows) for title, rows in self.tables.items()]

    def frame(self) -> pd.DataFrame:
        """The rows of all tables; an estimate M has the columns ``M``, ``M_low``, ``M_high``."""
        import pandas as pd

        rows = [
            _columns({"table": title, **row}) for title, rows in self.tables.items() for row in rows
        ]
        frame: pd.DataFrame = pd.DataFrame(rows)
        return frame if len(self.tables) > 1 else frame.drop(columns="table")


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which each estimate has three columns."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        cells[name] = cell
        if isinstance(cell, Interval):
            cells |= {name: cell.value, f"{name}_low": cell.low, f"{name}_high": cell.high}
    return {name: math.nan if cell is None else cell for name, cell in cells.items()}


def measures_sheet(title: str, rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """A table of measures, see `Measured`; at least the first column has texts."""
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    texts = [name for name in names if isinstance(rows[0].get(name), str)]
    heads = [_TITLES.get(name, name.replace("_", " ")) for name in names]
    cells = [[_cell(f"{row[texts[0]]} {name}", row.get(name)) for name in names] for row in rows]
    return Sheet(title, heads, len(texts), [cells])


def _cell(name: str, cell: Any) -> str:
    """A cell; ``name``: of its row and column, which say whether it is a difference."""
    if isinstance(cell, str | int):
        return f"{cell:,}" if isinstance(cell, int) else cell
    if isinstance(cell, tuple):
        return " ".join(f"{each:.2f}" for each in cell)
    differences = (" bias", "_from_first", " difference")
    sign = "+" * (name.startswith("fitted - default ") or name.endswith(differences))
    form = ".4f" if name.endswith(" p") else f"{sign}.3f"
    return figure(cell, form) if isinstance(cell, float) else interval(cell, form, f"{sign}.2f")

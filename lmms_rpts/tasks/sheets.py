"""Tables of texts that show the grades of a benchmark, before anybody draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_rpts.escaping import columns, printable
from lmms_rpts.runs.rounds import Figure

NONE = "–"
"""What stands for a number that isn't there."""

NOT_GIVEN = "(not given)"
"""What stands for a group of which the data don't say what it is."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, which may be anyone's.

    Attributes:
        heads: of its columns.
        texts: how many of these hold texts; the others, to their right, hold numbers.
        sections: rows that belong together.
    """

    title: str
    heads: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class GradePage:
    """What ``lmms-rpts grades`` shows of runs of a benchmark.

    Attributes:
        summary: a dataclass with all numbers, and a method ``frame`` that gives them as a table.
        sheets: the tables.
        explained: what the columns mean.
        counts: a sentence on each model.
        warnings: why some numbers can't be compared, or leave something out.
        lists: single answers to look at, by the option that asks for them: functions of how many,
            which give None where there is nothing to list.
        trees: tables of a tree, down to a level; None where there is none.
    """

    summary: Any
    sheets: Sequence[Sheet]
    explained: str
    counts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    lists: Mapping[str, Callable[[int], Sheet | None]] = field(default_factory=dict)
    trees: Callable[[int], Iterable[Sheet]] | None = None


def figure_text(figure: Figure) -> str:
    """A share with its spread."""
    if figure.value is None:
        return NONE
    if figure.sd is not None:
        return f"{figure.value:.3f} ± {figure.sd:.3f}"
    if figure.low is not None and figure.high is not None:
        return f"{figure.value:.3f} [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.3f}"


def token_text(figure: Figure) -> str:
    """A number of tokens with its deviation."""
    if figure.value is None:
        return NONE
    spread = "" if figure.sd is None else f" ± {figure.sd:,.0f}"
    return f"{figure.value:,.0f}{spread}"


def end_of(answer: str, width: int = 60) -> str:
    """The end of an answer, where what is graded stands; ``width`` columns at most."""
    plain = printable(answer)
    if columns(plain) <= width:
        return plain
    end = plain[-width:]
    while columns(end) >= width:
        end = end[1:]
    return f"…{end}"

"""A table of texts, before it is rendered for a terminal, a file or a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class Best(str):
    """The text of a cell with the best value of its column."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, which are untrusted.

    Attributes:
        title: empty: none is shown.
        heads: headings of the columns.
        texts: number of text columns; the others, to their right, have numbers.
        sections: rows that belong together.
    """

    title: str
    heads: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]

    @staticmethod
    def is_best(cell: str) -> bool:
        """Whether a cell is emphasized."""
        return isinstance(cell, Best)

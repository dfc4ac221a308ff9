"""Notation of a manually worked grading case."""

from __future__ import annotations

from typing import NamedTuple

YES = "correct"
NO = "incorrect"
OPEN = "undecided"
# Abstaining is acceptable here; the opposite grade is not.
YES_OR_OPEN = frozenset({YES, OPEN})
NO_OR_OPEN = frozenset({NO, OPEN})
ANY = frozenset({YES, NO, OPEN})


class Case(NamedTuple):
    """A response to a question, with the outcome, or outcomes, that are correct for it."""

    name: str
    question: str
    reference: str
    response: str
    outcome: str | frozenset[str]

    def allows(self, outcome: str) -> bool:
        if isinstance(self.outcome, str):
            return outcome == self.outcome
        return outcome in self.outcome

    @property
    def expected(self) -> str:
        if isinstance(self.outcome, str):
            return self.outcome
        return " or ".join(sorted(self.outcome))


Row = tuple[str, str | frozenset[str], str]


def asked(prefix: str, question: str, reference: str, *rows: Row) -> list[Case]:
    """Cases about one question; a row is (name, outcome, response)."""
    return [
        Case(f"{prefix}-{name}", question, reference, response, outcome)
        for name, outcome, response in rows
    ]


def say(*lines: str) -> str:
    """Lines of a text, which may be raw strings."""
    return "\n".join(lines)

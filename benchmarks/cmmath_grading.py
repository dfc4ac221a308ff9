"""Agreement of CMMaTH's rules with graded answers, share of undecided answers, and speed.

The answers are real ones with the publishers' labels, and others that were graded manually
(reference/cmmath/graded.jsonl). Answers with debatable labels are counted separately.

    python -m benchmarks.cmmath_grading [--disagreements] [--undecided]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lmms_rpts.grading.formulas import parse
from lmms_rpts.grading.grader import Grade
from lmms_rpts.tasks.cmmath.scorer import grade_by_rules as grade
from tests.support.reference import find_reference

ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Graded:
    """An answer, its label, and its grade by the rules."""

    row: dict[str, Any]
    grade: Grade

    @property
    def right(self) -> bool:
        """Whether its label says that it is right."""
        return bool(self.row["label"] == "Yes")

    @property
    def decided(self) -> bool:
        """Whether the rules decided."""
        return self.grade.outcome != "undecided"

    @property
    def agrees(self) -> bool:
        """Whether the grade by the rules equals the label."""
        return self.decided and (self.grade.outcome == "correct") == self.right


def grade_all(path: Path) -> list[Graded]:
    """The answers in a file of graded answers, with their grades by the rules."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Graded(row, grade(row["question"], row["reference"], row["response"])) for row in rows]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--disagreements", action="store_true", help="show disagreements")
    parser.add_argument("--undecided", action="store_true", help="show undecided answers")
    chosen = parser.parse_args()
    graded = grade_all(find_reference("cmmath", "graded.jsonl"))
    console = Console(width=120)
    console.print(_table([each for each in graded if not each.row["debatable"]]))
    debatable = [each for each in graded if each.row["debatable"]]
    console.print(
        f"Debatable labels, not in the table: {len(debatable)}; the rules agree with "
        f"{sum(each.agrees for each in debatable)} of them."
    )
    console.print(_speed(graded))
    if chosen.disagreements:
        _show(console, [each for each in graded if each.decided and not each.agrees])
    if chosen.undecided:
        _show(console, [each for each in graded if not each.decided])


def _table(graded: Sequence[Graded]) -> Table:
    table = Table("type", "answers", "undecided", "agreement", "precision", "recall", "right")
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("all", *_cells(graded))
    return table


def _cells(graded: Sequence[Graded]) -> list[str]:
    """Precision and recall of "correct"; recall counts undecided right answers as missed."""
    said = [each for each in graded if each.grade.outcome == "correct"]
    right = [each for each in graded if each.right]
    return [
        str(len(graded)),
        _share(graded, lambda each: not each.decided),
        _share([each for each in graded if each.decided], lambda each: each.agrees),
        _share(said, lambda each: each.right),
        _share(right, lambda each: each.grade.outcome == "correct"),
        str(len(right)),
    ]


def _share(some: Sequence[Graded], holds: Callable[[Graded], bool]) -> str:
    return f"{sum(map(holds, some)) / len(some):.1%}" if some else "-"


def _speed(graded: Sequence[Graded]) -> str:
    """Grades per second of processor time, and the slowest grade."""
    slowest, total = 0.0, 0.0
    for _ in range(ROUNDS):
        parse.cache_clear()  # as for a new answer
        for each in graded:
            row = each.row
            start = time.process_time()
            grade(row["question"], row["reference"], row["response"])
            taken = time.process_time() - start
            slowest, total = max(slowest, taken), total + taken
    rate = ROUNDS * len(graded) / total
    longest = f"the slowest took {1000 * slowest:.1f} ms"
    return f"{rate:,.0f} grades per second of processor time; {longest}."


def _show(console: Console, graded: Sequence[Graded]) -> None:
    for each in graded:
        found, row = each.grade, each.row
        console.print(
            f"{row['label']} but {found.outcome} ({escape(found.rule)})\n"
            f"  reference {escape(repr(row['reference']))}\n"
            f"  answer    {escape(repr(found.answer))}"
            + ("\n  debatable label" if row["debatable"] else "")
        )


if __name__ == "__main__":
    main()

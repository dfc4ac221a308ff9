"""The grading corpus: the tables of four former graders, graded by one core.

Per former table right-or-not agrees in 99% of the rows that both decide, at most 5% of the rows are
newly undecided, and no answer that is wrong is graded correct.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache

import pytest

from tests.grading.corpus import DECIDED, GRADERS, OUTCOMES, Row, corpus, outcome, table_of


@cache
def graded() -> tuple[tuple[Row, str], ...]:
    return tuple((row, outcome(row)) for row in corpus())


def shown(rows: list[tuple[Row, str]]) -> str:
    return "\n".join(
        f"{row['origin']} {row.get('note', '')}: gold {row['gold']!a}, {row['response'][:200]!a}: "
        f"{found}, before {row['today']}, expected {row['expected']}"
        for row, found in rows
    )


def test_no_wrong_answer_is_graded_correct() -> None:
    wrong = [
        (row, found)
        for row, found in graded()
        if found == "correct" and "correct" not in row["expected"]
    ]
    assert not wrong, f"{len(wrong)} rows\n{shown(wrong)}"


def test_every_row_is_graded_as_recorded() -> None:
    recorded = "".join(OUTCOMES.read_text(encoding="utf-8").split())
    pairs = zip(graded(), recorded, strict=True)
    changed = [each for each, letter in pairs if each[1][0] != letter]
    assert not changed, f"{len(changed)} rows; see tests/grading/corpus.py\n{shown(changed)}"


def by_table(chosen: Callable[[Row, str, str], bool]) -> dict[str, list[tuple[Row, str]]]:
    """The rows, by table, for which a condition on the grades before and now holds."""
    rows = defaultdict(list)
    for row, found in graded():
        table = table_of(row)
        before = row["today"].get(GRADERS.get(table, table), "undecided")
        if table == "rome":
            before = "undecided" if before == "incorrect" else "correct"
        if chosen(row, before, found):
            rows[table].append((row, found))
    return rows


def test_right_or_not_is_as_before() -> None:
    both = by_table(lambda row, before, now: before in DECIDED and now in DECIDED)
    turned = by_table(
        lambda row, before, now: (
            before in DECIDED and now in DECIDED and before != now and now not in row["expected"]
        )
    )
    for table, rows in turned.items():
        assert len(rows) <= 0.01 * len(both[table]), shown(rows)


def test_few_rows_are_newly_undecided() -> None:
    everything = by_table(lambda row, before, now: True)
    undecided = by_table(
        lambda row, before, now: (
            now == "undecided" and before in DECIDED and (before in row["expected"])
        )
    )
    for table, rows in undecided.items():
        assert len(rows) <= 0.05 * len(everything[table]), shown(rows)


@pytest.mark.parametrize("kind", ["choice", "agree"])
def test_forms_that_several_graders_got_wrong(kind: str) -> None:
    rows = [each for each in graded() if each[0]["origin"].startswith(f"issue {kind}")]
    wrong = [each for each in rows if each[1] not in each[0]["expected"]]
    assert rows
    assert not wrong, shown(wrong)

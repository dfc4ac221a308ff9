"""The grading corpus: no answer that is wrong is graded correct."""

from __future__ import annotations

import pytest

from tests.grading.corpus import Row, corpus, outcome


def shown(rows: list[tuple[Row, str]]) -> str:
    return "\n".join(
        f"{row['origin']} {row.get('note', '')}: gold {row['gold']!a}, {row['response'][:200]!a}: "
        f"{found}, expected {row['expected']}"
        for row, found in rows
    )


def test_no_wrong_answer_is_graded_correct() -> None:
    graded = [(row, outcome(row)) for row in corpus()]
    wrong = [
        (row, found)
        for row, found in graded
        if found == "correct" and "correct" not in row["expected"]
    ]
    assert not wrong, f"{len(wrong)} rows\n{shown(wrong)}"


@pytest.mark.parametrize("kind", ["choice", "agree"])
def test_forms_that_several_graders_got_wrong(kind: str) -> None:
    rows = [row for row in corpus() if row["origin"].startswith(f"issue {kind}")]
    graded = [(row, outcome(row)) for row in rows]
    wrong = [each for each in graded if each[1] not in each[0]["expected"]]
    assert rows
    assert not wrong, shown(wrong)

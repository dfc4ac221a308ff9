"""Graded answers: no wrong one is correct, few right ones are incorrect or left undecided."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.grading.corpus import Faults, Row, corpus, faults_of, labelled, outcome
from tests.grading.mmmu_style import answers
from tests.support.reference import reference
from tests.support.tables import table


def check(found: Faults, *, incorrect: float, undecided: float) -> None:
    """No wrong answer is correct; at most these shares of the right ones are not."""
    for name, rows, most in (
        ("wrong but correct", found.wrong_correct, 0.0),
        ("right but incorrect", found.right_incorrect, incorrect * found.right),
        ("plainly right but undecided", found.right_undecided, undecided * found.plain),
    ):
        shown = [f"{row['kind']}, {row['gold']!a}: {row['response'][-150:]!a}" for row in rows]
        listed = "\n".join(shown[:40])
        assert len(rows) <= most, f"{len(rows)} {name}, at most {most:.0f}\n{listed}"


def rows_of(chosen: Callable[[Row], bool]) -> list[Row]:
    rows = [row for row in corpus() if chosen(row)]
    assert rows
    return rows


def test_rows_are_valid_and_differ() -> None:
    keys = [
        json.dumps([row.get(name) for name in ("kind", "question", "options", "gold", "response")])
        for row in corpus()
    ]
    assert len({*keys}) == len(keys)
    for row in corpus():
        assert row["expected"]
        assert {*row["expected"]} <= {"correct", "incorrect", "undecided"}
        assert not {"correct", "incorrect"} <= {*row["expected"]}, "a row says what is right"
        assert row["gold"] is not None or "correct" not in row["expected"]
        assert row["kind"] != "choice" or len(row.get("marks", "")) in (
            *(0, 26, len(row.get("options", ()))),
        )


def test_all_kinds_but_maths() -> None:
    rows = rows_of(lambda row: row["kind"] != "maths")
    check(faults_of(rows), incorrect=0.01, undecided=0.12)


def test_maths() -> None:
    rows = rows_of(lambda row: row["kind"] == "maths")
    check(faults_of(rows), incorrect=0.01, undecided=1.0)


@table("row", *corpus("cases.jsonl"))
def test_values_worked_by_hand(row: Row) -> None:
    """Numbers, units, formulas, lists, ANLS and relaxed accuracy: one rule a row, graded so."""
    assert outcome(row) in row["expected"]


def test_answers_to_problems_of_cmmath() -> None:
    """Real answers with the publishers' labels or our own, and plain ones of the corpus."""
    rows = rows_of(lambda row: row["origin"] == "cmmath plain")
    rows += labelled(reference("cmmath", "graded.jsonl"))
    found = faults_of(rows)
    check(found, incorrect=0.02, undecided=0.3)
    assert found.undecided <= 0.3 * len(rows), f"{found.undecided} of {len(rows)} undecided"


def test_kinds_of_faults_that_users_reported() -> None:
    lines = reference("grading", "failures.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line.replace('"kind": "cmmath"', '"kind": "maths"')) for line in lines]
    check(faults_of(rows), incorrect=0.0, undecided=1.0)


def test_answers_in_the_style_of_mmmu_pro() -> None:
    rows = list(answers())
    assert len(rows) >= 600
    found = faults_of(rows)
    check(found, incorrect=0.0, undecided=0.07)
    assert found.undecided <= 0.07 * len(rows), f"{found.undecided} of {len(rows)} undecided"


def test_no_row_is_copied_from_the_publishers() -> None:
    def squeezed(text: str) -> str:
        return re.sub(r"[\s$]+", "", text)

    lines = reference("cmmath", "graded.jsonl").read_text(encoding="utf-8").splitlines()
    others = [*map(json.loads, lines)]
    others += json.loads(reference("cmmath", "sample.json").read_text(encoding="utf-8"))
    known = {squeezed(row[key]) for row in others for key in ("question", "response") if key in row}
    for row in rows_of(lambda row: row["kind"] == "maths"):
        long = row["response"] if len(row["response"]) > 20 else ""
        for text in filter(None, (row.get("question"), long)):
            assert squeezed(text) not in known

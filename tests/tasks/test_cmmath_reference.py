"""The rules against graded answers: real ones with the publishers' labels, and our own."""

from __future__ import annotations

from benchmarks.cmmath_grading import grade_all
from tests.support.reference import reference

LEAST_AGREEMENT = 0.98
MOST_UNDECIDED = 0.05
MOST_UNDECIDED_OF_A_SOURCE = 0.08


def test_the_rules_agree_with_graded_answers_and_abstain_seldom() -> None:
    graded = grade_all(reference("cmmath", "graded.jsonl"))
    sure = [each for each in graded if not each.row["debatable"]]
    decided = [each for each in sure if each.decided]
    wrong = [each.grade for each in decided if not each.agrees]
    assert len(decided) - len(wrong) >= LEAST_AGREEMENT * len(decided), wrong
    assert len(sure) - len(decided) <= MOST_UNDECIDED * len(sure)
    for source in {each.row["source"] for each in sure}:
        some = [each.decided for each in sure if each.row["source"] == source]
        assert some.count(False) <= MOST_UNDECIDED_OF_A_SOURCE * len(some), source

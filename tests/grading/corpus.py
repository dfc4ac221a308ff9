"""The grading corpus (README.md), and the outcome of a row."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lmms_rpts.grading.grader import Outcome, grade

Row = dict[str, Any]


@cache
def corpus(name: str = "corpus.jsonl") -> tuple[Row, ...]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return tuple(map(json.loads, text.split("\n")[:-1]))


def labelled(path: Path) -> list[Row]:
    """Real answers to problems of CMMaTH with undisputed labels, as rows of the corpus."""
    answers = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        {
            "kind": "maths",
            "question": answer["question"],
            "gold": answer["reference"],
            "response": answer["response"],
            "expected": ["correct" if answer["label"] == "Yes" else "incorrect"],
        }
        for answer in answers
        if not answer["debatable"]
    ]


def outcome(row: Row) -> Outcome:
    """The outcome of a row; without a gold answer, the best one of any gold answer."""
    options, marks = row.get("options", ()), row.get("marks", "")
    golds = [row["gold"]]
    if row["gold"] is None:
        letters = marks or string.ascii_uppercase[: len(options)]
        golds = ["agree", "disagree"] if row["kind"] == "agree" else list(letters)
    outcomes: list[Outcome] = [
        grade(
            row["response"],
            gold,
            kind=row["kind"],
            options=options,
            marks=tuple(marks),
            tolerance=row.get("tolerance", 0.0),
            question=row.get("question", ""),
        ).outcome
        for gold in golds
    ]
    return max(outcomes, key=("incorrect", "undecided", "correct").index)


@dataclass(frozen=True)
class Faults:
    """What was graded otherwise than is right, and how many answers there are.

    ``plain`` are right answers in a plain form; only these should be decided.
    """

    wrong_correct: list[Row]
    right_incorrect: list[Row]
    right_undecided: list[Row]
    right: int
    plain: int
    undecided: int


def faults_of(rows: Sequence[Row]) -> Faults:
    graded = [(row, outcome(row)) for row in rows]
    right = [(row, said) for row, said in graded if "correct" in row["expected"]]
    plain = [(row, said) for row, said in right if row["expected"] == ["correct"]]
    return Faults(
        [row for row, said in graded if said == "correct" and "correct" not in row["expected"]],
        [row for row, said in right if said == "incorrect"],
        [row for row, said in plain if said == "undecided"],
        right=len(right),
        plain=len(plain),
        undecided=sum(said == "undecided" for _, said in graded),
    )

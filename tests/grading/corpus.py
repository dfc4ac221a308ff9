"""The grading corpus, and the outcome of a row by the grader of its benchmark."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from lmms_rpts.grading import grade
from lmms_rpts.tasks.cmmath.scorer import grade_by_rules as grade_cmmath
from lmms_rpts.tasks.reform_eval.strict import chosen_option
from lmms_rpts.tasks.rome.strict import grade_strictly

Row = dict[str, Any]


@cache
def corpus() -> tuple[Row, ...]:
    text = Path(__file__).with_name("corpus.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def outcome(row: Row) -> str:
    """The outcome of a row by the grader of its benchmark."""
    benchmark, gold, response = row.get("benchmark", {}), row["gold"], row["response"]
    if benchmark.get("task") == "cmmath":
        return grade_cmmath(row.get("question", ""), gold, response).outcome
    if "evaluator" in benchmark:
        score = grade_strictly(benchmark["evaluator"], benchmark["kwargs"], response)
        # A strict score of 0 may mean wrong or undecided.
        return "correct" if score == (row.get("score") or 1.0) else "undecided"
    if "answers" in benchmark:
        return grade(response, benchmark["answers"], kind="text").outcome
    options = row.get("options", ())
    if benchmark.get("task") == "reform_eval":
        marks = row.get("marks") or [chr(ord("A") + at) for at in range(len(options))]
        index, _ = chosen_option(response, options, marks)
        if index is None:
            return "undecided"
        return "correct" if gold in (marks[index], None) else "incorrect"
    if gold is not None:
        kind, tolerance = row["kind"], row.get("tolerance", 0.0)
        return grade(response, gold, kind=kind, options=options, tolerance=tolerance).outcome
    stances = [grade(response, each, kind="agree").outcome for each in ("agree", "disagree")]
    return max(stances, key=("incorrect", "undecided", "correct").index)

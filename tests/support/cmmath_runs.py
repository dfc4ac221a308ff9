"""Runs of CMMaTH in lmms-eval's format, made without it: records with given grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.cmmath import make_doc
from tests.support.runs import verdict, write_graded_run

JUDGE = "openai:oracle"


def make_cmmath_record(
    rule: str | None = "correct",
    judged: float | None = None,
    *,
    mistake: str | None = None,
    why: str = "number",
    answer: str = "答案：12",
    **instance: Any,
) -> dict[str, Any]:
    """One record of ``cmmath_grade``.

    Args:
        rule: the rules' grade: correct, incorrect or undecided; None: there is no response.
        judged: the judge's grade, which takes precedence.
        mistake: its word for the kind of mistake.
        why: the rule that decided, or why none could.
        instance: fields of the problem that replace the usual ones.
    """
    ruled = {"correct": 1.0, "incorrect": 0.0}.get(rule or "")
    score = ruled if judged is None else judged
    undecided = f"the rules leave it undecided: {why}"
    grades: dict[str, Any] = {}
    if rule is not None:
        grades["rule"] = {"score": ruled, "answer": "12", "rule": why}
        grades["rule"] |= {"reason": undecided} if ruled is None else {}
    if judged is not None:
        grades["judge"] = {"score": judged, "verdict": verdict("compare", "<Yes>", None)}
    finding = {"value": mistake, "verdict": verdict("mistake", "so it is", None)}
    problem = {"id": "1", "question": "如图，求面积．", "reference": "$$12$$", "analysis": ""}
    years = {"grade_id": 9, "grade_group": 2, "knowledge_point": "几何(三角形(全等))"}
    reason = undecided if rule else "there is no response"
    return {
        "schema": "lmms_rpts.cmmath",
        "schema_version": 1,
        "outcome": "unscored" if score is None else "scored",
        "reason": reason if score is None else None,
        "score": score,
        "grader": None if score is None else "rule" if judged is None else "judge",
        "grades": grades,
        "findings": {"mistake": finding} if mistake else {},
        "answer": answer,
        "source": "response",
        "instance": make_doc(**{**problem, **years, "img_path": ["1_img.png"], **instance}),
        "settings": {
            "grader": "rule" if judged is None else "both",
            "judge": JUDGE if mistake or judged is not None else None,
            "prompts": "1",
            "prompt_version": "1",
            "rules_version": "6",
        },
    }


def write_cmmath_run(
    folder: Path, records: Mapping[str, Sequence[Any]], **options: Any
) -> list[Path]:
    """Writes records by task, as ``write_graded_run``; the ids are "1", "2", ... in each task."""
    return write_graded_run(folder, records, lambda task, at: {"id": f"{at + 1}"}, **options)

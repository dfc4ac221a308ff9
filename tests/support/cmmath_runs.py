"""Runs of CMMaTH in lmms-eval's format, made without it: records with given grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import verdict, write_graded_run

JUDGE = "openai:oracle"


def make_cmmath_record(
    rule: str | None = "correct",
    judged: float | None = None,
    *,
    failed: str | None = None,
    mistake: str | None = None,
    mistake_error: str | None = None,
    why: str = "number",
    answer: str = "答案：12",
    settings: Mapping[str, Any] | None = None,
    **instance: Any,
) -> dict[str, Any]:
    """One record of ``cmmath_grade``.

    Args:
        rule: the rules' grade: correct, incorrect or undecided; None: there is no response.
        judged: the judge's grade, which takes precedence.
        failed: the error of the judge, which then has no grade.
        why: the rule that decided, or why none could.
        instance: fields of the problem that replace the usual ones.
    """
    asked = judged is not None or failed is not None
    by_rule = {"correct": 1.0, "incorrect": 0.0}.get(rule or "")
    score = judged if asked else by_rule
    explained = mistake is not None or mistake_error is not None
    undecided = f"the rules leave it undecided: {why}"
    grades: dict[str, Any] = {}
    if rule is not None:
        grades["rule"] = {"score": by_rule, "answer": "12", "rule": why}
        grades["rule"] |= {"reason": undecided} if by_rule is None else {}
    if asked:
        said = verdict("compare", None if failed else "<Yes>", failed)
        grades["judge"] = {"score": judged, "verdict": said}
    said = verdict("mistake", "so it is", mistake_error)
    return {
        "schema": "lmms_rpts.cmmath",
        "schema_version": 1,
        "outcome": "unscored" if score is None else "scored",
        "reason": (failed or (undecided if rule else "there is no response"))
        if score is None
        else None,
        "score": score,
        "grader": None if score is None else "judge" if asked else "rule",
        "grades": grades,
        "findings": {"mistake": {"value": mistake, "verdict": said}} if explained else {},
        "answer": answer,
        "source": "response",
        "instance": {
            "id": "1",
            "question": "如图，求面积．",
            "reference": "$$12$$",
            "form": "blank",
            "analysis": "",
            "ocr": "",
            "caption": None,
            "category": "Plane Geometry",
            "grade_id": 9,
            "grade_group": 2,
            "knowledge_point": "几何(三角形(全等))",
            "img_path": ["1_img.png"],
        }
        | instance,
        "settings": {
            "grader": "both" if asked else "rule",
            "judge": JUDGE if asked or explained else None,
            "prompts": "1",
            "prompt_version": "1",
            "rules_version": "6",
        }
        | dict(settings or {}),
    }


def write_cmmath_run(
    folder: Path, records: Mapping[str, Sequence[Any]], **options: Any
) -> list[Path]:
    """Writes records by task, as ``write_graded_run``; the ids are "1", "2", ... in each task."""
    return write_graded_run(folder, records, lambda task, at: {"id": f"{at + 1}"}, **options)

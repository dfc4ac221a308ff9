"""Runs of CMMaTH in lmms-eval's format, made without it: records with given grades."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import model_folder

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
    answer_type: str = "number",
    settings: Mapping[str, Any] | None = None,
    **instance: Any,
) -> dict[str, Any]:
    """One record of ``cmmath_grade``.

    Args:
        rule: the rules' grade; None: there is no response.
        judged: the judge's grade, which takes precedence.
        failed: the error of the judge, which then has no grade.
        why: the rule that decided, or why none could.
        instance: fields of the problem that replace the usual ones.
    """
    asked = judged is not None or failed is not None
    by_rule = {"correct": 1.0, "incorrect": 0.0}.get(rule or "")
    score = judged if asked else by_rule
    reason = "there is no response" if rule is None else failed
    reason = reason or f"the rules leave it undecided: {why}"
    told = mistake is not None or mistake_error is not None
    return {
        "schema": "lmms_rpts.cmmath",
        "schema_version": 1,
        "outcome": "unscored" if score is None else "scored",
        "reason": reason if score is None else None,
        "score": score,
        "grader": None if score is None else "judge" if asked else "rule",
        "grades": {
            "rule": None if rule is None else {"outcome": rule, "answer": "12", "rule": why},
            "judge": {"score": judged, "reply": None if failed else "<Yes>", "error": failed}
            if asked
            else None,
        },
        "answer_type": answer_type,
        "answer": answer,
        "source": "response",
        "mistake": {"kind": mistake, "reply": "so it is", "error": mistake_error} if told else None,
        "instance": {
            "id": "1",
            "question": "如图，求面积．",
            "reference": "$$12$$",
            "form": "blank",
            "category": "Plane Geometry",
            "grade_id": 9,
            "grade_group": 2,
            "knowledge_point": "几何(三角形(全等))",
            "images": ["1_img.png"],
        }
        | instance,
        "settings": {
            "grader": "both" if asked else "rule",
            "mistakes": told,
            "judge": JUDGE if asked or told else None,
            "prompt_version": "1",
            "rules_version": "5",
        }
        | dict(settings or {}),
    }


def write_cmmath_run(
    folder: Path,
    records: Mapping[str, Sequence[Any]],
    *,
    model_args: str = "pretrained=lab/model-a",
    date: str = "20260102_030405",
    tokens: int | None = None,
) -> list[Path]:
    """Writes records by task (each a record, or a list of several responses) as lmms-eval does.

    The problems have the ids "1", "2", ... in each task.

    Returns:
        The samples files; the results file is in the same folder.
    """
    folder = model_folder(folder, model_args)
    files = []
    for task, found in records.items():
        files.append(folder / f"{date}_samples_{task}.jsonl")
        rows = [_row(at, each, tokens) for at, each in enumerate(found)]
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = {"model": "qwen2_5_vl", "model_args": model_args}
    results = {"results": {}, "model_source": "qwen2_5_vl", "config": config}
    (folder / f"{date}_results.json").write_text(json.dumps(results), encoding="utf-8")
    return files


def _row(doc_id: int, found: Any, tokens: int | None) -> dict[str, Any]:
    listed = found if isinstance(found, list) else [found]
    placed = [each | {"instance": each["instance"] | {"id": f"{doc_id + 1}"}} for each in listed]
    written = [json.dumps(each, ensure_ascii=False) for each in placed]
    return {
        "doc_id": doc_id,
        "target": placed[0]["instance"]["reference"],
        "resps": [each["answer"] for each in placed],
        "filtered_resps": written if isinstance(found, list) else written[0],
        "token_counts": [None if tokens is None else {"output_tokens": tokens}],
        "doc_hash": "0" * 64,
        "accuracy": placed[0]["score"],
        "input": "如图 ...",
    }

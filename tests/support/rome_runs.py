"""Runs of ROME in lmms-eval's format, made without it: records with given grades."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.judging.prompts import Prompts
from tests.support.runs import model_folder


def make_rome_record(
    rule: float = 1.0,
    strict: float | None = None,
    llm: float | None = None,
    *,
    failed: str | None = None,
    consistent: bool | None = None,
    consistency_error: str | None = None,
    answer: str = "Final Answer: B",
    settings: Mapping[str, Any] | None = None,
    **instance: Any,
) -> dict[str, Any]:
    """One record of ``rome_answer``.

    Args:
        strict: as ``rule`` if None.
        llm: the judge's grade, which takes precedence.
        failed: the error of the judge, which then has no grade.
        instance: fields of the question that replace the usual ones.
    """
    asked = llm is not None or failed is not None
    judge = "openai:oracle" if asked else None
    graded = {"score": llm, "reply": None if failed else f"GRADE: {llm}", "error": failed}
    told = consistent is not None or consistency_error is not None
    checked = {"consistent": consistent, "reply": "so it is", "error": consistency_error}
    return {
        "schema": "lmms_rpts.rome",
        "schema_version": 1,
        "outcome": "scored" if failed is None else "unscored",
        "reason": failed,
        "score": None if failed else rule if llm is None else llm,
        "grader": "llm" if asked else "rule",
        "grades": {
            "rule": rule,
            "strict": rule if strict is None else strict,
            "llm": graded if asked else None,
        },
        "answer": answer,
        "source": "response",
        "consistency": checked if told else None,
        "instance": {
            "id": "question_academic_1",
            "subtask": "academic",
            "language": "en",
            "question": "Which square is the largest?",
            "reference": "B",
            "evaluator": "choices_matching",
            "evaluator_kwargs": {"label": "B"},
            "question_type": "multiple-choice",
            "image_type": "Expert",
            "image_subtype": "Science",
            "reasoning_type": "VL",
            "images": ["academic/1.png"],
        }
        | instance,
        "settings": {
            "grader": "llm" if asked else "rule",
            "judge": judge,
            "prompt_version": Prompts().version("grade"),
        }
        | dict(settings or {}),
    }


def write_rome_run(
    folder: Path,
    records: Mapping[str, Sequence[Any]],
    *,
    model_args: str = "pretrained=lab/model-a",
    date: str = "20260102_030405",
    tokens: int | None = None,
) -> list[Path]:
    """Writes records by subtask (each a record, or a list of several responses) as lmms-eval does.

    The questions have numbered ids, and the subtask of their key.

    Returns:
        The samples files; the results file is in the same folder.
    """
    folder = model_folder(folder, model_args)
    files = []
    for subtask, found in records.items():
        files.append(folder / f"{date}_samples_rome_{subtask}.jsonl")
        rows = [_row(subtask, at, each, tokens) for at, each in enumerate(found)]
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = {"model": "qwen2_5_vl", "model_args": model_args}
    results = {"results": {}, "model_source": "qwen2_5_vl", "config": config}
    (folder / f"{date}_results.json").write_text(json.dumps(results), encoding="utf-8")
    return files


def _row(subtask: str, doc_id: int, found: Any, tokens: int | None) -> dict[str, Any]:
    listed = found if isinstance(found, list) else [found]
    place = {"id": f"question_{subtask}_{doc_id}", "subtask": subtask}
    placed = [each | {"instance": each["instance"] | place} for each in listed]
    written = [json.dumps(each, ensure_ascii=False) for each in placed]
    return {
        "doc_id": doc_id,
        "target": placed[0]["instance"]["reference"],
        "resps": [each["answer"] for each in placed],
        "filtered_resps": written if isinstance(found, list) else written[0],
        "token_counts": [None if tokens is None else {"output_tokens": tokens}],
        "doc_hash": "0" * 64,
        "accuracy": placed[0]["score"],
        "input": "Which square ...",
    }

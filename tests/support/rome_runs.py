"""Runs of ROME in lmms-eval's format, made without it: records with given grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.judging.prompts import Prompts
from tests.support.runs import verdict, write_graded_run


def make_rome_record(
    rule: float = 1.0,
    strict: float | str | None = None,
    llm: float | None = None,
    *,
    failed: str | None = None,
    consistent: bool | None = None,
    consistency_error: str | None = None,
    answer: str = "Final Answer: B",
    **instance: Any,
) -> dict[str, Any]:
    """One record of ``rome_answer``.

    Args:
        strict: as ``rule`` if None; or ``undecided``.
        llm: the judge's grade, which takes precedence.
        failed: the error of the judge, which then has no grade.
        instance: fields of the question that replace the usual ones.
    """
    asked = llm is not None or failed is not None
    strict = rule if strict is None else strict
    grades: dict[str, Any] = {
        "rule": {"score": rule, "answer": answer.rpartition(": ")[2], "rule": "choices_matching"},
        "strict": {"score": None if strict == "undecided" else strict, "rule": "choices_matching"},
    }
    if asked:
        reply = None if failed else f"GRADE: {llm}"
        grades["llm"] = {"score": llm, "verdict": verdict("grade", reply, failed)}
    findings: dict[str, Any] = {}
    if consistent is not None or consistency_error is not None:
        word = None if consistent is None else "consistent" if consistent else "inconsistent"
        said = verdict("consistency", "so it is", consistency_error)
        findings["consistency"] = {"value": word, "verdict": said}
    return {
        "schema": "lmms_rpts.rome",
        "schema_version": 1,
        "outcome": "scored" if failed is None else "unscored",
        "reason": failed,
        "score": None if failed else rule if llm is None else llm,
        "grader": None if failed else "llm" if asked else "rule",
        "grades": grades,
        "findings": findings,
        "answer": answer,
        "source": "response",
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
            "img_path": ["academic/1.png"],
        }
        | instance,
        "settings": {
            "grader": "llm" if asked else "rule",
            "judge": "openai:oracle" if asked else None,
            "prompt_version": Prompts().version("grade"),
        },
    }


def write_rome_run(
    folder: Path, records: Mapping[str, Sequence[Any]], **options: Any
) -> list[Path]:
    """Writes records by subtask, as ``write_graded_run``; the ids are numbered."""

    def place(task: str, at: int) -> dict[str, str]:
        subtask = task.removeprefix("rome_")
        return {"id": f"question_{subtask}_{at}", "subtask": subtask}

    by_task = {f"rome_{subtask}": found for subtask, found in records.items()}
    return write_graded_run(folder, by_task, place, **options)

"""Summary of runs of ROME: models side by side, with breakdowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.runs.rounds import NONE
from lmms_rpts.tasks.grade_types import Figures, Grading, Listing
from lmms_rpts.tasks.graded import GradeSummary, summarize_grades
from lmms_rpts.tasks.groups import by_field
from lmms_rpts.tasks.results import Metrics
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.display import DISPLAY
from lmms_rpts.tasks.rome.record import RomeRecord, RomeRun
from lmms_rpts.tasks.rome.results import METRICS as _OF_DOCUMENTS
from lmms_rpts.tasks.sheets import end_of, metric_column

METRICS: Metrics = {name: of for name, of in _OF_DOCUMENTS.items() if name != "grader_coverage"}
"""The value of a record in each metric; None if it has none."""


def summarize_rome(runs: Sequence[RomeRun], by: Sequence[str] = ()) -> GradeSummary:
    """Compare runs of ROME: see ``summarize_grades``.

    Accuracy is the mean over questions, as on the publishers' leaderboard.

    Args:
        by: names of ``GRADING.breakdowns``; the breakdown by subtask is always included.

    Raises:
        RunError: if there is no run, or no such breakdown.
    """
    return summarize_grades(GRADING, runs, by)


def _sentence(figures: Figures) -> str:
    counts, judged = figures.counts, ""
    if counts["judged"]:
        judged = f"; published rules and the judge on {counts['rule_llm']} of {counts['judged']}"
    return (
        f"{figures.model}: {figures.rounds} round{'s' * (figures.rounds > 1)}. Of "
        f"{figures.responses} responses, published and strict rules disagree on "
        f"{counts['rule_strict']}{judged}."
    )


def _disagreement(run: str, record: RomeRecord) -> dict[str, Any]:
    return {
        "run": run,
        "subtask": record.instance.subtask,
        "id": record.instance.id,
        "repeat": record.repeat,
        "evaluator": record.instance.evaluator,
        "reference": record.instance.reference,
        "answer": record.answer,
        "rule": record.grades.rule,
        "strict": record.grades.strict,
        "llm": record.llm,
    }


def _cells(entry: Mapping[str, Any]) -> dict[str, str]:
    grades = {"rule": "rule", "strict": "strict", "LLM": "llm"}
    return {
        "run": entry["run"],
        "question": entry["id"],
        "evaluator": entry["evaluator"],
        "reference": entry["reference"],
        "answer": end_of(entry["answer"]),
        **{
            head: NONE if entry[name] is None else f"{entry[name]:g}"
            for head, name in grades.items()
        },
    }


_INSTANCE = ("subtask", "image_type", "image_subtype", "reasoning_type", "question_type")

GRADING = Grading(
    title="ROME",
    metrics=METRICS,
    breakdowns={
        name: by_field(f"instance.{name}") for name in (*_INSTANCE, "evaluator", "language")
    },
    first="subtask",
    places=SUBTASKS,
    settings=("grader", "model", "prompt_version"),
    counts={
        "judged": lambda record: record.llm is not None,
        "rule_strict": lambda record: record.disputed_by_strict,
        "rule_llm": lambda record: record.disputed_by_llm,
    },
    asked={"whether they are consistent": lambda each: each.consistency and each.consistency.error},
    columns=(
        metric_column("accuracy"),
        metric_column("accuracy_strict", "strict"),
        metric_column("thinking_answer_consistency", "consistency"),
    ),
    explained="n: questions. accuracy: by the grader that counts. strict: by strict rules. "
    "consistency: share of answers that agree with the thinking. tokens: per response. [ ]: 95% "
    "interval over questions, of one round (exact where all grades are 0 or 1, Student's t with "
    "partial credit). ±: sample standard deviation over rounds.",
    sentence=_sentence,
    lists={
        "disagreements": Listing(
            what="answers on which graders disagree",
            wanted=lambda record: record.disputed_by_strict or record.disputed_by_llm,
            entry=_disagreement,
            cells=_cells,
            texts=5,
        )
    },
    display=DISPLAY,
)

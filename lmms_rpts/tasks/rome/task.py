"""The tasks of ROME."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lmms_rpts.base.settings import load_settings
from lmms_rpts.tasks import aggregation
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import needed_judge
from lmms_rpts.tasks.rome.questions import HUB, SUBTASKS, RomeSettings, load
from lmms_rpts.tasks.rome.scorer import METRICS, REQUEST_KINDS, RomeRecord, RomeScorer

TASKS: Mapping[str, str] = {f"rome_{each}": each for each in SUBTASKS}

process_results = partial(aggregation.process_results, RomeRecord, METRICS)


def check(task: str) -> None:
    """Check settings, questions and images of a task; downloads them if ROME_PATH is not set.

    Saved responses (``--model replay``) need no images.
    """
    rome, settings, subtask = RomeSettings.load(), load_settings(), TASKS[task]
    if rome.asks_judge(subtask):
        needed_judge(settings, rome, rome.questions)
    RomeScorer(settings)  # scorers check their settings when created
    load(subtask).check()


def scores_by_part(values: Mapping[str, Sequence[float | None]]) -> dict[str, Any]:
    """The scores of the parts of a benchmark as the ``evaluate.py`` of FlagEval writes them.

    ``final_score`` is the sum of the scores and the number of questions, ``accuracy`` in percent; a
    subtask has sum, number, mean, and the same again as its only part. Unscored answers are left
    out.
    """
    known = {part: [each for each in own if each is not None] for part, own in values.items()}
    sums = {part: [sum(own), len(own), sum(own) / len(own)] for part, own in known.items() if own}
    total, count = (sum(own[at] for own in sums.values()) for at in (0, 1))
    accuracy = round(100 * total / count, 2) if count else None
    parts = {part: [*own, {part: own}] for part, own in sums.items()}
    return {"final_score": [total, count], "accuracy": accuracy, **parts}


BENCHMARK = Benchmark(
    name="rome",
    title="ROME",
    folder=Path(__file__).parent,
    dataset=HUB.name,
    settings=RomeSettings,
    tasks=TASKS,
    groups={"rome": tuple(TASKS)},
    load=load,
    check=check,
    scorer=lambda task, settings, judge: RomeScorer(settings, judge),
    filters={"rome_answer": RomeScorer},
    record=RomeRecord,
    metrics=METRICS,
    judge=REQUEST_KINDS,
    by=(
        *("subtask", "image_type", "image_subtype", "reasoning_type", "question_type"),
        *("evaluator", "language"),
    ),
    columns=(
        *("accuracy", "accuracy_strict", "strict_coverage"),
        *("thinking_answer_consistency", "pretended_tools"),
    ),
    scores_by_part=scores_by_part,
    images=HUB.present,
)

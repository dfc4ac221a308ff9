"""The tasks of ROME."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.tasks import aggregation
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import needed_judge, raise_faults
from lmms_rpts.tasks.rome.questions import HUB_DATASET, SUBTASKS, RomeSettings, images_folder, load
from lmms_rpts.tasks.rome.scorer import METRICS, REQUEST_KINDS, RomeRecord, RomeScorer

TASKS: Mapping[str, str] = {f"rome_{each}": each for each in SUBTASKS}

process_results = partial(aggregation.process_results, RomeRecord, METRICS)


def check(task: str) -> None:
    """Check settings, questions and images of a task; downloads them if ROME_PATH is not set.

    Saved responses (``--model replay``) need no images.
    """
    rome, subtask = RomeSettings.load(), TASKS[task]
    settings = load_settings()
    if rome.asks_judge(subtask):
        needed_judge(settings, rome, rome.questions)
    RomeScorer(settings)  # scorers check their settings when created
    found = load(subtask)
    faults = [
        f"question {each.id!r}: it has no 'reference' that a judge could compare an answer with "
        f"(ROME_GRADER={rome.grader}; rules need none)"
        for each in found.questions
        if rome.grader_of(subtask) == "llm" and not each.reference.strip()
    ]
    if not found.questions:
        there = ",".join(name for name, part in TASKS.items() if load(part).questions)
        others = f"run --tasks {there} for the others" if there else "there are none at all"
        faults = [
            f"no questions of {subtask} (JSON or JSONL with question_id, question, evaluator; {others})"
        ]
    raise_faults(found.source.place, faults, found.source.remedy)
    found.check_images()


def _scorer(task: str, settings: Settings, judge: str | None) -> RomeScorer:
    scorer = RomeScorer(settings, judge)
    if not scorer.rome.asks_judge(TASKS[task]):
        scorer.judge = NO_JUDGE
    return scorer


BENCHMARK = Benchmark(
    name="rome",
    title="ROME",
    folder=Path(__file__).parent,
    dataset=HUB_DATASET,
    settings=RomeSettings,
    tasks=TASKS,
    groups={"rome": tuple(TASKS)},
    load=load,
    check=check,
    scorer=_scorer,
    filters={"rome_answer": RomeScorer},
    record=RomeRecord,
    metrics=METRICS,
    judge=REQUEST_KINDS,
    by=(
        *("subtask", "image_type", "image_subtype", "reasoning_type", "question_type"),
        *("evaluator", "language"),
    ),
    order=SUBTASKS,
    columns=(
        *("accuracy", "accuracy_strict", "strict_coverage"),
        *("thinking_answer_consistency", "pretended_tools"),
    ),
    images=images_folder,
)

"""The benchmark ReForm-Eval: 61 data sets, each sample presented in several wordings."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.base.settings import Settings
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.reform_eval.loading import (
    HUB_DATASET,
    check,
    images_folder,
    load,
    picture_of,
    tokens,
)
from lmms_rpts.tasks.reform_eval.predictions import find_published
from lmms_rpts.tasks.reform_eval.record import METRICS, ReformRecord
from lmms_rpts.tasks.reform_eval.scorer import LikelihoodScorer, OnlineScorer, ReformScorer
from lmms_rpts.tasks.reform_eval.sets import GROUPS, TASKS, ReformSettings


def _scorer(task: str, settings: Settings, judge: str | None) -> ReformScorer:
    kind = LikelihoodScorer if TASKS[task].method == "likelihood" else ReformScorer
    return kind(settings, judge)


BENCHMARK = Benchmark(
    name="reform",
    title="ReForm-Eval",
    folder=Path(__file__).parent,
    dataset=HUB_DATASET,
    settings=ReformSettings,
    tasks={task: task.removeprefix("reform_") for task in TASKS},
    groups=GROUPS,
    load=load,
    check=check,
    scorer=_scorer,
    filters={
        "reform_answer": ReformScorer,
        "reform_likelihood": LikelihoodScorer,
        "reform_online": OnlineScorer,
    },
    record=ReformRecord,
    metrics=METRICS,
    by=("dimension", "task", "kind", "method", "round", "duplicate"),
    by_task=True,
    order=tuple(name for name, task in TASKS.items() if not task.online),
    columns=(
        *("score", "accuracy_strict", "strict_coverage", "format_hit_rate"),
        *("instability", "cider", "bleu_4"),
    ),
    foreign=find_published,
    tokens=tokens,
    images=images_folder,
    picture=picture_of,
)

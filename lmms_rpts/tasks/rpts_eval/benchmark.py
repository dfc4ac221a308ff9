"""RPTS-Eval, and the demo."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.rpts_eval.data import RptsSettings

_HERE = "lmms_rpts.tasks.rpts_eval"


BENCHMARK = Benchmark(
    name="rpts",
    title="RPTS-Eval",
    folder=Path(__file__).parent,
    settings=RptsSettings,
    checks=f"{_HERE}.data:CHECKS",
    examine=f"{_HERE}.data:examine",
    filters={
        "rpts_transform": "lmms_rpts.filters.rpts:TransformFilter",
        "rpts_score": "lmms_rpts.filters.rpts:ScoreFilter",
        "rpts_aggregate": "lmms_rpts.filters.rpts:AggregateFilter",
    },
    record="lmms_rpts.scoring.record:RptsRecord",
    scorer=f"{_HERE}.data:rpts_scorer",
    grades=f"{_HERE}.summary:GRADING",
    scored={
        "rpts_eval": ("rpts_eval_en", "rpts_eval_zh"),
        "rpts_eval_en": (),
        "rpts_eval_en_free": (),
        "rpts_eval_zh": (),
        "rpts_eval_zh_free": (),
        "rpts_demo": (),
    },
    documents=f"{_HERE}.data:read_documents",
    images=f"{_HERE}.data:images_folder",
)

"""ReForm-Eval: 61 data sets, each sample presented in several wordings and graded by rules."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.reform_eval.settings import ReformSettings

_HERE = "lmms_rpts.tasks.reform_eval"

BENCHMARK = Benchmark(
    name="reform",
    title="ReForm-Eval",
    folder=Path(__file__).parent,
    built=f"{_HERE}.tasks:BUILT",
    settings=ReformSettings,
    checks=f"{_HERE}.dataset:CHECKS",
    examine=f"{_HERE}.dataset:examine",
    filters={
        "reform_answer": f"{_HERE}.filter:ReformAnswerFilter",
        "reform_likelihood": f"{_HERE}.filter:ReformLikelihoodFilter",
        "reform_online": f"{_HERE}.filter:ReformOnlineFilter",
    },
    record=f"{_HERE}.record:ReformRecord",
    grades=f"{_HERE}.summary:GRADING",
    foreign=f"{_HERE}.published_files:find_published",
    images=f"{_HERE}.dataset:images_folder",
    picture=f"{_HERE}.dataset:picture_of",
)

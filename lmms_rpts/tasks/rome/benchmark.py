"""ROME: visual questions in eight subtasks, graded by rules or by a judge."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.rome.request_kinds import REQUEST_KINDS
from lmms_rpts.tasks.rome.settings import RomeSettings

_HERE = "lmms_rpts.tasks.rome"
SUBTASKS = (
    "academic",
    "diagrams",
    "puzzles_games",
    "memes",
    "geo",
    "recognition",
    "multi",
    "spatial",
)
_TASKS = tuple(f"rome_{each}" for each in SUBTASKS)

BENCHMARK = Benchmark(
    name="rome",
    title="ROME",
    folder=Path(__file__).parent,
    settings=RomeSettings,
    checks=f"{_HERE}.checks:CHECKS",
    parts=f"{_HERE}.checks:parts",
    examine=f"{_HERE}.checks:examine",
    filters={"rome_answer": f"{_HERE}.filter:RomeAnswerFilter"},
    verifiers={"rome": f"{_HERE}.verifier:RomeVerifier"},
    record=f"{_HERE}.record:RomeRecord",
    grades=f"{_HERE}.summary:GRADING",
    request_kinds=REQUEST_KINDS,
    answered={"rome": _TASKS, **dict.fromkeys(_TASKS, ())},
    documents=f"{_HERE}.dataset:read_documents",
    images=f"{_HERE}.dataset:images_folder",
)

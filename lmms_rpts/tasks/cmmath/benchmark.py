"""CMMaTH: Chinese school mathematics with images; graded, or scored by RPTS."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.cmmath.request_kinds import REQUEST_KINDS
from lmms_rpts.tasks.cmmath.settings import CmmathSettings

_HERE = "lmms_rpts.tasks.cmmath"

BENCHMARK = Benchmark(
    name="cmmath",
    title="CMMaTH",
    folder=Path(__file__).parent,
    settings=CmmathSettings,
    checks=f"{_HERE}.checks:CHECKS",
    examine=f"{_HERE}.checks:examine",
    filters={
        "cmmath_grade": f"{_HERE}.filter:CmmathGradeFilter",
        "cmmath_transform": f"{_HERE}.reasoning_filter:CmmathTransformFilter",
    },
    verifiers={"cmmath": f"{_HERE}.verifier:CmmathVerifier"},
    record=f"{_HERE}.record:CmmathRecord",
    grades=f"{_HERE}.summary:GRADING",
    request_kinds=REQUEST_KINDS,
    scored={"cmmath_rpts": ()},
    documents=f"{_HERE}.reasoning:read_documents",
    images=f"{_HERE}.reasoning:images_folder",
    unforeseeable="its reference solutions are not written in steps, so the number of steps "
    "of a response is unknown",
)

"""CMMaTH: Chinese school mathematics with images, graded; and its settings."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from lmms_rpts.base.settings import Place, Table, setting
from lmms_rpts.judging.request_kinds import QUOTING, RequestKind
from lmms_rpts.tasks.benchmark import Benchmark

CmmathGrader = Literal["rule", "judge", "both"]

_HERE = "lmms_rpts.tasks.cmmath"
_TEMPLATES = Path(__file__).parent / "templates"

REQUEST_KINDS = (
    RequestKind(
        "compare",
        512,
        {"question": "⟦1⟧", "reference": "⟦2⟧", "answer": "⟦3⟧"},
        "one of <Yes> and <No>",
        _TEMPLATES,
        words=("<Yes>", "<No>"),
        longest_reason=QUOTING,
    ),
    RequestKind(
        "mistake",
        512,
        {"question": "⟦1⟧", "solution": "⟦2⟧", "answer": "⟦3⟧"},
        "one of perception, reasoning, calculation and reject",
        _TEMPLATES,
        words=("perception", "reasoning", "calculation", "reject", "感知", "推理", "计算", "拒答"),
    ),
)


class CmmathSettings(Table, env_prefix="CMMATH_"):
    """The settings of CMMaTH."""

    TABLE: ClassVar[str] = "cmmath"
    path: Place | None = setting(None, "folder or file of CMMaTH")
    captions: Place | None = setting(
        None, "captions of the images: a JSONL file with `id` and `caption`"
    )
    prompts: Place | None = setting(None, "prompts for the model: your copy of its `prompts.yml`")
    grader: CmmathGrader = setting("rule", "`both`: a judge grades what rules leave undecided")
    errors: bool = setting(False, "whether a judge classifies the mistakes of wrong responses")

    @property
    def asks_judge(self) -> bool:
        """Whether a judge is asked about responses, even if only about some."""
        return self.errors or self.grader != "rule"


BENCHMARK = Benchmark(
    name="cmmath",
    title="CMMaTH",
    folder=Path(__file__).parent,
    settings=CmmathSettings,
    checks=f"{_HERE}.data:CHECKS",
    examine=f"{_HERE}.data:examine",
    filters={"cmmath_grade": f"{_HERE}.filter:CmmathGradeFilter"},
    scorer=f"{_HERE}.scorer:cmmath_scorer",
    record=f"{_HERE}.record:CmmathRecord",
    grades=f"{_HERE}.record:GRADING",
    answers=f"{_HERE}.scorer:ANSWERS",
    request_kinds=REQUEST_KINDS,
    images=f"{_HERE}.data:images_folder",
)

"""Judge requests of CMMaTH: compare with the reference, classify a mistake, find the steps."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.judging.request_kinds import QUOTING, RequestKind

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
    RequestKind(
        "solution",
        4096,
        {
            "n_images": 1,
            "clues": ["⟦1⟧"],
            "context": "⟦2⟧",
            "question": "⟦3⟧",
            "response": "⟦4⟧",
        },
        "steps",
        _TEMPLATES,
    ),
)

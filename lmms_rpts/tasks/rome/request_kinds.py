"""Judge requests of ROME: whether an answer is right, and whether it follows from the thinking."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.judging.request_kinds import RequestKind

_TEMPLATES = Path(__file__).parent / "templates"

REQUEST_KINDS = (
    RequestKind(
        "grade",
        512,
        {"question": "⟦1⟧", "reference": "⟦2⟧", "answer": "⟦3⟧"},
        "one of correct and incorrect",
        _TEMPLATES,
        words=("correct", "incorrect", "正确", "错误"),
    ),
    RequestKind(
        "consistency",
        512,
        {"question": "⟦1⟧", "thinking": "⟦2⟧", "answer": "⟦3⟧"},
        "one of consistent and inconsistent",
        _TEMPLATES,
        words=("consistent", "inconsistent", "一致", "不一致"),
    ),
)

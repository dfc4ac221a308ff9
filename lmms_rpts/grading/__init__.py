"""Grading of final answers by rules: pure functions of texts, English and Chinese.

Where the final answer stands (``statement``), what it is (``choice``, ``stance``, ``quantities``,
``text_grading``), and whether it is the gold answer (``grader``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_rpts.grading.grader import Grade, grade

__all__ = ["Grade", "grade"]


def __getattr__(name: str) -> Any:
    """Import on first use: stances alone need no rules for numbers and formulas."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lmms_rpts.grading import grader

    return getattr(grader, name)

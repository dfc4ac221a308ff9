"""Grades of ROME by the rules of ``lmms_rpts.grading``, for ``accuracy_strict``; they abstain."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from lmms_rpts.grading.grader import Kind, grade
from lmms_rpts.tasks.grade_types import SCORES


def grade_strictly(evaluator: str, kwargs: Mapping[str, Any], answer: str) -> float | None:
    """The score of an answer, in [0, 1]; None if the rules cannot decide.

    Args:
        evaluator: the name of the published rule.
        kwargs: its arguments, which have been checked.
        answer: the response; any text.
    """

    def score(kind: Kind, golds: Sequence[str], tolerance: float = 0.0) -> float | None:
        marks = string.ascii_uppercase if kind == "choice" else ()
        return SCORES[grade(answer, golds, kind=kind, marks=marks, tolerance=tolerance).outcome]

    def within(interval: Sequence[Any], units: Sequence[str]) -> float | None:
        low, high = interval
        # Times are not read, and a number needs its unit.
        if isinstance(low, str) or low + high == 0 or not any(u in answer for u in units or [""]):
            return None
        middle = (low + high) / 2
        golds = [f"{middle} {unit}".strip() for unit in units or [""]]
        return score("number", golds, abs((high - low) / 2 / middle) * (1 + 1e-9))

    if evaluator == "choices_matching":
        return score("choice", [kwargs["label"].upper()])
    if evaluator == "number_matching":
        # Half of the last decimal place, and never more than the published tenth of the value.
        value = Decimal(str(kwargs["value_to_match"]))
        place = Decimal(1).scaleb(int(value.as_tuple().exponent)) / 2
        allowed = 0.0 if value == int(value) else min(0.1, float(place / abs(value)) * (1 + 1e-9))
        return score("number", [str(value)], allowed)
    if evaluator == "interval_matching":
        return within(kwargs["interval"], kwargs["units"])
    if evaluator == "multi_interval_matching":
        pairs = zip(kwargs["intervals"], kwargs["units"], strict=False)
        found = [within(each, [us] if isinstance(us, str) else us) for each, us in pairs]
        return 1.0 if 1.0 in found else None if None in found or not found else 0.0
    return None  # free texts: the rules confirm some right ones, and never say that one is wrong

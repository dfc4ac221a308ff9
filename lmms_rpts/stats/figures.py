"""Figures: a number with its interval, and numbers as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Text for a missing number.
NONE = "–"


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95% interval; what is undefined is None.

    ``n``: the number of documents with a value. Of several rounds: their number, and ``sd`` the
    sample standard deviation (n - 1) of their values, without ``low`` and ``high``.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    sd: float | None = None


def figure(value: float | None, form: str = ".3f") -> str:
    """A number as text, without a negative zero; a dash if it is missing."""
    if value is None:
        return NONE
    text = format(value, form)
    return text if text.strip("+-0.%") else format(0.0, form)


def cost(value: float | None) -> str:
    """A cost in the currency of the prices; small ones have two significant digits."""
    if value is None:
        return NONE
    return f"{value:,.2f}" if value >= 1 else f"{value:.2g}"


def usage_text(usage: Mapping[str, Any]) -> str:
    """The usage of judges for people: calls, tokens, cost and cached replies."""
    calls, found = usage["calls"], usage.get("found")
    about = "about " * bool(usage.get("guessed"))
    text = f"{calls:,} call{'s' * (calls != 1)}, {about}{usage['input_tokens']:,} tokens in, "
    text += f"{about}{usage['output_tokens']:,} out"
    if spent := usage.get("cost"):
        text += f"; cost {about}{cost(spent)} in the currency of LMMS_RPTS_PRICE"
    return text + (f"; {found:,} cached repl{'y' if found == 1 else 'ies'}" if found else "")


def interval(found: Any, form: str, ends: str = "") -> str:
    """A figure with its interval, as text; a dash if it is missing.

    Args:
        found: has ``value``, ``low`` and ``high``, each of which may be None; or None.
        ends: format of the interval; empty: that of the value.
    """
    if found is None or found.value is None or found.low is None or found.high is None:
        return figure(found and found.value, form)
    low, high = (figure(end, ends or form) for end in (found.low, found.high))
    return f"{figure(found.value, form)} [{low}, {high}]"


def cut_middle(label: str, length: int) -> str:
    """A label cut in the middle to ``length`` characters, since its end names the checkpoint."""
    if len(label) <= length:
        return label
    head = (length - 1) // 2
    return f"{label[:head]}…{label[head + 1 - length :]}"

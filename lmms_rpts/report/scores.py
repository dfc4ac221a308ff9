"""Scores on pages and in drawings: as text, and as one of eleven colour classes."""

from __future__ import annotations

from lmms_rpts.filters.record import RIGHT_REASON


def figure(value: float | None, digits: int = 2) -> str:
    """A score as text; a score below the threshold of 0.5 is not rounded up to it."""
    if value is None:
        return "–"
    while value < RIGHT_REASON <= round(value, digits) and digits < 6:
        digits += 1
    return f"{value + 0.0:.{digits}f}"


def signed(value: float | None) -> str:
    """A difference of two scores: ``+0.25``; with a typographic minus sign."""
    if value is None:
        return "–"
    rounded = round(value, 2)
    return f"{rounded:+.2f}".replace("-", "−") if rounded else "0.00"


def score_class(score: float | None) -> str:
    """Name of the colour of a score: ``s0`` to ``s10``, ``sx`` without one."""
    return "sx" if score is None else f"s{round(score * 10)}"

"""SVG charts of a validation: bars of AUC, and the reliability diagram."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from lmms_rpts.report.svg import circle, decoration, drawing, grid, path, rect, text, upright
from lmms_rpts.runs.validity import Bin, Interval

_LARGEST_DOT, _SMALLEST_DOT = 11.0, 2.5


def auc_bar(auc: Interval, rival: float | None, width: int = 130, height: int = 18) -> Markup:
    """A bar from 0 to 1 with the interval as a whisker; dashes at chance, a mark at ``rival``.

    Args:
        rival: AUC of the best baseline.
    """
    if auc.value is None:
        return Markup("")
    middle = height / 2
    parts = [
        rect(0, 4, width, height - 8, "bar-ground", corner=3),
        rect(0, 4, width * _within(auc.value), height - 8, "bar run0", corner=3),
        path(f"M{width / 2:g} 0V{height}", "chance"),
    ]
    if auc.low is not None and auc.high is not None:
        low, high = width * _within(auc.low), width * _within(auc.high)
        ends = "".join(f"M{x:.1f} {middle - 4:g}V{middle + 4:g}" for x in (low, high))
        parts.append(path(f"M{low:.1f} {middle:g}H{high:.1f}{ends}", "whisker"))
    if rival is not None:
        x = width * _within(rival)
        parts.append(path(f"M{x:.1f} 6L{x - 4:.1f} 0H{x + 4:.1f}Z", "rival"))
    return decoration(parts, width, height)


def reliability_diagram(bins: Sequence[Bin], name: str) -> Markup:
    """Share of sound steps by mean score: one dot per bin, its area proportional to its steps.

    Whiskers are the intervals. On the diagonal, scores are probabilities.
    """
    width, height, left, top, bottom = 360, 340, 48, 14, 42
    across, up = width - left - 16, height - top - bottom
    most = max((each.n for each in bins), default=0)
    parts = [
        *grid(left, top, across, up),
        path(f"M{left} {top + up}L{left + across} {top}", "threshold"),
    ]
    for each in bins:
        x, y = left + across * each.score, top + up * (1 - each.sound)
        if each.low is not None and each.high is not None:
            low, high = (top + up * (1 - end) for end in (each.low, each.high))
            parts.append(path(f"M{x:.1f} {low:.1f}V{high:.1f}", "whisker run0"))
        radius = _LARGEST_DOT * math.sqrt(each.n / most) if most else 0
        parts.append(circle(x, y, max(_SMALLEST_DOT, radius), "dot run0"))
    parts += [
        text(left + across / 2, height - 6, "mean score of the judge", "name"),
        upright(12, top + up / 2, "share of sound steps"),
    ]
    told = "; ".join(f"{each.score:.2f}: {each.sound:.2f}" for each in bins[:20])
    said = f"Reliability on {name}: mean score and share of sound steps. {told}."
    return drawing(parts, width, height, said)


def _within(value: float) -> float:
    """Clamp to 0 and 1: files from others may contain any number."""
    return min(1.0, max(0.0, value))

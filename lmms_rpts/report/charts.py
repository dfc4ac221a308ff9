"""SVG charts of the report, in the page's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from lmms_rpts.analysis.overview import Overview
from lmms_rpts.escaping import cut_middle
from lmms_rpts.filters.record import RIGHT_REASON, RptsRecord
from lmms_rpts.report.svg import circle, decoration, drawing, grid, path, rect, text, ticks, upright
from lmms_rpts.stats.intervals import Estimate

_BINS = 10


def estimate_bar(estimate: Estimate, run: int = 0, width: int = 130, height: int = 14) -> Markup:
    """A bar from 0 to 1 with the interval as a whisker: decoration next to the number."""
    if estimate.value is None:
        return Markup("")
    middle = height / 2
    parts = [
        rect(0, 2, width, height - 4, "bar-ground", corner=3),
        rect(0, 2, width * estimate.value, height - 4, f"bar run{run % 6}", corner=3),
    ]
    if estimate.low is not None and estimate.high is not None:
        low, high = width * estimate.low, width * estimate.high
        ends = "".join(f"M{x:.1f} {middle - 4}V{middle + 4}" for x in (low, high))
        parts.append(path(f"M{low:.1f} {middle}H{high:.1f}{ends}", "whisker"))
    return decoration(parts, width, height)


def rpts_histogram(responses: Sequence[RptsRecord], label: str) -> Markup:
    """Histogram of the RPTS of right answers (upwards) and wrong ones (downwards)."""
    right, wrong = _counts(responses, True), _counts(responses, False)
    most = max(*right, *wrong, 1)
    width, half, left, bottom = 264, 62, 46, 34
    column = (width - left) / _BINS
    parts = []
    for at in range(_BINS):
        x, middle = left + at * column + 1, left + (at + 0.5) * column
        up, down = (counts[at] / most * (half - 14) for counts in (right, wrong))
        if right[at]:
            parts.append(rect(x, half - up, column - 2, up, "hist right"))
            parts.append(text(middle, half - up - 3, str(right[at]), "count"))
        if wrong[at]:
            parts.append(rect(x, half, column - 2, down, "hist wrong"))
            parts.append(text(middle, half + down + 11, str(wrong[at]), "count"))
    threshold = left + (width - left) * RIGHT_REASON
    parts += [
        path(f"M{left} {half}H{width}", "axis"),
        path(f"M{threshold:.1f} 0V{2 * half}", "threshold"),
        text(left - 6, half - 22, "right", "side"),
        text(left - 6, half + 28, "wrong", "side"),
        *ticks(left, width, 2 * half + 14),
        text((left + width) / 2, 2 * half + bottom - 6, "RPTS", "name"),
    ]
    said = (
        f"RPTS of {label}. Right answers, by tenths from 0 to 1: {_listed(right)}. "
        f"Wrong answers: {_listed(wrong)}."
    )
    return drawing(parts, width + 10, 2 * half + bottom, said)


def accuracy_against_rpts(overviews: Mapping[str, Overview]) -> Markup:
    """Scatter plot: one point per run, with both intervals; runs without a score are left out."""
    width, height, left, bottom = 300, 216, 50, 38
    across, up = width - left - 14, height - bottom - 12
    parts = [*grid(left, 12, across, up)]
    said = []
    for at, (label, seen) in enumerate(overviews.items()):
        x, y = seen.metrics["accuracy"], seen.metrics["rpts"]
        if x.value is None or y.value is None:
            continue
        px, py = left + across * x.value, 12 + up * (1 - y.value)
        cross = ""
        if x.low is not None and x.high is not None:
            cross += f"M{left + across * x.low:.1f} {py:.1f}H{left + across * x.high:.1f}"
        if y.low is not None and y.high is not None:
            cross += f"M{px:.1f} {12 + up * (1 - y.low):.1f}V{12 + up * (1 - y.high):.1f}"
        aside, kind = (-10, "point end") if x.value > 0.6 else (10, "point")
        parts += [
            path(cross, f"whisker run{at % 6}"),
            circle(px, py, 6, f"dot run{at % 6}"),
            text(px + aside, py - 9, cut_middle(label, 32), kind),
        ]
        said.append(f"{label}: accuracy {x.value:.2f}, RPTS {y.value:.2f}")
    parts += [
        text(left + across / 2, height - 4, "accuracy", "name"),
        upright(12, 12 + up / 2, "RPTS"),
    ]
    return drawing(parts, width, height, "RPTS against accuracy. " + "; ".join(said) + ".")


def _counts(responses: Sequence[RptsRecord], correct: bool) -> list[int]:
    counts = [0] * _BINS
    for response in responses:
        if response.rpts is not None and response.answer.correct is correct:
            # The bins are closed on the right end only at 1.
            counts[min(_BINS - 1, int(response.rpts * _BINS + 1e-9))] += 1
    return counts


def _listed(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts))

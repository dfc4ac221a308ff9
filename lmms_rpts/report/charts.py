"""SVG charts of the pages, in the page's colours; all texts are escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from lmms_rpts.analysis.overview import Overview
from lmms_rpts.escaping import cut_middle
from lmms_rpts.filters.metrics import RIGHT_REASON
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.runs.validity import Bin, Interval
from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.tasks.rpts_eval.runs import Run

_BINS = 10
_LARGEST_DOT, _SMALLEST_DOT = 11.0, 2.5


def estimate_bar(
    estimate: Estimate | Interval,
    run: int = 0,
    *,
    height: int = 14,
    margin: int = 2,
    chance: bool = False,
    rival: float | None = None,
) -> Markup:
    """A bar from 0 to 1 with the interval as a whisker: decoration next to the number.

    Args:
        estimate: clamped to the bar, since files from others may contain any number.
        run: number of its colour.
        chance: whether dashes mark 0.5.
        rival: a value to mark from above.
    """
    if estimate.value is None:
        return Markup("")
    width, middle = 130, height / 2

    def place(value: float) -> float:
        return width * min(1.0, max(0.0, value))

    parts = [
        _rect(0, margin, width, height - 2 * margin, "bar-ground", corner=3),
        _rect(0, margin, place(estimate.value), height - 2 * margin, f"bar run{run % 6}", corner=3),
    ]
    if chance:
        parts.append(_path(f"M{width / 2:g} 0V{height}", "chance"))
    if estimate.low is not None and estimate.high is not None:
        low, high = place(estimate.low), place(estimate.high)
        ends = "".join(f"M{x:.1f} {middle - 4:g}V{middle + 4:g}" for x in (low, high))
        parts.append(_path(f"M{low:.1f} {middle:g}H{high:.1f}{ends}", "whisker"))
    if rival is not None:
        x = place(rival)
        parts.append(_path(f"M{x:.1f} 6L{x - 4:.1f} 0H{x + 4:.1f}Z", "rival"))
    return Markup(
        '<svg width="{0}" height="{1}" viewBox="0 0 {0} {1}" aria-hidden="true">{2}</svg>'
    ).format(width, height, Markup("").join(parts))


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
            parts.append(_rect(x, half - up, column - 2, up, "hist right"))
            parts.append(_text(middle, half - up - 3, str(right[at]), "count"))
        if wrong[at]:
            parts.append(_rect(x, half, column - 2, down, "hist wrong"))
            parts.append(_text(middle, half + down + 11, str(wrong[at]), "count"))
    threshold = left + (width - left) * RIGHT_REASON
    parts += [
        _path(f"M{left} {half}H{width}", "axis"),
        _path(f"M{threshold:.1f} 0V{2 * half}", "threshold"),
        _text(left - 6, half - 22, "right", "side"),
        _text(left - 6, half + 28, "wrong", "side"),
        *_ticks(left, width, 2 * half + 14),
        _text((left + width) / 2, 2 * half + bottom - 6, "RPTS", "name"),
    ]
    ups, downs = (", ".join(map(str, each)) for each in (right, wrong))
    said = f"RPTS of {label}. Right answers, by tenths from 0 to 1: {ups}. Wrong answers: {downs}."
    return _drawing(parts, width + 10, 2 * half + bottom, said)


def accuracy_against_rpts(runs: Sequence[Run], overviews: Sequence[Overview]) -> Markup:
    """Scatter plot: one point per run, with both intervals; runs without a score are left out."""
    width, height, left, bottom = 300, 216, 50, 38
    across, up = width - left - 14, height - bottom - 12
    parts = [*_grid(left, 12, across, up)]
    said = []
    for at, (run, seen) in enumerate(zip(runs, overviews, strict=True)):
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
            _path(cross, f"whisker run{at % 6}"),
            _circle(px, py, 6, f"dot run{at % 6}"),
            _text(px + aside, py - 9, cut_middle(run.label, 32), kind),
        ]
        said.append(f"{run.label}: accuracy {x.value:.2f}, RPTS {y.value:.2f}")
    parts += [
        _text(left + across / 2, height - 4, "accuracy", "name"),
        _upright(12, 12 + up / 2, "RPTS"),
    ]
    return _drawing(parts, width, height, "RPTS against accuracy. " + "; ".join(said) + ".")


def _counts(responses: Sequence[RptsRecord], correct: bool) -> list[int]:
    counts = [0] * _BINS
    for response in responses:
        if response.rpts is not None and response.answer.correct is correct:
            # The bins are closed on the right end only at 1.
            counts[min(_BINS - 1, int(response.rpts * _BINS + 1e-9))] += 1
    return counts


def reliability_diagram(bins: Sequence[Bin], name: str) -> Markup:
    """Share of sound steps by mean score: one dot per bin, its area proportional to its steps.

    Whiskers are the intervals. On the diagonal, scores are probabilities.
    """
    width, height, left, top, bottom = 360, 340, 48, 14, 42
    across, up = width - left - 16, height - top - bottom
    most = max((each.n for each in bins), default=0)
    parts = [
        *_grid(left, top, across, up),
        _path(f"M{left} {top + up}L{left + across} {top}", "threshold"),
    ]
    for each in bins:
        x, y = left + across * each.score, top + up * (1 - each.sound)
        if each.low is not None and each.high is not None:
            low, high = (top + up * (1 - end) for end in (each.low, each.high))
            parts.append(_path(f"M{x:.1f} {low:.1f}V{high:.1f}", "whisker run0"))
        radius = _LARGEST_DOT * math.sqrt(each.n / most) if most else 0
        parts.append(_circle(x, y, max(_SMALLEST_DOT, radius), "dot run0"))
    parts += [
        _text(left + across / 2, height - 6, "mean score of the judge", "name"),
        _upright(12, top + up / 2, "share of sound steps"),
    ]
    told = "; ".join(f"{each.score:.2f}: {each.sound:.2f}" for each in bins[:20])
    said = f"Reliability on {name}: mean score and share of sound steps. {told}."
    return _drawing(parts, width, height, said)


def _drawing(parts: Sequence[Markup], width: float, height: float, said: str) -> Markup:
    return Markup(
        '<svg width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" class="chart" '
        'aria-label="{2}"><title>{2}</title>{3}</svg>'
    ).format(width, height, said, Markup("").join(parts))


def _element(name: str, kind: str, said: str = "", **fields: str | float) -> Markup:
    shown = {
        key: value if isinstance(value, str) else f"{value:.4g}" for key, value in fields.items()
    }
    pairs = Markup("").join(Markup(' {}="{}"').format(*each) for each in shown.items())
    return Markup('<{0}{1} class="{2}">{3}</{0}>').format(name, pairs, kind, said)


def _rect(x: float, y: float, width: float, height: float, kind: str, corner: int = 0) -> Markup:
    return _element("rect", kind, x=x, y=y, width=width, height=height, rx=corner)


def _circle(x: float, y: float, radius: float, kind: str) -> Markup:
    return _element("circle", kind, cx=x, cy=y, r=radius)


def _path(way: str, kind: str) -> Markup:
    return _element("path", kind, d=way)


def _text(x: float, y: float, said: str, kind: str) -> Markup:
    return _element("text", kind, said, x=x, y=y)


def _upright(x: float, y: float, said: str) -> Markup:
    return _element("text", "name", said, x=x, y=y, transform=f"rotate(-90 {x:.4g} {y:.4g})")


def _grid(left: float, top: float, across: float, up: float) -> list[Markup]:
    lines = "".join(
        f"M{left} {top + up * k / 4:.1f}H{left + across}"
        f"M{left + across * k / 4:.1f} {top}V{top + up}"
        for k in range(5)
    )
    sides = [_text(left - 6, top + 4 + up * (1 - k / 4), f"{k / 4:g}", "side") for k in range(5)]
    return [_path(lines, "grid"), *sides, *_ticks(left, left + across, top + up + 16)]


def _ticks(left: float, right: float, y: float) -> list[Markup]:
    return [_text(left + (right - left) * k / 4, y, f"{k / 4:g}", "tick") for k in range(5)]

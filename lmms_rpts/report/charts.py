"""SVG charts of the report, in the page's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from lmms_rpts.analysis.overview import Overview
from lmms_rpts.escaping import cut_middle
from lmms_rpts.filters.record import RIGHT_REASON, RptsRecord
from lmms_rpts.stats.intervals import Estimate

Value = str | float | int | None

_BINS = 10


def element(name: str, /, *children: object, **attributes: Value) -> Markup:
    """One element. ``class_`` stands for ``class``, ``x_y`` for ``x-y``; None leaves one out.

    Children and values are escaped, but for those that are ``Markup``.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704 - escaped above


def _plain(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def estimate_bar(estimate: Estimate, run: int = 0, width: int = 130, height: int = 14) -> Markup:
    """A bar from 0 to 1 with the interval as a whisker; decoration beside the number."""
    if estimate.value is None:
        return Markup("")
    middle = height / 2
    parts = [
        element("rect", x=0, y=2, width=width, height=height - 4, rx=3, class_="bar-ground"),
        element(
            "rect",
            x=0,
            y=2,
            width=width * estimate.value,
            height=height - 4,
            rx=3,
            class_=f"bar run{run % 6}",
        ),
    ]
    if estimate.low is not None and estimate.high is not None:
        low, high = width * estimate.low, width * estimate.high
        ends = "".join(f"M{x:.1f} {middle - 4}V{middle + 4}" for x in (low, high))
        parts.append(element("path", d=f"M{low:.1f} {middle}H{high:.1f}{ends}", class_="whisker"))
    return element(
        "svg",
        *parts,
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        aria_hidden="true",
    )


def rpts_histogram(responses: Sequence[RptsRecord], label: str) -> Markup:
    """How RPTS is spread among right answers (upwards) and wrong ones (downwards)."""
    right, wrong = _counts(responses, True), _counts(responses, False)
    most = max(*right, *wrong, 1)
    width, half, left, bottom = 370, 84, 44, 34
    column = (width - left) / _BINS
    parts = []
    for at in range(_BINS):
        x = left + at * column
        for counts, sign, kind in ((right, -1, "right"), (wrong, 1, "wrong")):
            tall = counts[at] / most * (half - 14)
            if not counts[at]:
                continue
            y = half - tall if sign < 0 else half
            parts += [
                element("rect", x=x + 1, y=y, width=column - 2, height=tall, class_=f"hist {kind}"),
                element(
                    "text",
                    str(counts[at]),
                    x=x + column / 2,
                    y=y - 3 if sign < 0 else y + tall + 11,
                    class_="count",
                ),
            ]
    threshold = left + (width - left) * RIGHT_REASON
    parts += [
        element("path", d=f"M{left} {half}H{width}", class_="axis"),
        element("path", d=f"M{threshold:.1f} 0V{2 * half}", class_="threshold"),
        element("text", "right", x=left - 6, y=half - 30, class_="side"),
        element("text", "wrong", x=left - 6, y=half + 36, class_="side"),
        *_ticks(left, width, 2 * half + 14),
        element("text", "RPTS", x=(left + width) / 2, y=2 * half + bottom - 6, class_="name"),
    ]
    said = (
        f"RPTS of {label}. Right answers, by tenths from 0 to 1: {_listed(right)}. "
        f"Wrong answers: {_listed(wrong)}."
    )
    return _figure(parts, width + 10, 2 * half + bottom, said)


def accuracy_against_rpts(overviews: Mapping[str, Overview]) -> Markup:
    """A point a run, with both intervals; runs without a score are left out."""
    width, height, left, bottom = 420, 320, 44, 40
    across, up = width - left - 14, height - bottom - 12
    parts = [*_grid(left, across, up)]
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
        on_left = x.value > 0.6
        parts += [
            element("path", d=cross, class_=f"whisker run{at % 6}"),
            element("circle", cx=px, cy=py, r=6, class_=f"dot run{at % 6}"),
            element(
                "text",
                cut_middle(label, 32),
                x=px - 10 if on_left else px + 10,
                y=py - 9,
                class_="point end" if on_left else "point",
            ),
        ]
        said.append(f"{label}: accuracy {x.value:.2f}, RPTS {y.value:.2f}")
    parts += [
        element("text", "accuracy", x=left + across / 2, y=height - 4, class_="name"),
        element(
            "text",
            "RPTS",
            x=12,
            y=12 + up / 2,
            class_="name",
            transform=f"rotate(-90 12 {12 + up / 2})",
        ),
    ]
    return _figure(parts, width, height, "Accuracy against RPTS. " + "; ".join(said) + ".")


def _grid(left: float, across: float, up: float) -> list[Markup]:
    lines = "".join(
        f"M{left} {12 + up * k / 4:.1f}H{left + across}M{left + across * k / 4:.1f} 12V{12 + up}"
        for k in range(5)
    )
    texts = [
        element("text", f"{k / 4:g}", x=left - 6, y=16 + up * (1 - k / 4), class_="side")
        for k in range(5)
    ]
    return [element("path", d=lines, class_="grid"), *texts, *_ticks(left, left + across, up + 28)]


def _ticks(left: float, right: float, y: float) -> list[Markup]:
    return [
        element("text", f"{k / 4:g}", x=left + (right - left) * k / 4, y=y, class_="tick")
        for k in range(5)
    ]


def _counts(responses: Sequence[RptsRecord], correct: bool) -> list[int]:
    counts = [0] * _BINS
    for response in responses:
        if response.rpts is not None and response.answer.correct is correct:
            # The bins are closed on the right end only at 1.
            counts[min(_BINS - 1, int(response.rpts * _BINS + 1e-9))] += 1
    return counts


def _figure(parts: Sequence[Markup], width: float, height: float, said: str) -> Markup:
    return element(
        "svg",
        element("title", said),
        *parts,
        width=width,
        height=height,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        class_="chart",
        aria_label=said,
    )


def _listed(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts))

"""SVG scatter plot of score against tokens, one point a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from markupsafe import Markup

from lmms_rpts.analysis.summary import LOWER_IS_BETTER, TaskSummary
from lmms_rpts.escaping import columns, shorten
from lmms_rpts.report.svg import document, element, text

_WIDTH, _HEIGHT = 760, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 730, 84, 392
_RADIUS = 6
_NAMES = {"rpts": "RPTS", "accuracy_rpts": "accuracy with sound reasoning"}


@dataclass(frozen=True, slots=True)
class Point:
    """A model: tokens a response, its score, and the ends of the error bar if it has one."""

    label: str
    tokens: float
    score: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def shared(self, other: _Box) -> float:
        """The area in common."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, wide) * max(0.0, high)


@dataclass(frozen=True, slots=True)
class _Axis:
    """A scale from values to places in the picture."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = False

    def at(self, value: float) -> float:
        low, high, value = (
            math.log10(each) if self.log else each for each in (self.low, self.high, value)
        )
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def points_of(table: TaskSummary, metric: str) -> tuple[list[Point], list[str], list[str]]:
    """The points of a table, the models without tokens, and those without a score.

    An error bar is a standard deviation to both sides for several rounds, else the interval.
    """
    points, tokenless, scoreless = [], [], []
    for model in table.models:
        figure, tokens = model.metrics[metric], model.tokens.value
        if tokens is None:
            tokenless.append(model.model)
        elif figure.value is None:
            scoreless.append(model.model)
        else:
            low, high = figure.low, figure.high
            if figure.sd is not None:
                low, high = figure.value - figure.sd, figure.value + figure.sd
            points.append(Point(model.model, tokens, figure.value, low, high))
    return points, tokenless, scoreless


def draw_scatter(table: TaskSummary, metric: str = "rpts") -> str:
    """The SVG document, for light and dark pages: tokens to the right, the score upwards.

    Raises:
        ValueError: if there is no model with both.
    """
    points, tokenless, scoreless = points_of(table, metric)
    if not points:
        raise ValueError("no model has both a score and a count of its tokens")
    name = _NAMES.get(metric, metric.replace("_", " "))
    across, upwards = _token_axis([each.tokens for each in points]), _score_axis(points)
    title = f"{name} against tokens used"
    notes = [
        "bars: the 95% interval over documents, or for several rounds their standard deviation",
        *([f"tokens not reported: {_names(tokenless)}"] if tokenless else []),
        *([f"no score: {_names(scoreless)}"] if scoreless else []),
    ]
    lines = [line for note in notes for line in _wrapped(note)]
    told = [f"{each.label}: {each.score:.3f} with {each.tokens:,.0f} tokens" for each in points]
    drawn = [
        text(24, 36, title, size=18, weight="600"),
        text(24, 58, _subtitle(table, metric), class_="muted"),
        *_drawn_axes(across, upwards, name),
        *(_drawn_bar(each, across, upwards) for each in points),
        *(_drawn_point(each, across, upwards) for each in points),
        *_drawn_labels(points, across, upwards),
        *(
            text(24, _HEIGHT - 10 + 20 * at, line, class_="muted", size=12)
            for at, line in enumerate(lines)
        ),
    ]
    height = _HEIGHT + 20 * len(lines)
    return document(title, ". ".join([*told, *notes]), _WIDTH, height, drawn)


def _subtitle(table: TaskSummary, metric: str) -> str:
    where = table.task or "all tasks"
    better = "lower" if metric in LOWER_IS_BETTER else "higher"
    return f"{shorten(where, 60)}; {better} is better"


def _names(labels: Iterable[str]) -> str:
    return ", ".join(shorten(label) for label in labels)


def _wrapped(note: str, width: int = 105) -> list[str]:
    lines = [""]
    for word in note.split(" "):
        if lines[-1] and columns(lines[-1]) + 1 + columns(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _token_axis(tokens: Sequence[float]) -> _Axis:
    low, high = min(tokens), max(tokens)
    if low > 0 and high / low > 10:
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        steps = [10.0**power * digit for power, digit in product(powers, (1, 2, 5))]
        low, high = low / 1.25, high * 1.25
        ticks = tuple(each for each in steps if low <= each <= high)
        return _Axis(low, high, _LEFT, _RIGHT, ticks, log=True)
    high = max(high * 1.15, 1.0)  # tokens: less than one is none
    return _Axis(0.0, high, _LEFT, _RIGHT, _ticks(0.0, high, _step(0.0, high)))


def _score_axis(points: Sequence[Point]) -> _Axis:
    """As much of the scale from 0 to 1 as there are points and bars, and a bit more."""
    ends = [
        value for each in points for value in (each.score, each.low, each.high) if value is not None
    ]
    spare = max(0.02, (max(ends) - min(ends)) * 0.08)
    # Bars of a standard deviation may reach beyond 0 and 1.
    low = max(min(0.0, *ends), min(ends) - spare)
    high = min(max(1.0, *ends), max(ends) + spare)
    step = _step(low, high)
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return _Axis(low, high, _BOTTOM, _TOP, _ticks(low, high, step))


def _step(low: float, high: float) -> float:
    """The distance of round ticks, about five of them."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next((digit for digit in (1, 2, 5) if digit * power >= rough * 0.999), 10)


def _ticks(low: float, high: float, step: float) -> tuple[float, ...]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(at * step for at in range(first, last + 1))


def _drawn_axes(across: _Axis, upwards: _Axis, name: str) -> list[Markup]:
    drawn = []
    for value in upwards.ticks:
        y = upwards.at(value)
        drawn.append(_line(_LEFT, y, _RIGHT, y, "grid"))
        drawn.append(text(_LEFT - 10, y + 4, f"{value + 0.0:.3g}", anchor="end"))
    for value in across.ticks:
        x = across.at(value)
        drawn.append(_line(x, _BOTTOM, x, _BOTTOM + 6, "line"))
        drawn.append(text(x, _BOTTOM + 22, f"{value:,.6g}", anchor="middle"))
    drawn.append(_line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "line"))
    unit = "tokens a response (mean, log scale)" if across.log else "tokens a response (mean)"
    drawn.append(
        text((_LEFT + _RIGHT) / 2, _BOTTOM + 46, unit, anchor="middle", class_="muted", size=14)
    )
    place = f"translate(24,{(_TOP + _BOTTOM) / 2:.0f}) rotate(-90)"
    drawn.append(
        text(0, 0, name, anchor="middle", class_="muted", size=14, transform=place),
    )
    return drawn


def _drawn_bar(point: Point, across: _Axis, upwards: _Axis) -> Markup:
    if point.low is None or point.high is None:
        return Markup()
    x, low, high = across.at(point.tokens), upwards.at(point.low), upwards.at(point.high)
    ends = [_line(x - 5, y, x + 5, y, "bar", 1.5) for y in (low, high)]
    return element("g", _line(x, low, x, high, "bar", 1.5), *ends)


def _drawn_point(point: Point, across: _Axis, upwards: _Axis) -> Markup:
    bar = "" if point.low is None else f" ({point.low:.3f} to {point.high:.3f})"
    return element(
        "circle",
        element(
            "title", f"{shorten(point.label)}: {point.score:.3f}{bar}, {point.tokens:,.0f} tokens"
        ),
        class_="mark",
        cx=_place(across.at(point.tokens)),
        cy=_place(upwards.at(point.score)),
        r=_RADIUS,
        stroke_width="1.5",
    )


def _drawn_labels(points: Sequence[Point], across: _Axis, upwards: _Axis) -> list[Markup]:
    """Each label where it covers least: beside its point, else farther off, with a line to it."""
    places = [(across.at(each.tokens), upwards.at(each.score)) for each in points]
    taken = [_Box(x - 8, y - 8, x + 8, y + 8) for x, y in places]
    for each, (x, _) in zip(points, places, strict=True):
        if each.low is not None and each.high is not None:
            taken.append(_Box(x - 5, upwards.at(each.high), x + 5, upwards.at(each.low)))
    lines, labels = [], []
    for each, (x, y) in zip(points, places, strict=True):
        label = shorten(each.label)
        width = columns(label) * 7.4
        options = _options(x, y, width)
        box = min(options, key=lambda option: _cost(option, taken, x, y))
        taken.append(box)
        middle = (box.top + box.bottom) / 2
        if abs(middle - y) > 20:
            near = box.right if box.right < x else box.left if box.left > x else x
            lines.append(_line(x, y, near, middle, "line", 0.8))
        labels.append(text(box.left + 2, middle + 4, label, class_="label"))
    return [*lines, *labels]


def _options(x: float, y: float, width: float) -> list[_Box]:
    """Places for a label, best first: right, left, above and below, then farther off."""
    boxes = []
    for rise in (0, -18, 18, -36, 36, -54, 54, -72, 72, -90, 90):
        for left in (x + 10, x - 10 - width, x - width / 2):
            boxes.append(_Box(left, y + rise - 9, left + width, y + rise + 9))
    return boxes


def _cost(box: _Box, taken: Iterable[_Box], x: float, y: float) -> float:
    outside = max(0.0, _LEFT + 4 - box.left) + max(0.0, box.right - _WIDTH + 4)
    outside += max(0.0, _TOP - 14 - box.top) + max(0.0, box.bottom - _BOTTOM)
    away = abs((box.top + box.bottom) / 2 - y) + (0 if box.left > x else 2)
    return 50 * outside + sum(box.shared(other) for other in taken) + away / 4


def _line(x1: float, y1: float, x2: float, y2: float, kind: str, width: float = 1) -> Markup:
    ends = {"x1": _place(x1), "y1": _place(y1), "x2": _place(x2), "y2": _place(y2)}
    return element("line", class_=kind, stroke_width=width, **ends)


def _place(value: float) -> str:
    return f"{value:.1f}"

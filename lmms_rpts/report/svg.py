"""Elements of SVG charts, in the page's colours; all texts are escaped."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup


def drawing(parts: Sequence[Markup], width: float, height: float, said: str) -> Markup:
    """A chart of these elements; ``said`` is its description for screen readers."""
    return Markup(
        '<svg width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" class="chart" '
        'aria-label="{2}"><title>{2}</title>{3}</svg>'
    ).format(width, height, said, Markup("").join(parts))


def decoration(parts: Sequence[Markup], width: float, height: float) -> Markup:
    """A drawing next to a number with the same meaning; hidden from screen readers."""
    return Markup(
        '<svg width="{0}" height="{1}" viewBox="0 0 {0} {1}" aria-hidden="true">{2}</svg>'
    ).format(width, height, Markup("").join(parts))


def rect(x: float, y: float, width: float, height: float, kind: str, corner: int = 0) -> Markup:
    """A rectangle of the class ``kind``."""
    return Markup(
        '<rect x="{:.4g}" y="{:.4g}" width="{:.4g}" height="{:.4g}" rx="{}" class="{}"></rect>'
    ).format(x, y, width, height, corner, kind)


def circle(x: float, y: float, radius: float, kind: str) -> Markup:
    """A disc of the class ``kind``."""
    dot = Markup('<circle cx="{:.4g}" cy="{:.4g}" r="{:.3g}" class="{}"></circle>')
    return dot.format(x, y, radius, kind)


def path(way: str, kind: str) -> Markup:
    """A line of the class ``kind``."""
    return Markup('<path d="{}" class="{}"></path>').format(way, kind)


def text(x: float, y: float, said: str, kind: str) -> Markup:
    """A text of the class ``kind``."""
    return Markup('<text x="{:.4g}" y="{:.4g}" class="{}">{}</text>').format(x, y, kind, said)


def upright(x: float, y: float, said: str) -> Markup:
    """The name of a vertical axis, rotated to read upwards."""
    return Markup(
        '<text x="{0:.4g}" y="{1:.4g}" class="name" transform="rotate(-90 {0:.4g} {1:.4g})">{2}'
        "</text>"
    ).format(x, y, said)


def grid(left: float, top: float, across: float, up: float) -> list[Markup]:
    """Lines and numbers at quarters of both axes, which go from 0 to 1."""
    lines = "".join(
        f"M{left} {top + up * k / 4:.1f}H{left + across}"
        f"M{left + across * k / 4:.1f} {top}V{top + up}"
        for k in range(5)
    )
    sides = [text(left - 6, top + 4 + up * (1 - k / 4), f"{k / 4:g}", "side") for k in range(5)]
    return [path(lines, "grid"), *sides, *ticks(left, left + across, top + up + 16)]


def ticks(left: float, right: float, y: float) -> list[Markup]:
    """Numbers at quarters of a horizontal axis."""
    return [text(left + (right - left) * k / 4, y, f"{k / 4:g}", "tick") for k in range(5)]

"""Writer of SVG and HTML elements whose texts are always escaped."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from lmms_rpts.escaping import printable

Value = str | float | int | None

STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2933}"
    ".page{fill:#fff}.muted{fill:#52606d}.line{stroke:#52606d}.grid{stroke:#e1e6eb}"
    ".empty{fill:none;stroke:#9aa5b1;stroke-dasharray:4 3}"
    ".own{fill:none;stroke:#1f2933;stroke-width:2.5}"
    ".label{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
    ".mark{fill:#1d6fb8;stroke:#fff}.bar{stroke:#1d6fb8}"
    "@media (prefers-color-scheme:dark){text{fill:#eef2f6}.page{fill:#14191f}"
    ".muted{fill:#a9b6c3}.line{stroke:#a9b6c3}.grid{stroke:#2c3640}.empty{stroke:#6b7885}"
    ".own{stroke:#eef2f6}.label{stroke:#14191f}.mark{fill:#6db3f2;stroke:#14191f}.bar{stroke:#6db3f2}}"
)


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


def document(
    title: str, description: str, width: int, height: int, children: Iterable[object]
) -> str:
    """An SVG file with its style, and a title and a description for those who can't see it."""
    drawn = element(
        "svg",
        element("title", printable(title), id="lmms-rpts-title"),
        element("desc", printable(description), id="lmms-rpts-desc"),
        element("style", Markup(STYLE)),  # noqa: S704 - a constant
        element("rect", class_="page", width=width, height=height),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_labelledby="lmms-rpts-title lmms-rpts-desc",
    )
    return f"{drawn}\n"


def text(
    x: float, y: float, said: object, *, size: int = 13, anchor: str | None = None, **more: str
) -> Markup:
    """A line of text at a place of the picture."""
    weight = more.pop("weight", None)
    places = {"x": f"{x:.6g}", "y": f"{y:.6g}"}
    return element(
        "text", said, **places, font_size=size, text_anchor=anchor, font_weight=weight, **more
    )


def _plain(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

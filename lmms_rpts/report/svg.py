"""Writer of SVG and HTML elements whose texts are always escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

Value = str | float | int | None


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

r"""MkDocs hook: formulas, written as ``$...$`` and ``$$...$$``, become MathML, without scripts."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

# As pymdownx.arithmatex leaves them: <span class="arithmatex">\(x^2\)</span>
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\[(\[](.*?)\\[)\]]\s*</\1>', re.DOTALL)


def on_page_content(text: str, **_: Any) -> str:
    """Replace the formulas of a page."""

    def mathml(found: re.Match[str]) -> str:
        display = "inline" if found[1] == "span" else "block"
        return convert(html.unescape(found[2]), display=display)

    return _FORMULA.sub(mathml, text)

"""Lower-casing of text that a case-insensitive pattern matched.

``re.IGNORECASE`` lets three non-ASCII letters match ASCII letters: "(İmage 0)",
"concluſion", "dısagree". ``str.lower`` keeps them, or turns one into two characters, so that a
key of a table is not found.
"""

from __future__ import annotations

_ASCII = str.maketrans({"ſ": "s", "İ": "i", "ı": "i"})


def lower(text: str) -> str:
    """Lower-case ``text`` as ``re.IGNORECASE`` compares it with ASCII letters; same length."""
    return text.translate(_ASCII).lower()

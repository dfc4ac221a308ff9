"""Lower case for what a case-insensitive pattern matched.

``re.IGNORECASE`` lets three letters beyond ASCII stand for ASCII letters: "(İmage 0)",
"concluſion", "dısagree". ``str.lower`` leaves them, or makes two characters of one, so that the
key of a table is not found.
"""

from __future__ import annotations

_ASCII = str.maketrans({"ſ": "s", "İ": "i", "ı": "i"})


def lower(text: str) -> str:
    """Lower-case ``text`` as ``re.IGNORECASE`` compares it with ASCII letters; same length."""
    return text.translate(_ASCII).lower()

"""Lower-casing of text that a case-insensitive pattern matched.

``re.IGNORECASE`` lets three non-ASCII letters match ASCII letters: "(İmage 0)",
"concluſion", "dısagree". ``str.lower`` keeps them, or turns one into two characters, so a look-up
of the lower-cased word in a table fails.
"""

from __future__ import annotations

_ASCII = str.maketrans({"ſ": "s", "İ": "i", "ı": "i"})


def lower(text: str) -> str:
    """Lower-case ``text`` with the ASCII equivalences of ``re.IGNORECASE``; same length."""
    return text.translate(_ASCII).lower()

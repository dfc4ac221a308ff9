"""Hints at files whose names are written in another way than the user or the data do."""

from __future__ import annotations

import os
import unicodedata


def hint_at(path: object) -> str:
    """What is there instead of a file that is missing; empty if nothing is.

    Windows writes ``pics\\a.png``; macOS decomposes the accents of names.
    """
    name = str(path)
    if os.path.exists(slashes := name.replace("\\", "/")) and slashes != name:
        return f"; did you mean {slashes}?"
    forms = [unicodedata.normalize(form, name) for form in ("NFC", "NFD")]
    if any(form != name and os.path.exists(form) for form in forms):
        return "; a file whose name looks the same has other Unicode characters: rename it"
    return ""

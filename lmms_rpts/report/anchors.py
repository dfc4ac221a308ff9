"""Names of places in a report: anchors of instances, and file names of their pages."""

from __future__ import annotations

import re


def plain_name(text: str) -> str:
    """A text as part of an anchor: Latin letters, digits and hyphens, at most 60 of them."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)[:60].strip("-")


def make_anchor(task: str, number: str, given: set[str]) -> str:
    """A readable anchor of an instance, the same in every report; it is added to ``given``."""
    base = f"{plain_name(task)}-{plain_name(number)}"
    name, count = base, 1
    # Some file systems don't distinguish small letters from capitals.
    while name.lower() in given:
        count += 1
        name = f"{base}-x{count}"
    given.add(name.lower())
    return name

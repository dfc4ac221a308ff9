"""Which command wrote a page, so that no command overwrites the page of another."""

from __future__ import annotations

import os
import re
from pathlib import Path

_HEAD = 4096
_GENERATOR = re.compile(
    rb'<meta name="generator" content="lmms-rpts [^" ]{1,100}(?: ([a-z]{1,20}))?">'
)


def may_overwrite(page: Path, command: str) -> bool:
    """Whether a command may overwrite a file: there is none, it is empty, or it is its own page.

    Pages of version 0.1 do not name their command; each command may overwrite them.
    """
    if not os.path.isfile(page):  # False also for a name that is too long
        return True
    with page.open("rb") as content:
        start = content.read(_HEAD)
    if not start:
        return True
    found = _GENERATOR.search(start)
    return found is not None and found[1] in (None, command.encode("ascii"))

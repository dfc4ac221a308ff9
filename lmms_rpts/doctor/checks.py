"""Stages of checks, and their results without secrets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lmms_rpts.masking import mask
from lmms_rpts.settings import environment_without
from lmms_rpts.tasks.data_checks import Check, problem

_SECRET = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$")


@dataclass(frozen=True, slots=True)
class Stage:
    """Checks that run together; ``doing`` is the text shown while they run."""

    name: str
    doing: str
    work: Callable[[], Sequence[Check]]

    def perform(self) -> list[Check]:
        """The checks, without secrets; one that crashes is a problem."""
        try:
            checks = list(self.work())
        except Exception as error:  # the boundary: the other stages must still run
            checks = [
                problem(
                    self.name,
                    f"this check failed: {type(error).__name__}: {error}",
                    "fix the named cause; if it is a bug of lmms-rpts, report it",
                )
            ]
        return [
            replace(each, said=shown(each.said), remedy=each.remedy and shown(each.remedy))
            for each in checks
        ]


def shown(text: str) -> str:
    """``text`` without secrets, and without terminal control characters."""
    environment = environment_without("LMMS_RPTS_").items()
    secrets = " ".join(value for name, value in environment if _SECRET.search(name))
    return "".join(map(_printable, mask(text, secrets)))


def _printable(character: str) -> str:
    if character == "\n":
        return character
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return "\N{REPLACEMENT CHARACTER}" if hidden else character

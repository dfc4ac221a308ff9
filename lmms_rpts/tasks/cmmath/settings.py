"""Settings of CMMaTH, and the judge that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from lmms_rpts.settings import read_variables

VARIABLES = ("CMMATH_ERRORS", "CMMATH_GRADER", "CMMATH_PATH")

CmmathGrader = Literal["rule", "judge", "both"]


@dataclass(frozen=True, slots=True)
class CmmathSettings:
    """The settings, read from the environment.

    Attributes:
        path: CMMATH_PATH, a folder with CMMaTH, a JSON file in it, or a data set on the Hub.
        grader: CMMATH_GRADER, the grader; both: a judge grades what rules leave undecided.
        errors: CMMATH_ERRORS, whether a judge classifies the mistakes of incorrect responses.
    """

    path: str | None = None
    grader: CmmathGrader = "rule"
    errors: bool = False


def load_cmmath_settings(environ: Mapping[str, str] | None = None) -> CmmathSettings:
    """Read the settings; raises SettingError with the variable and the allowed values."""
    env = read_variables(VARIABLES, environ)
    return CmmathSettings(
        path=env.text("CMMATH_PATH"),
        grader=env.choice("CMMATH_GRADER", get_args(CmmathGrader)) or "rule",
        errors=env.choice("CMMATH_ERRORS", ("0", "1")) == "1",
    )


def asks_judge(cmmath: CmmathSettings) -> bool:
    """Whether a judge is asked about responses, even if only about some."""
    return cmmath.errors or cmmath.grader != "rule"

"""Settings of RPTS-Eval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_rpts.settings import read_variables

VARIABLES = ("RPTS_PATH",)


@dataclass(frozen=True, slots=True)
class RptsSettings:
    """One reading of the environment.

    Attributes:
        path: RPTS_PATH, a local folder with RPTS-Eval in the publishers' layout.
    """

    path: Path | None = None


def load_rpts_settings(environ: Mapping[str, str] | None = None) -> RptsSettings:
    """Read the settings; raises SettingError, naming the variable and what is allowed."""
    return RptsSettings(path=read_variables(VARIABLES, environ).folder("RPTS_PATH"))

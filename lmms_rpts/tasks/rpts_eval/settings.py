"""Settings of RPTS-Eval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_rpts.settings import read_variables

VARIABLES = ("RPTS_PATH",)


@dataclass(frozen=True, slots=True)
class RptsSettings:
    """The settings, read from the environment.

    Attributes:
        path: RPTS_PATH, a local folder with RPTS-Eval in the publishers' layout.
    """

    path: Path | None = None


def load_rpts_settings(environ: Mapping[str, str] | None = None) -> RptsSettings:
    """Read the settings; raises SettingError with the variable and the allowed values."""
    return RptsSettings(path=read_variables(VARIABLES, environ).folder("RPTS_PATH"))

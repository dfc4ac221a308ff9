"""Variables of the machine that change what commands print or do: tests run without them."""

from __future__ import annotations

import os

from tests.support.reference import VARIABLE as REFERENCE

_KEPT = (REFERENCE, "LMMS_RPTS_REFORM_CHECKOUT")
OF_BENCHMARKS = ("RPTS_", "ROME_", "CMMATH_", "REFORM_", "SHAPES_")
SETTINGS = ("LMMS_", *OF_BENCHMARKS, "OPENAI_", "MASTER_")
_OF_OTHERS = ("LOGURU_", "TQDM_", "WANDB_")
PROCESSES = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
# Typer colours its messages under GitHub's CI, too.
_COLOURS = {"CLICOLOR_FORCE", "FORCE_COLOR", "GITHUB_ACTIONS", "NO_COLOR", "PY_COLORS"}
_TERMINAL = {"COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
# The servers of tests are on this machine.
_PROXIES = {"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"}
_SLOW = {"PYTHONDONTWRITEBYTECODE"}  # a start without compiled modules takes longer


def forget_machine() -> None:
    """Removes them from the environment of this process, and so of those that it starts."""
    dropped = {*PROCESSES} | _COLOURS | _TERMINAL | _PROXIES | _SLOW
    for name in list(os.environ):
        of_somebody = name.startswith((*SETTINGS, *_OF_OTHERS)) and name not in _KEPT
        if of_somebody or name.upper() in dropped:
            del os.environ[name]

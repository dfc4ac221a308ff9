"""lmms-eval tasks of the plugin, and what is checked before any of them runs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

TASKS_DIR = Path(__file__).parent

_CHECKS = {
    "rpts_": "lmms_rpts.tasks.rpts_eval.checks",
    "rome": "lmms_rpts.tasks.rome.checks",
    "cmmath": "lmms_rpts.tasks.cmmath.checks",
}
"""By the beginning of a task's name: the module whose CHECKS says what it needs."""

BEGINNINGS = tuple(_CHECKS)
"""How the names of our tasks begin."""


def check_tasks(names: Iterable[str]) -> None:
    """Check, before a model is loaded, that what these tasks need is there.

    lmms-eval retries a failing data set for a minute and hides the reason; here it is said at
    once. Names of others' tasks are passed over.

    Raises:
        DataError, JudgeConfigurationError, SettingError: saying what to set or to mend.
    """
    for name in names:
        for beginning, module in _CHECKS.items():
            if name.startswith(beginning):
                check = import_module(module).CHECKS.get(name)
                if check is not None:
                    check()

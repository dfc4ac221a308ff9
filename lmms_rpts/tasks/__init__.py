"""lmms-eval tasks of the plugin, and what is checked before any of them runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

TASKS_DIR = Path(__file__).parent
_PREFIX = "rpts_"


def check_tasks(names: Iterable[str]) -> None:
    """Check, before a model is loaded, that what these tasks need is there.

    lmms-eval retries a failing data set for a minute and hides the reason; here it is said at
    once. Names of others' tasks are passed over.

    Raises:
        DataError, JudgeConfigurationError, SettingError: saying what to set or to mend.
    """
    ours = [name for name in names if name.startswith(_PREFIX)]
    if not ours:
        return
    from lmms_rpts.tasks.rpts_eval.checks import CHECKS

    for name in ours:
        check = CHECKS.get(name)
        if check is not None:
            check()

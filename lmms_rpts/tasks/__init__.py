"""lmms-eval tasks of the plugin, and the checks before they run."""

from __future__ import annotations

from collections.abc import Iterable


def check_tasks(names: Iterable[str]) -> None:
    """Check the requirements of these tasks before a model is loaded.

    lmms-eval retries a failing data set for a minute and hides the reason; here it is reported
    immediately. Third-party tasks are ignored.
    """
    from lmms_rpts.base.settings import refuse_unknown
    from lmms_rpts.tasks.registry import SETTINGS_TABLES, benchmark_of

    for name in names:
        benchmark = benchmark_of(name)
        if benchmark is not None:
            refuse_unknown(SETTINGS_TABLES)
        check = benchmark.task_checks().get(name) if benchmark else None
        if check is not None:
            check()

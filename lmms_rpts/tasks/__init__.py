"""lmms-eval tasks of the plugin, and what is checked before any of them runs."""

from __future__ import annotations

from collections.abc import Iterable


def check_tasks(names: Iterable[str]) -> None:
    """Check, before a model is loaded, that what these tasks need is there.

    lmms-eval retries a failing data set for a minute and hides the reason; here it is said at
    once. Names of others' tasks are passed over.

    Raises:
        DataError, JudgeConfigurationError, SettingError: saying what to set or to mend.
    """
    from lmms_rpts.tasks.benchmark import benchmark_of

    for name in names:
        benchmark = benchmark_of(name)
        check = benchmark.task_checks().get(name) if benchmark else None
        if check is not None:
            check()

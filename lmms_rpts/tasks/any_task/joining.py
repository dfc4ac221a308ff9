"""Attaches RPTS to a task of lmms-eval when the task is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_rpts.filters import ScoreFilter
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.any_task.filter import AnyTransformFilter
from lmms_rpts.tasks.any_task.host import HostTask
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.visuals import image_fault


def join_task(task: Any, filters: Sequence[Any]) -> None:
    """Set the task of the RPTS filters; called before generation.

    Args:
        task: lmms-eval's ConfigurableTask.
        filters: all of its filters.

    Raises:
        DataError: if a text-only judge would need images, or the task shows models media other than
            images.
        SettingError: if the setting ``correct`` is not a metric of the task.
    """
    host = HostTask(task, load_settings().grades)
    host.check_criterion()
    shown = host.first_visuals()
    for each in filters:
        if isinstance(each, AnyTransformFilter):
            each.host = host
            if each.variant == "steps":
                host.ask_for_steps()
        blind = isinstance(each, ScoreFilter) and not each.sees and each.evidence != "facts"
        if blind and shown:
            raise DataError(f"The task {host.name!r} cannot be judged: {each.blindness()}.")
    fault = next(filter(None, map(image_fault, shown)), None)
    if fault:
        raise DataError(f"The task {host.name!r} cannot be judged: {fault}.")

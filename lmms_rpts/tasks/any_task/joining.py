"""How RPTS joins a task of lmms-eval when the task was built."""

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
    """Give the filters of RPTS the task that they stand in; called before anything is generated.

    Args:
        task: lmms-eval's ConfigurableTask.
        filters: all of its filters.

    Raises:
        DataError: where the judge would have to see images and can't, or the task shows models
            what is no image.
        SettingError: where LMMS_RPTS_CORRECT names no metric of the task.
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
            raise DataError(f"The task {host.name!r} can't be judged: {each.blindness()}.")
    fault = next(filter(None, map(image_fault, shown)), None)
    if fault:
        raise DataError(f"The task {host.name!r} can't be judged: {fault}.")

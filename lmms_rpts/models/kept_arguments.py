"""Protection of requests against changes by model wrappers, for lmms-eval's ``--use_cache``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from typing import Any


class KeptArguments:
    """A model whose calls restore the generation settings of requests afterwards.

    lmms-eval computes the cache key of a response from the settings in the request: once to look
    it up, before the model is called, and again to store it. Wrappers such as ``llava_hf`` change
    these settings in between (they remove ``until`` and add defaults), so the stored responses are
    never found again.

    Args:
        model: model of lmms-eval.
        tasks: names of the tasks whose requests are restored.
    """

    def __init__(self, model: Any, tasks: Collection[str]) -> None:
        self._model = model
        self._tasks = tasks

    def __getattr__(self, name: str) -> Callable[[Sequence[Any]], Any]:
        call = getattr(self._model, name)

        def run(requests: Sequence[Any]) -> Any:
            given = [
                (settings, copy.deepcopy(settings))
                for each in requests
                if each.task_name in self._tasks
                for settings in each.args
                if isinstance(settings, dict)
            ]
            try:
                return call(requests)
            finally:
                for settings, before in given:
                    settings.clear()
                    settings.update(before)

        return run

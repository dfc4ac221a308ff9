"""What the workers of a job on Ray share: settings, one cache of replies, and the driver's desk."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lmms_rpts.base.settings import (
    CONFIG,
    SettingError,
    config_file,
    environment_without,
    load_settings,
    options_given,
    set_variables,
)
from lmms_rpts.judging.cache import RELEASE_ALL, AnswerCache, failed, share_cache
from lmms_rpts.tasks.benchmark import settings_tables


class Desk(AnswerCache):
    """An actor of Ray on the driver's machine: the cache for workers elsewhere, and all reports."""

    run = AnswerCache._run

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._far: set[str] = set()
        self._usage: dict[str, dict[str, Any]] = {}
        self._report: dict[str, Any] = {"failures": {}, "fault": None}

    def join(self, worker: str) -> None:
        """Note that a worker elsewhere starts, perhaps again: what it was asking is not asked."""
        self._far.add(worker)
        self.run(lambda file: file.execute(RELEASE_ALL, (worker,)))

    def note(self, worker: str, usage: dict[str, Any], failures: Mapping[str, Any]) -> None:
        """Note the usage of a worker so far, with only the new calls in its log."""
        before = self._usage.get(worker, {"log": []})
        before["log"] += usage["log"]
        self._usage[worker] = {**usage, "log": before["log"]}
        self._report["failures"] |= failures

    def stop(self, fault: str) -> None:
        """Note why the job cannot go on."""
        self._report["fault"] = self._report["fault"] or fault

    def end(self) -> dict[str, Any]:
        """The report of the job; ``fault``: why it stopped."""
        for worker in self._far:
            self.join(worker)
        self.close()
        return {**self._report, "usage": [*self._usage.values()]}


class _FarCache(AnswerCache):
    """The cache of a job in a worker on another machine: the desk works on the file."""

    def __init__(self, worker: Worker, name: str) -> None:
        super().__init__(Path())
        self._worker, self.host = worker, name
        worker.tell("join", name)

    def _run(self, work: Callable[[Any], Any], writes: bool = True) -> Any:
        return self._worker.tell("run", work, writes)


class Worker:
    """The settings of a job for its workers, and the way to its desk.

    Ray's dashboard shows the variables of a ``runtime_env``, but not those in this object.
    """

    def __init__(self, variables: Mapping[str, str], grades: str | None, desk: Any, node: str):
        self._variables, self._grades, self._desk, self._node = variables, grades, desk, node
        self._folder, self._name, self._noted = os.getcwd(), "", 0

    def enter(self) -> None:
        """Take over the settings, in the worker's process."""
        import ray

        set_variables(self._variables)
        with suppress(OSError):  # settings may have relative paths
            os.chdir(self._folder)
        here = ray.get_runtime_context()
        self._name = here.get_worker_id()
        if here.get_node_id() != self._node:  # else it uses the file itself, which is faster
            # Ray starts an actor whose process died again, under its old name.
            share_cache(_FarCache(self, here.get_actor_id() or self._name))
            if self._grades is not None:  # in the folder of Ray's session
                path = Path(here.get_temp_dir(), here.get_session_name(), f"{self._name}.json")
                path.write_text(self._grades, encoding="utf-8")
                options_given(grades=path).__enter__()  # until the process ends

    def note(self, usage: dict[str, Any]) -> None:
        """Tell the desk the usage of this process so far, and its requests without a verdict."""
        new = {**usage, "log": usage["log"][self._noted :]}
        self._noted = len(usage["log"])
        self.tell("note", self._name, new, failed)

    def tell(self, method: str, *arguments: Any) -> Any:
        """The result of a method of the desk."""
        import ray

        return ray.get(getattr(self._desk, method).remote(*arguments))


def prepare_worker(workers: int) -> Worker:
    """The settings of this process for each of ``workers`` workers, on any machines of Ray.

    Each gets its share of concurrency and budget; replies are stored on this machine. Files and
    folders that settings name (rpts.toml, data, prompts) must be at the same place on all machines.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    settings = load_settings()
    if settings.cache is None:
        raise SettingError("A job of Ray needs the cache of replies: set LMMS_RPTS_CACHE, not off")
    grades = settings.grades.read_text(encoding="utf-8") if settings.grades else None
    known = {name for table in settings_tables() for name in table.variables()}
    with options_given(processes=workers, rank=1):  # only the first process shows progress
        variables = {
            name: value
            for name, value in environment_without().items()
            if name in known or name.startswith(("LMMS_RPTS_", "OPENAI_", "HF_"))
        }
    if file := config_file():
        variables[CONFIG] = str(file)
    node = ray.get_runtime_context().get_node_id()
    place = NodeAffinitySchedulingStrategy(node, soft=False)
    desk = ray.remote(Desk).options(num_cpus=0, scheduling_strategy=place)
    return Worker(variables, grades, desk.remote(settings.cache.absolute()), node)

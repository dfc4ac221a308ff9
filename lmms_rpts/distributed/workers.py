"""What the workers of a job share: settings, one cache of replies, and reports to the driver."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
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
from lmms_rpts.judging.cache import AnswerCache, share_cache
from lmms_rpts.judging.types import JudgeRequest, Usage
from lmms_rpts.tasks.benchmark import settings_tables


class Desk(AnswerCache):
    """The cache of a job and the reports of its workers: an actor of Ray on the driver's node.

    A reply is on the driver's disk as soon as it arrives, and no two workers ask one question.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._worker = ""
        self._asking: defaultdict[str, set[str]] = defaultdict(set)
        self._usage: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._report: dict[str, Any] = {"failures": {}, "fault": None}

    def call(self, worker: str, name: str, *arguments: Any, **more: Any) -> Any:
        """The result of a method, called by a worker."""
        self._worker = worker
        return getattr(self, name)(*arguments, **more)

    def join(self) -> None:
        """Note that a worker starts, perhaps again: what it was asking is not being asked."""
        for key in [*self._asking[self._worker]]:
            self.release(key)
        self._usage[self._worker].append({})

    def reserve(self, key: str, again: bool = False) -> bool:
        """As in `AnswerCache`, and noted for the worker; so are the next two."""
        reserved = super().reserve(key, again)
        if reserved:
            self._asking[self._worker].add(key)
        return reserved

    def release(self, key: str) -> None:
        self._asking[self._worker].discard(key)
        super().release(key)

    def store(self, key: str, *reply: Any) -> None:
        self._asking[self._worker].discard(key)
        self._report["failures"].pop(key, None)
        super().store(key, *reply)

    def fail(self, key: str, reply: str | None, error: str) -> None:
        self._report["failures"][key] = reply, error

    def spent(self, usage: dict[str, Any]) -> None:
        """Note the usage of a worker since it started."""
        self._usage[self._worker][-1:] = [usage]

    def stop(self, fault: str) -> None:
        """Note why the job cannot go on."""
        self._report["fault"] = self._report["fault"] or fault

    def end(self) -> dict[str, Any]:
        """The report of the job, for ``score``; ``fault``: why it stopped."""
        self.close()
        usage = [each for found in self._usage.values() for each in found if each]
        return {**self._report, "usage": usage}


class Worker:
    """The settings of a job for one of its workers, and there the link to the desk.

    Ray's dashboard shows the variables of a ``runtime_env``, but not those in this object.

    Args:
        variables: environment variables.
        files: contents of files, by the name of the setting that gets their path.
        desk: a `Desk`; None: the worker uses the cache of its machine.
    """

    failures: Mapping[str, Any] = {}

    def __init__(
        self, variables: Mapping[str, str], files: Mapping[str, str], desk: Any = None
    ) -> None:
        self._variables, self._files, self._desk, self._name = variables, files, desk, ""

    def enter(self) -> Worker:
        """Take over the settings, in the worker's process."""
        set_variables(self._variables)
        for name, text in self._files.items():
            path = Path(tempfile.mkdtemp(prefix="lmms-rpts-"), name)
            path.write_text(text, encoding="utf-8")
            options_given(**{name: path}).__enter__()  # until the process ends
        if self._desk is not None:
            import ray

            # Ray starts an actor whose process died again, under its old name.
            self._name = ray.get_runtime_context().get_actor_id() or str(os.getpid())
            self.join()
            share_cache(self)  # type: ignore[arg-type]  # it has the same methods
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A method of the desk."""
        if name.startswith("_"):  # pickle looks for some before there are attributes
            raise AttributeError(name)
        if self._desk is None:
            return lambda *arguments, **more: None
        import ray

        return lambda *arguments, **more: ray.get(
            self._desk.call.remote(self._name, name, *arguments, **more)
        )

    def store(
        self, key: str, judge: str, request: JudgeRequest, reply: str, usage: Usage | None
    ) -> None:
        """As in `AnswerCache`; images and parsers are not stored, and not sent."""
        sent = JudgeRequest(request.kind, request.messages, prompt_version=request.prompt_version)
        self.__getattr__("store")(key, judge, sent, reply, usage)

    def close(self) -> None:
        """Nothing: other stages of the worker use the desk."""


def prepare_worker(workers: int, desk: Any = None, **files: str) -> Worker:
    """The settings of this process for each of ``workers`` workers, on any machines.

    Each gets its share of concurrency and budget. Files and folders that settings name (rpts.toml,
    data, prompts) must be at the same place on all machines.
    """
    known = {name for table in settings_tables() for name in table.variables()}
    with options_given(processes=workers, rank=1):  # only the first process shows progress
        variables = {
            name: value
            for name, value in environment_without().items()
            if name in known or name.startswith(("LMMS_RPTS_", "OPENAI_", "HF_"))
        }
    if file := config_file():
        variables[CONFIG] = str(file)
    return Worker(variables, files, desk)


def open_desk() -> Any:
    """Start a `Desk` with the cache of this process's settings, on this node of Ray."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    folder = load_settings().cache
    if folder is None:
        raise SettingError("A job of Ray needs the cache of replies: set LMMS_RPTS_CACHE, not off")
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    again = {"max_restarts": -1, "max_task_retries": -1}
    return ray.remote(Desk).options(num_cpus=0, scheduling_strategy=here, **again).remote(folder)

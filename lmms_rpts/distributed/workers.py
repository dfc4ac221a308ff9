"""What the workers of a distributed job get from the process that starts it, and tell it."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from lmms_rpts import __version__
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import (
    CONFIG,
    SettingError,
    config_file,
    environment_without,
    load_settings,
    options_given,
)
from lmms_rpts.filters.budget import usage_so_far
from lmms_rpts.judging.cache import AnswerCache, share_cache
from lmms_rpts.judging.types import JudgeRequest, Usage
from lmms_rpts.tasks.benchmark import settings_tables

_PREFIXES = ("LMMS_RPTS_", "OPENAI_", "HF_")


class Desk:
    """The cache of a job, and the reports of its workers: an actor on the driver's node.

    So a reply is on the driver's disk as soon as it arrives, all workers know it, and no two ask
    one question at a time.

    Args:
        folder: of the cache.
    """

    def __init__(self, folder: str) -> None:
        self._cache = AnswerCache(Path(folder))
        self._asking: defaultdict[str, set[str]] = defaultdict(set)
        self._failures: dict[str, tuple[str | None, str]] = {}
        self._usage: dict[str, dict[str, Any]] = {}
        self._faults: list[str] = []
        self._done = self._replies = 0

    def join(self, worker: str) -> None:
        """Note that a worker starts, perhaps again: it asks nothing yet."""
        for key in self._asking.pop(worker, ()):
            self._cache.release(key)

    def find(self, key: str) -> str | None:
        """See `AnswerCache`, also for the next ones."""
        return self._cache.find(key)

    def store(self, key: str, *reply: Any) -> None:
        self._replies += 1
        self._failures.pop(key, None)
        self._cache.store(key, *reply)

    def reserve(self, worker: str, key: str, again: bool) -> bool:
        self._asking[worker].add(key)
        return self._cache.reserve(key, again)

    def is_pending(self, key: str) -> bool:
        return self._cache.is_pending(key)

    def release(self, worker: str, key: str) -> None:
        self._asking[worker].discard(key)
        self._cache.release(key)

    def fail(self, key: str, reply: str | None, error: str) -> None:
        self._failures[key] = reply, error

    def report(self, worker: str, rows: int, usage: dict[str, Any]) -> None:
        """Note the end of a batch, and the usage of a worker so far."""
        self._done += rows
        self._usage[worker] = usage

    def stop(self, fault: str) -> None:
        """Note why the job cannot go on."""
        self._faults.append(fault)

    def counts(self) -> tuple[int, int, float]:
        """Rows that are done, replies that arrived, and the cost of the batches that are done."""
        return self._done, self._replies, sum(each["cost"] for each in self._usage.values())

    def close(self) -> dict[str, Any]:
        """The report of the job, for `read_job`; ``fault``: why it stopped."""
        self._cache.close()
        fault = self._faults[0] if self._faults else None
        return {"failures": self._failures, "usage": [*self._usage.values()], "fault": fault}


class _DeskCache(AnswerCache):
    """The cache at the desk, for one worker."""

    def __init__(self, desk: Any, worker: str) -> None:
        import ray

        self.failures = {}
        self._desk, self._worker, self._get = desk, worker, ray.get
        self._get(desk.join.remote(worker))

    def find(self, key: str) -> str | None:
        return self._get(self._desk.find.remote(key))

    def store(
        self, key: str, judge: str, request: JudgeRequest, reply: str, usage: Usage | None
    ) -> None:
        request = JudgeRequest(
            request.kind, request.messages, prompt_version=request.prompt_version
        )
        self._desk.store.remote(key, judge, request, reply, usage)

    def reserve(self, key: str, again: bool = False) -> bool:
        return bool(self._get(self._desk.reserve.remote(self._worker, key, again)))

    def is_pending(self, key: str) -> bool:
        return bool(self._get(self._desk.is_pending.remote(key)))

    def release(self, key: str) -> None:
        self._desk.release.remote(self._worker, key)

    def fail(self, key: str, reply: str | None, error: str) -> None:
        self._desk.fail.remote(key, reply, error)

    def close(self) -> None:
        """Nothing: another stage of the worker uses it."""


@dataclass(frozen=True)
class WorkerSettings:
    """The settings of a process for the workers that it starts; see `worker_settings`.

    Ray sends it to workers with their other arguments: what it holds, keys as well, is not shown in
    Ray's dashboard, other than the variables of a ``runtime_env``.
    """

    variables: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    desk: Any = None
    version: str = __version__
    _own: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def enter(self) -> None:
        """Make them the settings of this process, a worker, until it ends.

        Raises:
            UserError: if the worker has another version of this package, or no settings file.
        """
        if self.version != __version__:
            fault = f"The driver has lmms-rpts {self.version}, the node of a worker {__version__}"
            self.report_fault(fault)
            raise UserError(fault)
        os.environ |= self.variables
        opened = self._own["opened"] = ExitStack()
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="lmms-rpts-")))
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
            opened.enter_context(options_given(**{name: folder / name}))
        self._own["name"] = name = uuid4().hex
        if self.desk is not None:
            import ray

            # Ray starts an actor whose process died again under its old name.
            share_cache(_DeskCache(self.desk, ray.get_runtime_context().get_actor_id() or name))

    def report_usage(self, rows: int) -> None:
        """Tell the desk what this worker has used so far; ``rows``: those that are done now."""
        if self.desk is not None:
            self.desk.report.remote(self._own["name"], rows, usage_so_far())

    def report_fault(self, fault: str) -> None:
        """Tell the desk why the job cannot go on."""
        if self.desk is not None:
            import ray

            ray.get(self.desk.stop.remote(fault))


def worker_settings(
    workers: int, *, desk: Any = None, files: Mapping[str, str] | None = None
) -> WorkerSettings:
    """The settings of this process, for each of ``workers`` workers on any machines.

    Each gets its share of concurrency and budget. Files and folders that settings name (data,
    rpts.toml, prompts) must be at the same place on all machines.

    Args:
        workers: their number.
        desk: an actor that holds the cache of all workers, from `open_desk`; None: each worker uses
            the cache on its own machine.
        files: contents of files by the name of the setting that gets their path.
    """
    tables = settings_tables()
    known = {name for table in tables for name in table.variables()}
    with options_given(processes=workers, rank=1):  # the first process shows progress
        variables = {
            name: value
            for name, value in environment_without().items()
            if name.startswith(_PREFIXES) or name in known
        }
    if file := config_file():
        variables[CONFIG] = str(file)
    return WorkerSettings(variables, files or {}, desk)


def open_desk() -> Any:
    """The cache of this process's settings as an actor of Ray, on this node, for all workers."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    folder = load_settings().cache
    if folder is None:
        raise SettingError(
            "LMMS_RPTS_CACHE is off, and a job of Ray needs the cache of replies: workers end, and "
            "what they paid for must not be lost. Set it to a folder"
        )
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}
    return ray.remote(Desk).options(scheduling_strategy=here, **options).remote(str(folder))

"""The job of ``lmms-rpts score --ray``, in a process of its own.

Run as ``python -m lmms_rpts.distributed.job JOB``: JOB has the fields of `Job` as JSON. What Ray
logs goes to the log of the process, not to the terminal.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import load_settings
from lmms_rpts.base.terminal import log_to
from lmms_rpts.distributed.scorer import Batch, Scorer
from lmms_rpts.distributed.workers import open_desk, worker_settings
from lmms_rpts.host.evaluate import LOG
from lmms_rpts.judging.progress import open_bar
from lmms_rpts.judging.types import digest
from lmms_rpts.tasks.benchmark import configuration

# The fewest concurrent calls of a worker that are worth the ten seconds in which it starts
_CALLS = 8
# Responses that a worker scores at a time: enough calls for its concurrency, little to lose
_BATCH = 32
LOCAL = "local"


class RayError(UserError):
    """Ray cannot be used, or the job failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is scored, and where.

    Attributes:
        responses: file of ``write_responses``.
        report: file for the report, which ``judging.cache.read_job`` reads.
        address: of a Ray cluster, ``auto``, or ``local``: a cluster on this machine for this job.
        judge: the judge or judges.
        workers: their number; None: as many as the concurrency and the machines suggest.
        checkpoint: folder that all nodes can write to, from which a job that was killed goes on.
        grades: file of the grades of the responses.
        include_path: folder of further task files.
    """

    responses: str
    report: str
    address: str
    judge: str
    workers: int | None = None
    checkpoint: str | None = None
    grades: str | None = None
    include_path: str | None = None


class _Judging(Scorer):
    """Scores responses for the replies alone, which are at the desk then."""

    def __call__(self, batch: Batch) -> dict[str, Any]:
        super().__call__(batch)
        return {"key": batch["key"]}


def run_job(job: Job) -> dict[str, Any]:
    """Score all responses, and return the report of the desk.

    Raises:
        RayError: if the job failed for another reason than a wrong setting or a judge, which the
            report names.
    """
    lines = Path(job.responses).read_text(encoding="utf-8").splitlines()
    rows = [{**json.loads(line), "token_counts": None} for line in lines]
    with _cluster(job.address) as ray:
        gpus = _share("GPU", ray) if "hf:" in job.judge else 0
        most = gpus or max(1, load_settings().concurrency // _CALLS)
        workers = job.workers or min(most, gpus or max(1, _share("CPU", ray)), len(rows))
        batch = max(1, min(_BATCH, math.ceil(len(rows) / workers / 2)))
        desk = open_desk()
        files = {"grades": Path(job.grades).read_text(encoding="utf-8")} if job.grades else {}
        worker = worker_settings(workers, desk=desk, files=files)
        known = [configuration(), str(load_settings().openai_url)]
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        if job.checkpoint:
            from ray.data.checkpoint import CheckpointConfig

            place = f"{job.checkpoint.rstrip('/')}/checkpoint"
            context.checkpoint_config = CheckpointConfig("key", place)
        judged = ray.data.from_items(
            [{**row, "key": digest([known, row])} for row in rows],
            override_num_blocks=math.ceil(len(rows) / batch),
        ).map_batches(
            _Judging,
            batch_size=None,
            compute=ray.data.ActorPoolStrategy(size=workers),
            # Workers wait for judges; Ray's own tasks need processors as well.
            num_cpus=min(1.0, _share("CPU", ray) / workers / 2),
            num_gpus=1 if gpus else None,
            fn_constructor_kwargs={"worker": worker, "include_path": job.include_path},
        )
        try:
            with _progress(len(rows), desk, ray):
                if job.checkpoint:
                    judged.write_parquet(f"{job.checkpoint.rstrip('/')}/done")
                else:
                    for _ in judged.iter_batches(batch_size=None):
                        pass
        except Exception as error:  # whatever Ray makes of a worker's error
            report: dict[str, Any] = ray.get(desk.close.remote())
            if report["fault"] is None:
                last = str(error).strip().splitlines()[-1:]
                raise RayError(f"The job on Ray failed: {''.join(last)}") from error
            return report
        return dict(ray.get(desk.close.remote()))


def _share(kind: str, ray: Any) -> int:
    """The processors of a kind in the cluster."""
    return int(ray.cluster_resources().get(kind, 0))


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """The module ray, connected to a cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError:
        raise RayError("--ray needs Ray: pip install 'lmms-rpts[ray]'") from None
    if address.startswith("ray://"):
        raise RayError(
            f"{address}: the command must run on a node of the cluster, since the replies are "
            "stored there: use ray job submit, and --ray auto"
        )
    options = {"include_dashboard": False} if address == LOCAL else {"address": address}
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise RayError(f"No Ray cluster at {address}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _progress(total: int, desk: Any, ray: Any) -> Iterator[None]:
    """A bar of the responses that are done, with the replies that arrived."""
    ended = threading.Event()
    with open_bar(True, total=total, desc="Scoring on Ray", unit=" responses") as bar:
        pause = max(1.0, getattr(bar, "mininterval", 30.0))  # longer in a log file

        def show() -> None:
            while not ended.wait(pause):
                update()

        def update() -> None:
            bar.n, replies, cost = ray.get(desk.counts.remote())
            spent = {"cost": f"{cost:.3g}"} if cost else {}
            bar.set_postfix({"replies": f"{replies:,}", **spent})

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
            update()
        finally:
            ended.set()
            thread.join()


def main() -> None:
    """Run a job and write its report."""
    if sys.argv[1:2] == [LOG]:
        log_to(Path(sys.argv[2]))
        del sys.argv[1:3]
    job = Job(**json.loads(sys.argv[1]))
    try:
        report: Mapping[str, Any] = run_job(job)
    except UserError as error:
        report = {"fault": str(error)}
    Path(job.report).write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()

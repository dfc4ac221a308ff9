"""The job of ``lmms-rpts score --ray``: ``python -m lmms_rpts.distributed.job ARGUMENTS``.

ARGUMENTS are those of `run_job` as JSON, and the file of its ``report``. It is a process of its
own: Ray writes much to its log.
"""

from __future__ import annotations

import json
import math
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import load_settings
from lmms_rpts.base.terminal import log_to
from lmms_rpts.distributed.scorer import Scorer
from lmms_rpts.distributed.workers import prepare_worker
from lmms_rpts.host.evaluate import INTERRUPTED, LOG
from lmms_rpts.judging import NO_JUDGE, backends_of
from lmms_rpts.judging.progress import open_bar

# Concurrent calls for which another worker is worth the ten seconds in which it starts
_CALLS = 8
# Responses that a worker scores at a time: at the end of each batch, few calls are in progress
_BATCH = 64
LOCAL = "local"


def run_job(
    responses: str, address: str, workers: int | None, include_path: str | None
) -> dict[str, Any]:
    """Ask the judge of the settings all questions about some responses; returns `Desk.end`.

    Args:
        responses: file of ``write_responses``.
        address: of a Ray cluster, ``auto``, or ``local``: one on this machine for this job.
        workers: their number; None: as many as concurrency and machines suggest.
        include_path: folder of further task files.
    """
    lines = Path(responses).read_text(encoding="utf-8").splitlines()
    rows = [{**json.loads(line), "token_counts": None} for line in lines]
    settings = load_settings()
    with _cluster(address) as ray:
        found = ray.cluster_resources()
        local = any(each.local for each in backends_of(settings.judge or NO_JUDGE))
        gpus = int(found.get("GPU", 0)) if local else 0
        cpus = found.get("CPU", 1.0)
        workers = workers or gpus or min(int(cpus), settings.concurrency // _CALLS)
        workers = max(1, min(workers, settings.concurrency))  # each makes a call at a time
        worker = prepare_worker(workers)
        batch = min(_BATCH, math.ceil(len(rows) / workers))
        judged = ray.data.from_items(rows, override_num_blocks=math.ceil(len(rows) / batch))
        judged = judged.map_batches(
            Scorer,
            batch_size=None,
            compute=ray.data.ActorPoolStrategy(size=workers),
            # Workers wait for judges most of the time; Ray's own tasks need processors as well.
            num_cpus=min(1.0, cpus / workers / 2),
            num_gpus=1 if gpus else None,
            fn_constructor_kwargs={"worker": worker, "include_path": include_path},
        )
        try:
            with open_bar(True, total=len(rows), desc="Scoring on Ray", unit=" responses") as bar:
                for done in judged.iter_batches(batch_size=None, batch_format="pyarrow"):
                    bar.update(len(done))
        except Exception as error:  # the text of a traceback, whatever the error of a worker was
            last = "".join(str(error).strip().splitlines()[-1:])
            worker.tell("stop", f"The job of Ray failed: {last}")
        return dict(worker.tell("end"))


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """The module ray, connected to a cluster."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise UserError("--ray needs Ray: pip install 'lmms-rpts[ray]'") from None
    if address.startswith("ray://"):
        raise UserError(
            f"{address}: replies are stored where the command runs, so it must run on a node of "
            "the cluster: use ray job submit, and --ray auto"
        )
    options = {"include_dashboard": False} if address == LOCAL else {"address": address}
    try:
        host, colon, port = address.rpartition(":")
        if colon:  # Ray itself tries for minutes
            socket.create_connection((host, int(port)), 10.0).close()
        ray.init(**options)
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"No Ray cluster at {address}: {error}") from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield ray
    finally:
        ray.shutdown()


def main() -> None:
    """Run the job and write its report into the file ``report``."""
    if sys.argv[1:2] == [LOG]:
        log_to(Path(sys.argv[2]))
        del sys.argv[1:3]
    arguments = json.loads(sys.argv[1])
    report = Path(arguments.pop("report"))
    try:
        found = run_job(**arguments)
    except UserError as error:
        found = {"fault": str(error)}
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    report.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()

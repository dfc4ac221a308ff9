"""Two torchrun agents on one machine that act as two nodes: docs/scale.md."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.lmms import Run, run
from tests.support.ports import reserved_port


def run_on_two_nodes(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Run:
    """``lmms-eval ARGUMENTS`` by two agents with one process each, which connect on localhost.

    Returns:
        The run, with what the first agent printed and the larger exit status.
    """
    saving = ("--log_samples", "--output_path", str(folder))

    def agent(rank: int, port: int) -> subprocess.CompletedProcess[str]:
        place = ("--nnodes", "2", "--node_rank", str(rank), "--nproc_per_node", "1")
        meeting = ("--master_addr", "127.0.0.1", "--master_port", str(port))
        launcher = (sys.executable, "-m", "torch.distributed.run", *place, *meeting)
        return run([*launcher, "-m", "lmms_eval", *arguments, *saving], env)

    with reserved_port() as port, ThreadPoolExecutor(2) as pool:
        first, second = pool.map(agent, range(2), (port, port))
    return Run(first.stdout, max(first.returncode, second.returncode), folder)

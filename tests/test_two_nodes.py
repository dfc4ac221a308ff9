"""Two machines give the same records and table as one process: docs/scale.md."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.lmms import Run, run, run_lmms_eval
from tests.support.ports import reserved_port

TASK = "rpts_demo"
RESPONSES = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses" / "lucky.jsonl"


def run_on_two_nodes(folder: Path, *arguments: str) -> Run:
    """``lmms-eval ARGUMENTS`` by two torchrun agents with one process each, which act as nodes."""
    saving = ("--log_samples", "--output_path", str(folder))

    def agent(rank: int, port: int) -> subprocess.CompletedProcess[str]:
        place = ("--nnodes", "2", "--node_rank", str(rank), "--nproc_per_node", "1")
        meeting = ("--master_addr", "127.0.0.1", "--master_port", str(port))
        launcher = (sys.executable, "-m", "torch.distributed.run", *place, *meeting)
        return run([*launcher, "-m", "lmms_eval", *arguments, *saving])

    with reserved_port() as port, ThreadPoolExecutor(2) as pool:
        first, second = pool.map(agent, range(2), (port, port))
    assert first.returncode == second.returncode == 0, first.stdout
    return Run(first.stdout, 0, folder)


def table_of(found: Run) -> list[str]:
    return [line for line in found.output.splitlines() if line.startswith("|")]


def numbers_of(found: Run) -> dict[str, float]:
    return {name: each for name, each in found.results[TASK].items() if isinstance(each, float)}


def test_two_nodes_give_the_same_records_and_table(tmp_path: Path) -> None:
    arguments = ("--model", "replay", "--model_args", f"samples={RESPONSES}", "--tasks", TASK)
    one = run_lmms_eval(tmp_path / "one", *arguments)
    two = run_on_two_nodes(tmp_path / "two", *arguments)
    assert two.records(TASK) == one.records(TASK)
    assert len(two.records(TASK)) == 14
    assert table_of(two) == table_of(one)
    assert len(table_of(two)) > 10
    # lmms-eval sums the documents in another order.
    assert numbers_of(two) == pytest.approx(numbers_of(one), rel=1e-12, nan_ok=True)

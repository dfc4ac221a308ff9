"""docs/slurm.sh, with fake versions of SLURM's commands, torchrun and lmms-rpts."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.fork_server import ROOT
from tests.support.waiting import LONGEST, wait_until

SCRIPT = ROOT / "docs" / "slurm.sh"
COMMANDS = {
    "scontrol": "echo first-node",
    "srun": 'SLURM_NODEID=1 exec "$@"',
    "torchrun": """
echo "torchrun $LMMS_RPTS_JUDGE $*" >> "$CALLS"
mkdir -p "$OUTPUT/generated" && touch "$OUTPUT/generated/1_results.json"
""",
    "lmms-rpts": """
echo "lmms-rpts $*" >> "$CALLS"
echo reply >> "$LMMS_RPTS_CACHE/answers.sqlite"
[ -z "$JUDGE_SLEEPS" ] || exec sleep 600
""",
}


@pytest.fixture
def job(tmp_path: Path) -> dict[str, str]:
    """The environment of a job on two nodes; CALLS is a file that lists all calls."""
    (tmp_path / "bin").mkdir()
    for name, body in COMMANDS.items():
        command = tmp_path / "bin" / name
        command.write_text(f"#!/bin/bash\nset -eu\n{body}", encoding="utf-8")
        command.chmod(0o755)
    (tmp_path / "local").mkdir()
    return os.environ | {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "JUDGE_SLEEPS": "",
        "TMPDIR": str(tmp_path / "local"),
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURM_JOB_ID": "17",
        "SLURM_JOB_NODELIST": "nodes",
        "SLURM_NNODES": "2",
    }


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text(encoding="utf-8").splitlines()


def test_the_syntax_is_valid() -> None:
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)


def test_both_stages_and_a_job_that_is_submitted_again(tmp_path: Path, job: dict[str, str]) -> None:
    for _ in range(2):
        subprocess.run(["bash", str(SCRIPT)], env=job, check=True, timeout=LONGEST)
    generated, *scored = calls(tmp_path)
    assert generated.startswith("torchrun none --nnodes 2 --node_rank 1 --nproc_per_node 8")
    assert "--master_addr first-node" in generated
    assert len(scored) == 2, "the second job generates no responses"
    assert all(each.startswith(f"lmms-rpts score {tmp_path}/results/") for each in scored)
    kept = tmp_path / "judge-cache" / "answers.sqlite"
    assert kept.read_text(encoding="utf-8") == "reply\nreply\n", "the cache is reused"


def test_the_time_limit_keeps_the_cache(tmp_path: Path, job: dict[str, str]) -> None:
    cache = tmp_path / "local" / "lmms_rpts-17" / "answers.sqlite"
    with subprocess.Popen(["bash", str(SCRIPT)], env=job | {"JUDGE_SLEEPS": "1"}) as process:
        wait_until(lambda: cache.is_file() and cache.stat().st_size > 0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST) == 128 + signal.SIGTERM
    assert (tmp_path / "judge-cache" / "answers.sqlite").read_text() == "reply\n"

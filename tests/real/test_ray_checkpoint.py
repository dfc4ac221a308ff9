"""``Scorer`` with a checkpoint of Ray Data, as docs/scale.md shows it: killed, and continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import oracle
from tests.support.judge_server import Body, JudgeServer, ServerReply
from tests.support.lmms import clean_environment
from tests.support.waiting import wait_until

pytest.importorskip("ray", reason="needs Ray: pip install 'lmms-rpts[ray]'")
DEMO = Path(__file__).parents[2] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"
PIPELINE = """
import sys
import ray
from ray.data.checkpoint import CheckpointConfig
from lmms_rpts.distributed import Scorer, prepare_worker

responses, folder = sys.argv[1:]
ray.init(num_cpus=4, include_dashboard=False)
context = ray.data.DataContext.get_current()
context.checkpoint_config = CheckpointConfig("id", folder + "/checkpoint")
rows = ray.data.read_json(responses, override_num_blocks=7)
scored = rows.map_batches(
    Scorer,
    batch_size=2,
    num_cpus=0.5,
    compute=ray.data.ActorPoolStrategy(size=1),
    fn_constructor_kwargs={"worker": prepare_worker(1)},
)
scored.write_parquet(folder + "/scored")
"""


def slow(body: Body) -> ServerReply:
    return ServerReply(oracle.answer(body), delay=0.2)


def test_a_killed_pipeline_continues(tmp_path: Path) -> None:
    import pyarrow.dataset

    command = [sys.executable, "-c", PIPELINE, str(DEMO), str(tmp_path)]
    with JudgeServer(answer=slow) as server:
        env = clean_environment() | {
            "LMMS_RPTS_JUDGE": "openai:m",
            "OPENAI_API_KEY": "sk-1",
            "OPENAI_BASE_URL": server.url,
            "LMMS_RPTS_CACHE": str(tmp_path / "cache"),
            "LMMS_RPTS_CONCURRENCY": "4",
        }
        with subprocess.Popen(command, env=env, start_new_session=True) as first:
            wait_until(lambda: len(list(tmp_path.rglob("checkpoint/*.parquet"))) >= 2)
            os.killpg(first.pid, signal.SIGKILL)
        before = len(server.requests)
        subprocess.run(command, env=env, check=True)
        bodies = [str(body) for body in server.requests]
    scored = pyarrow.dataset.dataset(tmp_path / "scored").to_table().to_pydict()
    assert sorted(scored["id"]) == list(range(14))
    assert 0 < before < len(bodies)
    assert len(bodies) - len(set(bodies)) <= 4  # calls in progress at the kill
    assert not (tmp_path / "checkpoint").exists()

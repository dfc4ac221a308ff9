"""``lmms-rpts score --ray`` on a real cluster of this machine, whose workers and judge fail."""

from __future__ import annotations

import hashlib
import json
import signal
import sys
from pathlib import Path

import pytest

from tests.support import oracle
from tests.support.judge_server import Body, JudgeServer, ServerReply
from tests.support.lmms import Run, run

COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
DEMO = Path(__file__).parents[2] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"
AT_ONCE, WORKER_DIES, KEY_EXPIRES = 4, 15, 55


def reply_to(body: Body) -> str:
    """A reply, to some questions one that can't be read, however they are asked."""
    question = json.dumps(body["messages"][:2]).encode()
    unreadable = int(hashlib.sha256(question).hexdigest(), 16) % 12 == 0
    return "no idea" if unreadable else oracle.answer(body)


class Judge:
    """Replies as any; the 15th call kills a worker, and from the 55th on the key is refused."""

    def __init__(self) -> None:
        self.calls = self.refused = self.killed = 0
        self.valid = False

    def __call__(self, body: Body) -> str | ServerReply:
        self.calls += 1
        if self.calls == WORKER_DIES:
            psutil = pytest.importorskip("psutil")
            children = psutil.Process().children(recursive=True)
            worker = next(each for each in children if "MapWorker" in each.name())
            worker.send_signal(signal.SIGKILL)
            self.killed = worker.pid
        if self.calls > KEY_EXPIRES and not self.valid:
            self.refused += 1
            return ServerReply("Incorrect API key provided", status=401)
        return ServerReply(reply_to(body), delay=0.02)


def score(folder: Path, server: JudgeServer, *arguments: str) -> Run:
    env = {
        "LMMS_RPTS_JUDGE": "openai:m",
        "OPENAI_API_KEY": "sk-of-the-driver",
        "OPENAI_BASE_URL": server.url,
        "LMMS_RPTS_CACHE": str(folder / "cache"),
        "LMMS_RPTS_CONCURRENCY": str(AT_ONCE),
    }
    done = run([COMMAND, "score", str(DEMO), "-o", str(folder / "out"), *arguments], env=env)
    return Run(done.stdout, done.returncode, folder / "out")


def judges_of(done: Run) -> dict[str, int]:
    (file,) = done.folder.rglob("*_results.json")
    found: dict[str, int] = json.loads(file.read_text())["usage"]["judges"]
    return found


def test_a_job_survives_its_worker_and_goes_on_after_its_judge(
    cluster: str, tmp_path: Path
) -> None:
    with JudgeServer(answer=reply_to) as alone:
        reference = score(tmp_path / "one", alone)
    judge = Judge()
    with JudgeServer(answer=judge) as server:
        stopped = score(tmp_path / "ray", server, "--ray", cluster, "--workers", "2")
        judge.valid, first, paid = True, judge.calls, judge.calls - judge.refused
        done = score(tmp_path / "ray", server, "--ray", cluster, "--workers", "1")
    assert judge.killed
    assert stopped.code == 1
    assert "Traceback" not in stopped.output
    assert stopped.output.count("Incorrect API key") == 1
    assert f"Judge replies are cached in {tmp_path / 'ray' / 'cache'}" in stopped.output
    assert "sk-of" not in stopped.output
    assert done.code == 0, done.output
    assert done.records("rpts_demo") == reference.records("rpts_demo")
    assert done.results == reference.results
    failed = [each for each in done.records("rpts_demo").values() if each["outcome"] != "scored"]
    assert failed
    assert judges_of(done)["calls"] == judge.calls - judge.refused - paid
    # Made again are only calls in progress at a worker's death or at the stop, and those whose
    # replies could not be read, which are made twice.
    unread = [each for each in server.requests if reply_to(each) == "no idea"]
    again = paid + judges_of(done)["calls"] - judges_of(reference)["calls"]
    assert 0 <= again <= AT_ONCE + len(unread) // 2
    # The command itself asks nothing again after the job, not even what had no readable reply.
    second = [json.dumps(each) for each in server.requests[first:]]
    assert len({*second}) == len(second)
    assert server.most_at_once <= AT_ONCE

"""Running the real lmms-eval as a user does, and reading what it wrote.

Runs are forked from a process that has imported lmms-eval (fork_server.py), unless ``cold``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fork_client import AVAILABLE, ForkServer, served_part

TASKS_DIR = Path(__file__).parents[2] / "lmms_rpts" / "tasks"
_TIME_LIMIT = 600
_OF_BENCHMARKS = ("RPTS_", "ROME_", "CMMATH_", "REFORM_", "COLOURS_")
# Variables that nothing reads at import: only in these may a run differ from the server.
_READ_LATE = ("LMMS_RPTS_", *_OF_BENCHMARKS, "OPENAI_", "COLUMNS", "PYTEST_", "WANDB_")


@dataclass(frozen=True)
class Run:
    """One run: what it printed, and the files it wrote."""

    output: str
    code: int
    folder: Path

    @property
    def results(self) -> dict[str, Any]:
        """Metrics by task, as lmms-eval saved them."""
        files = list(self.folder.rglob("*_results.json"))
        assert len(files) == 1, f"{len(files)} results files; lmms-eval said:\n{self.output}"
        found: dict[str, Any] = json.loads(files[0].read_text())["results"]
        return found

    def samples(self, task: str) -> dict[int, dict[str, Any]]:
        """The logged samples of a task by document, whatever order they were written in."""
        files = list(self.folder.rglob(f"*_samples_{task}.jsonl"))
        assert len(files) == 1, f"{len(files)} samples files; lmms-eval said:\n{self.output}"
        with files[0].open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        by_document = {row["doc_id"]: row for row in rows}
        assert len(by_document) == len(rows), "a document stands twice in the samples"
        return by_document

    def records(self, task: str) -> dict[int, Any]:
        """The scored JSON of each document; a list of them where there were repeats."""
        return {doc_id: read_record(row) for doc_id, row in self.samples(task).items()}


def read_record(sample: Mapping[str, Any]) -> Any:
    """The scored JSON of one sample."""
    found = sample["filtered_resps"]
    return json.loads(found) if isinstance(found, str) else [json.loads(each) for each in found]


def run_lmms_eval(
    folder: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    processes: int = 1,
    cold: bool = False,
    server: ForkServer | None = None,
) -> Run:
    """``lmms-eval ARGUMENTS`` with samples logged to ``folder``, on one or several processes.

    Several processes are started by torchrun; ``cold`` and ``server`` as in ``run``.
    """
    launcher: Sequence[str] = [sys.executable, "-m", "lmms_eval"]
    if processes > 1:
        launcher = [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(processes)),
            *("--master_port", str(_free_port()), "-m", "lmms_eval"),
        ]
    command = [*launcher, *arguments, "--log_samples", "--output_path", str(folder)]
    done = run(command, env=env, cold=cold, server=server)
    return Run(done.stdout, done.returncode, folder)


def run(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    *,
    cold: bool = False,
    server: ForkServer | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment without settings of ours or keys of anybody.

    Args:
        command: lmms-eval, lmms-rpts and torchrun are forked from the server, and so is each
            lmms-eval that those start; other commands are started afresh.
        env: variables beside those of ``clean_environment``.
        cwd: the working folder.
        cold: start them afresh as well: for what is about the start, the installation or the
            imports.
        server: one with an environment of its own, in place of that of all tests.

    Raises:
        ValueError: a variable in ``env`` may be read at import, so that a forked run would differ.
        AssertionError: it took too long; with what it said until it was killed.
    """
    environment = clean_environment() | dict(env or {})
    try:
        if not cold and AVAILABLE and served_part(command) is not None:
            asked = server or the_server()
            own = asked.environment if server else {}
            _check_read_late(name for name, value in (env or {}).items() if own.get(name) != value)
            return asked.run(command, environment, cwd, _TIME_LIMIT)
        return subprocess.run(
            command,
            env=environment,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        said = (
            late.output.decode(errors="replace") if isinstance(late.output, bytes) else late.output
        )
        raise AssertionError(f"over {_TIME_LIMIT} s: {command}; it said:\n{said}") from None


_server: ForkServer | None = None
_starting = threading.Lock()


def the_server() -> ForkServer:
    """The server of this process, which starts at first use."""
    global _server
    with _starting:
        if _server is None:
            _server = ForkServer(clean_environment())
    return _server


def _check_read_late(names: Iterable[str]) -> None:
    early = sorted(name for name in names if not name.startswith(_READ_LATE))
    if early:
        raise ValueError(f"pass cold=True: {', '.join(early)} may be read at import")


def stop_server() -> None:
    """End the server of this process, if it has one."""
    global _server
    with _starting:
        if _server is not None:
            _server.stop()
        _server = None


def clean_environment() -> dict[str, str]:
    """This process's environment without what could change an evaluation; offline."""
    dropped = ("LMMS_", *_OF_BENCHMARKS, "OPENAI_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    ours = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "160"}
    return kept | ours | {"LMMS_RPTS_CACHE": "off"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

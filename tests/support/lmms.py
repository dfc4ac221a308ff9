"""Runs the real lmms-eval as a user does, and reads its output files.

Runs are forked from a process that has imported lmms-eval (fork_server.py), unless ``cold``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fork_client import AVAILABLE, ForkClient, ForkServer, served_part
from tests.support.machine import OF_BENCHMARKS, PROCESSES, SETTINGS
from tests.support.ports import reserved_port
from tests.support.reference import VARIABLE as REFERENCE

TASKS_DIR = Path(__file__).parents[2] / "lmms_rpts" / "tasks"
_TIME_LIMIT = 600
# Variables that are not read at import: a run may differ from the server only in these.
_READ_LATE = ("LMMS_RPTS_", *OF_BENCHMARKS, "OPENAI_", "COLUMNS", "PYTEST_", "WANDB_")


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
        """The logged samples of a task by document, in any order of the file."""
        files = list(self.folder.rglob(f"*_samples_{task}.jsonl"))
        assert len(files) == 1, f"{len(files)} samples files; lmms-eval said:\n{self.output}"
        with files[0].open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        by_document = {row["doc_id"]: row for row in rows}
        assert len(by_document) == len(rows), "the samples contain a document twice"
        return by_document

    def records(self, task: str) -> dict[int, Any]:
        """The scored JSON of each document; a list of them if there were repeats."""
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
    importing: bool = False,
    cold: bool = False,
) -> Run:
    """``lmms-eval ARGUMENTS`` with samples logged to ``folder``, on one or several processes.

    torchrun starts several processes. ``importing`` and ``cold`` are as in ``run``, except that a
    torchrun of importing processes is started afresh.
    """
    words = ["-m", "lmms_eval", *arguments, "--log_samples", "--output_path", str(folder)]
    if processes == 1:
        done = run([sys.executable, *words], env=env, importing=importing, cold=cold)
        return Run(done.stdout, done.returncode, folder)
    if importing and AVAILABLE:
        env, cold = dict(env or {}) | {"PYTHON_EXEC": the_server().python(importing)}, True
    with reserved_port() as port:
        place = ("--nproc_per_node", str(processes), "--master_port", str(port))
        launcher = (sys.executable, "-m", "torch.distributed.run", *place)
        done = run([*launcher, *words], env=env, importing=importing, cold=cold)
    return Run(done.stdout, done.returncode, folder)


def run(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    *,
    importing: bool = False,
    cold: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs a command in an environment without our settings and without any keys.

    Args:
        command: lmms-eval, lmms-rpts, torchrun and ``python -c`` are forked from a server, and so
            is each lmms-eval that those start; other commands are started afresh.
        env: variables in addition to those of ``clean_environment``.
        cwd: the working folder.
        importing: fork them from a process that has imported other packages, but neither lmms-eval
            nor ours: for tests of imports. ``PYTHONPATH`` adds folders.
        cold: start them afresh as well: for tests of the start or the installation.

    Raises:
        ValueError: a variable in ``env`` may be read at import, so that a forked run would differ.
        AssertionError: it took too long; with the output until it was killed.
    """
    environment = clean_environment() | dict(env or {})
    try:
        if not cold and AVAILABLE and served_part(command) is not None:
            _check_read_late(env or {}, ("PYTHONPATH",) if importing else ())
            return the_server().run(command, environment, cwd, _TIME_LIMIT, importing)
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


def forked(command: Sequence[str], importing: bool = False) -> list[str]:
    """A command that replaces a command of ``run``, with its own streams and signals.

    After killing it, wait for the end of its streams: the run itself ends an instant later.
    """
    return the_server().stand_in(command, importing) if AVAILABLE else list(command)


_server: ForkClient | None = None
_starting = threading.Lock()


def the_server() -> ForkClient:
    """The server of this test run; starts at first use."""
    global _server
    with _starting:
        if _server is None:
            _server = ForkServer(clean_environment())
    return _server


def use_server(folder: str) -> None:
    """Uses the server of another process, which also stops it."""
    global _server
    with _starting:
        _server = ForkClient(Path(folder))


def stop_server() -> None:
    """Stops the server of this process, if there is one."""
    global _server
    with _starting:
        if isinstance(_server, ForkServer):
            _server.stop()
        _server = None


def _check_read_late(names: Iterable[str], others: Sequence[str]) -> None:
    early = sorted(name for name in names if not name.startswith((*_READ_LATE, *others)))
    if early:
        raise ValueError(f"pass cold=True: {', '.join(early)} may be read at import")


def clean_environment() -> dict[str, str]:
    """This process's environment, offline, without variables that could change an evaluation."""
    dropped = (*SETTINGS, *PROCESSES)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == REFERENCE or not name.startswith(dropped)
    }
    ours = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "160"}
    return kept | ours | {"LMMS_RPTS_CACHE": "off"}

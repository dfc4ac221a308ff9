"""Runs the real lmms-eval as a user does, and reads its output files.

Runs are forked from a process that has imported lmms-eval (fork_server.py), unless ``cold``.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fork_client import is_served
from tests.support.fork_server import AVAILABLE, IMPORTING, READY, ForkServer
from tests.support.machine import OF_BENCHMARKS, PROCESSES, SETTINGS
from tests.support.ports import reserved_port
from tests.support.reference import VARIABLE as REFERENCE

_README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
TRY_IT = next(line for line in _README.splitlines() if "--tasks rpts_demo" in line)
"""lmms-eval on the demo, without a model, a key or a download: the README's first command."""
TASKS_DIR = Path(__file__).parents[2] / "lmms_rpts" / "tasks"
_TIME_LIMIT = 600
# Variables that are not read at import: a run may differ from the server only in these.
_READ_LATE = (
    "LMMS_RPTS_",
    "LMMS_CACHE_",
    *OF_BENCHMARKS,
    "OPENAI_",
    "COLUMNS",
    "PYTEST_",
    "WANDB_",
)


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
    """The scored JSON of one sample, without the marks of cached replies."""

    def read(text: str) -> Any:
        return json.loads(text, object_hook=lambda each: (each.pop("cached", None), each)[1])

    found = sample["filtered_resps"]
    return read(found) if isinstance(found, str) else [read(each) for each in found]


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
        env, cold = dict(env or {}) | {"PYTHON_EXEC": python(importing)}, True
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
    forking = not cold and AVAILABLE and is_served(_arguments(command))
    early = [name for name in env or {} if not name.startswith(_READ_LATE)]
    if forking and early and not (importing and early == ["PYTHONPATH"]):
        raise ValueError(f"pass cold=True: {', '.join(early)} may be read at import")
    with tempfile.TemporaryFile() as out:
        try:
            code = subprocess.run(
                forked(command, importing) if forking else command,
                env=clean_environment() | dict(env or {}),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,  # no pipe: a service that outlives the run would keep it open
                stderr=out,
                timeout=_TIME_LIMIT,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
        out.seek(0)
        said = io.TextIOWrapper(out, encoding="utf-8", errors="replace").read()
    assert code is not None, f"over {_TIME_LIMIT} s: {command}; it said:\n{said}"
    return subprocess.CompletedProcess(command, code, said)


def forked(command: Sequence[str], importing: bool = False) -> list[str]:
    """A command that replaces a command of ``run``, with its own streams and signals.

    After killing it, wait for the end of its streams: the run itself ends an instant later.
    """
    return [python(importing), *_arguments(command)] if AVAILABLE else list(command)


def python(importing: bool = False) -> str:
    """An interpreter whose runs are forked."""
    return str(the_server().folder / (IMPORTING if importing else READY))


def _arguments(command: Sequence[str]) -> Sequence[str]:
    """Those of Python; a script that is installed starts with Python's path."""
    return command[1:] if command[0] == sys.executable else command


_server: ForkServer | None = None
_starting = threading.Lock()


def the_server(folder: Path | None = None) -> ForkServer:
    """The server of this test run, in ``folder`` if another process has started it."""
    global _server
    with _starting:
        if _server is None:
            _server = ForkServer(clean_environment(), folder=folder)
    return _server


def stop_server() -> None:
    """Stops the server if this process has started it."""
    global _server
    with _starting:
        if _server is not None:
            _server.stop()
        _server = None


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

"""Running the real lmms-eval as a user does, and reading what it wrote."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIME_LIMIT = 600


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
) -> Run:
    """``lmms-eval ARGUMENTS`` with samples logged to ``folder``, on one or several processes."""
    launcher: Sequence[str] = [sys.executable, "-m", "lmms_eval"]
    if processes > 1:
        launcher = [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(processes)),
            *("--master_port", str(_free_port()), "-m", "lmms_eval"),
        ]
    done = run([*launcher, *arguments, "--log_samples", "--output_path", str(folder)], env=env)
    return Run(done.stdout, done.returncode, folder)


def run(
    command: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment without settings of ours or keys of anybody."""
    return subprocess.run(
        command,
        env=clean_environment() | dict(env or {}),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=_TIME_LIMIT,
        check=False,
    )


def clean_environment() -> dict[str, str]:
    """This process's environment without what could change an evaluation; offline."""
    of_benchmarks = ("RPTS_", "ROME_", "CMMATH_")
    dropped = ("LMMS_", *of_benchmarks, "OPENAI_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    ours = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "160"}
    return kept | ours | {"LMMS_RPTS_CACHE": "off"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

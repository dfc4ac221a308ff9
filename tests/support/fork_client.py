"""Asking the fork server for runs of lmms-eval; needs the standard library alone.

Run as ``python -IS fork_client.py SOCKET PYTHON ARGUMENTS`` it stands for ``PYTHON ARGUMENTS``:
what the server can run runs there, with this process's streams, signals and exit status.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
AVAILABLE = hasattr(os, "pidfd_open")
"""The server needs Linux; elsewhere each run is a fresh start."""
HEADER = struct.Struct("!Q")
LMMS_EVAL = ("lmms_eval", "lmms_rpts.models.evaluate")
LOG = "log"
_MODULES = (*LMMS_EVAL, "torch.distributed.run", "tests.support.tiny_llava")
_SCRIPTS = ("lmms-eval", "lmms-rpts")


class ForkServer:
    """A server of this process, and its runs.

    Args:
        environment: of the server; its imports read variables, so a run may differ from it in
            those only that are read later.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self.folder = Path(tempfile.mkdtemp(prefix="rpts-fork-"))
        self._socket = str(self.folder / "socket")
        self._python = _write_stand_in(self.folder / "python", self._socket)
        # A thread of jemalloc (in pyarrow) would be there when the server forks.
        ours = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
        with socket.socket(socket.AF_UNIX) as listener, self._log.open("wb") as log:
            listener.bind(self._socket)
            listener.listen()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.fork_server", str(listener.fileno())],
                cwd=ROOT,
                env=self.environment | ours,
                stdin=subprocess.PIPE,  # its end is the server's
                stdout=log,
                stderr=log,
                pass_fds=[listener.fileno()],
                start_new_session=True,  # a Ctrl-C is for the client: the server ends with it
            )

    @property
    def _log(self) -> Path:
        return self.folder / LOG

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str | Path | None,
        seconds: float,
    ) -> subprocess.CompletedProcess[str]:
        """As ``subprocess.run`` with one stream for output and errors.

        Raises:
            subprocess.TimeoutExpired: with the output so far; the run has been killed.
            RuntimeError: the server ended; with what it said.
        """
        served = served_part(command)
        assert served is not None, f"not a command for the server: {command}"
        # What starts lmms-eval finds an interpreter that asks the server for it.
        python = None if served[0] == "-m" and served[1] in LMMS_EVAL else self._python
        with tempfile.TemporaryFile() as out, open(os.devnull, "rb") as nothing:
            streams = (nothing.fileno(), out.fileno(), out.fileno())
            content = _content(served, environment, folder, python)
            try:
                with _ask(self._socket, content, streams) as run:
                    run.settimeout(seconds)
                    code = _status(run)
            except TimeoutError:
                raise subprocess.TimeoutExpired(command, seconds, _text(out)) from None
            except ConnectionError:
                self.process.wait(seconds)
                raise RuntimeError(f"the fork server ended:\n{self._log.read_text()}") from None
            return subprocess.CompletedProcess(command, code, _text(out))

    def stop(self) -> None:
        """End the server and all of its runs."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)  # it may have failed before it could


def served_part(command: Sequence[str]) -> list[str] | None:
    """What the server needs to know of a command; None where it can't run it."""
    first, *rest = command
    if first == sys.executable and _is_served(rest):
        return rest
    scripts = {str(Path(sys.executable).with_name(name)) for name in _SCRIPTS}
    return [first, *rest] if first in scripts else None


def _is_served(arguments: Sequence[str]) -> bool:
    return arguments[:1] in (["-m"], ("-m",)) and arguments[1] in _MODULES


def _content(
    served: Sequence[str],
    environment: Mapping[str, str],
    folder: str | Path | None,
    python: str | None,
) -> bytes:
    request: dict[str, Any] = {
        "command": list(served),
        "environment": dict(environment),
        "folder": str(folder or os.getcwd()),
        "python": python,
    }
    return json.dumps(request).encode()


def _ask(address: str, content: bytes, streams: Sequence[int]) -> socket.socket:
    """The connection that lasts as long as the run."""
    run = socket.socket(socket.AF_UNIX)
    try:
        run.connect(address)
        socket.send_fds(run, [HEADER.pack(len(content))], streams)
        run.sendall(content)
    except BaseException:
        run.close()
        raise
    return run


def _status(run: socket.socket) -> int:
    """The exit status as ``subprocess`` gives it, once there is one.

    Raises:
        ConnectionError: the server ended.
    """
    said = b""
    while part := run.recv(64):
        said += part
    if not said:
        raise ConnectionResetError
    return int(said)


def _text(out: IO[bytes]) -> str:
    out.seek(0)
    text = out.read().decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")  # as subprocess does for text


def _write_stand_in(path: Path, address: str) -> str:
    words = [sys.executable, "-IS", __file__, address, sys.executable]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def main(address: str, python: str, *arguments: str) -> None:
    """Stand for a Python with these arguments."""
    unbuffered = arguments[:1] == ("-u",)  # torchrun starts its processes so
    served = arguments[1:] if unbuffered else arguments
    if not _is_served(served):
        os.execv(python, [python, *arguments])
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"} if unbuffered else os.environ
    with _ask(address, _content(served, environment, None, None), (0, 1, 2)) as run:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, lambda number, _: run.sendall(bytes([number])))
        code = _status(run)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])

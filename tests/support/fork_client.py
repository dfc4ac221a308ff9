"""Client of the fork servers for runs of lmms-eval; needs only the standard library.

``python -IS fork_client.py SOCKET PYTHON ARGUMENTS`` replaces ``PYTHON ARGUMENTS``: commands that
the server supports run there, with this process's streams, signals and exit status.
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
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
AVAILABLE = hasattr(os, "pidfd_open")
"""Whether the server is available: it needs Linux; elsewhere each run is a fresh start."""
HEADER = struct.Struct("!Q")
FIRST, SECOND = "first", "second"
"""Names of the servers' sockets."""
LOG = "log"
PYTHON = {FIRST: "python-importing", SECOND: "python"}
"""Names of the replacements for the Python interpreter; each uses one of the servers."""
LMMS_EVAL = ("lmms_eval", "lmms_rpts.host.evaluate")
_SUPPORT = ("tests.support.score_gold", "tests.support.tiny_llava")
_MODULES = (*LMMS_EVAL, "torch.distributed.run", *_SUPPORT)
_PACKAGE = "benchmarks."
_LONGEST_PLACE = 80
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_SCRIPTS = {str(Path(sys.executable).with_name(name)) for name in ("lmms-eval", "lmms-rpts")}


class ForkClient:
    """Runs commands in the servers whose files are in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str | Path | None,
        seconds: float,
        importing: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Like ``subprocess.run`` with one stream for output and errors.

        Args:
            importing: run it in the first server, so that the run imports lmms-eval and us itself.

        Raises:
            subprocess.TimeoutExpired: with the output so far; the run has been killed.
            RuntimeError: the server ended; with the server's log.
        """
        served = served_part(command)
        assert served is not None, f"not a command for the server: {command}"
        address = self.folder / (FIRST if importing else SECOND)
        with tempfile.TemporaryFile() as out, open(os.devnull, "rb") as nothing:
            streams = (nothing.fileno(), out.fileno(), out.fileno())
            try:
                with _ask(address, _content(served, environment, folder, address), streams) as run:
                    run.settimeout(seconds)
                    code = _status(run)
            except TimeoutError:
                raise subprocess.TimeoutExpired(command, seconds, _text(out)) from None
            except ConnectionError:
                said = (self.folder / LOG).read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"the fork server ended:\n{said}") from None
            return subprocess.CompletedProcess(command, code, _text(out))

    def stand_in(self, command: Sequence[str], importing: bool = False) -> list[str]:
        """A command that replaces this one, for ``subprocess.Popen``."""
        served = served_part(command)
        assert served is not None, f"not a command for the server: {command}"
        return [self.python(importing), *served]

    def python(self, importing: bool = False) -> str:
        """The path of the replacement for the Python interpreter."""
        return str(self.folder / PYTHON[FIRST if importing else SECOND])

    def start(self) -> None:
        """Makes the servers import their modules now, instead of at the first run."""
        with socket.socket(socket.AF_UNIX) as asked, suppress(ConnectionError):
            asked.connect(str(self.folder / SECOND))


class ForkServer(ForkClient):
    """The servers of this process.

    Args:
        environment: of the servers; their imports read variables, so a run may only change
            variables that are read later.
        bare: they import nothing.
    """

    def __init__(self, environment: Mapping[str, str], bare: bool = False) -> None:
        # The address of a socket has at most 107 bytes.
        place = "/tmp" if len(os.fsencode(tempfile.gettempdir())) > _LONGEST_PLACE else None
        super().__init__(Path(tempfile.mkdtemp(prefix="rpts-fork-", dir=place)))
        for name, python in PYTHON.items():
            _write_stand_in(self.folder / python, self.folder / name)
        # A thread of jemalloc (in pyarrow) would exist when the server forks.
        ours = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
        with (
            socket.socket(socket.AF_UNIX) as first,
            socket.socket(socket.AF_UNIX) as second,
            (self.folder / LOG).open("wb") as log,
        ):
            for listener, name in ((first, FIRST), (second, SECOND)):
                listener.bind(str(self.folder / name))
                listener.listen()
            numbers = (first.fileno(), second.fileno())
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.support.fork_server", *map(str, numbers)),
                    *(["bare"] if bare else []),
                ],
                cwd=ROOT,
                env=dict(environment) | ours,
                stdin=subprocess.PIPE,  # the servers end when it is closed
                stdout=log,
                stderr=log,
                pass_fds=numbers,
                start_new_session=True,  # Ctrl-C goes to the client only: the servers end with it
            )

    def stop(self) -> None:
        """Ends the servers and all of their runs."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)  # the server may have failed at its start


def served_part(command: Sequence[str]) -> list[str] | None:
    """The arguments of Python in a command; None if the servers can't run it."""
    arguments = command[1:] if command[0] == sys.executable else command
    kind, *rest = arguments
    if kind == "-m":
        return list(arguments) if rest[0] in _MODULES or rest[0].startswith(_PACKAGE) else None
    return list(arguments) if kind in (*_SCRIPTS, "-c") else None


def _content(
    served: Sequence[str], environment: Mapping[str, str], folder: str | Path | None, address: Path
) -> bytes:
    """A request; child processes of a run use an interpreter that asks the server, too."""
    real = served[0] == "-m" and served[1] in LMMS_EVAL
    request: dict[str, Any] = {
        "command": list(served),
        "environment": dict(environment),
        "folder": str(folder or os.getcwd()),
        "python": None if real else str(address.with_name(PYTHON[address.name])),
    }
    return json.dumps(request).encode()


def _ask(address: Path, content: bytes, streams: Sequence[int]) -> socket.socket:
    """Sends a request; the connection lasts as long as the run."""
    run = socket.socket(socket.AF_UNIX)
    try:
        run.connect(str(address))
        socket.send_fds(run, [HEADER.pack(len(content))], streams)
        run.sendall(content)
    except BaseException:
        run.close()
        raise
    return run


def _status(run: socket.socket) -> int:
    """Waits for the exit status, in the form of ``subprocess``.

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


def _write_stand_in(path: Path, address: Path) -> None:
    words = [sys.executable, "-IS", __file__, str(address), sys.executable]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def main(address: str, python: str, *arguments: str) -> None:
    """Acts as Python with these arguments."""
    unbuffered = arguments[:1] == ("-u",)  # torchrun starts its processes with -u
    served = served_part([python, *(arguments[1:] if unbuffered else arguments)])
    if served is None:
        os.execv(python, [python, *arguments])
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"} if unbuffered else os.environ
    content = _content(served, environment, None, Path(address))
    # The run may begin, and be interrupted, before this process can forward the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    with _ask(Path(address), content, (0, 1, 2)) as run:

        def forward(number: int, frame: object) -> None:
            with suppress(OSError):  # the run has just ended
                run.sendall(bytes([number]))

        for number in _FORWARDED:
            signal.signal(number, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
        code = _status(run)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])

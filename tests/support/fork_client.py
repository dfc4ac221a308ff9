"""Stands for the Python interpreter: commands that the fork server runs are run there.

``python -IS fork_client.py SOCKET PYTHON ARGUMENTS`` acts as ``PYTHON ARGUMENTS``, with its own
streams, folder, environment, signals and exit status. It needs only the standard library, so it
starts in 20 ms.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_MODULES = (*("lmms_eval", "torch.distributed.run"), "tests.support.tiny_llava")
_SCRIPTS = ("lmms-eval", "lmms-rpts")
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def is_served(arguments: Sequence[str]) -> bool:
    """Whether the server can run Python with these arguments."""
    first, *rest = arguments or [""]
    if first == "-m":
        return rest[0] in _MODULES or rest[0].startswith("benchmarks.")
    return first == "-c" or Path(first).name in _SCRIPTS


def main(address: str, python: str, *arguments: str) -> None:
    """Acts as Python with these arguments."""
    unbuffered = arguments[:1] == ("-u",)  # torchrun starts its processes with -u
    command = arguments[1:] if unbuffered else arguments
    if not is_served(command):
        os.execv(python, [python, *arguments])
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"} if unbuffered else {**os.environ}
    what = {"command": command, "environment": environment, "folder": os.getcwd()}
    # The children of a run ask the server, too; what lmms-eval starts can't, such as W&B's service.
    what["python"] = python if command[:2] == ("-m", "lmms_eval") else address[: -len(".socket")]
    request = os.memfd_create("request")
    with open(request, "w", encoding="utf-8", closefd=False) as file:
        json.dump(what, file)
    # The run may begin, and be interrupted, before this process can forward the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    with socket.socket(socket.AF_UNIX) as run:
        run.connect(address)
        socket.send_fds(run, [b"r"], (0, 1, 2, request))

        def forward(number: int, frame: object) -> None:
            with suppress(OSError):  # the run has just ended
                run.sendall(bytes([number]))

        for number in _FORWARDED:
            signal.signal(number, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
        status = run.recv(8)
    if not status:
        sys.exit(f"the fork server ended: see its log beside {address}")
    code = int(status)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])

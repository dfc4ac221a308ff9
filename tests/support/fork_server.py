"""A process that has imported lmms-eval and built the index of its tasks, and forks for each run.

A fresh start of lmms-eval takes 18 s of processor time, the run of a small task 1 s. The server
answers ``ForkServer`` in fork_client.py, which starts it. It ends when its standard input does:
with the process that started it, however that ended. A run ends with the client that asked for it.

Run as ``python -m tests.support.fork_server SOCKET``, with a listening socket as this descriptor.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.fork_client import HEADER, LOG
from tests.support.fork_run import Ending, Request, perform

# What lmms-eval imports on its way to a run, and the heavy packages that are imported later.
_MODULES = (
    *("lmms_eval.__main__", "lmms_eval.cli.dispatch", "lmms_eval.models", "lmms_rpts.cli"),
    *("lmms_eval.models.simple.llava_hf", "lmms_eval.models.chat.llava_hf"),
    "torch.distributed.run",
    *("openai", "pandas", "rich.progress", "scipy.stats", "sklearn"),
    *("transformers.models.llava.modeling_llava", "transformers.models.llava.processing_llava"),
)


@dataclass(frozen=True, eq=False, slots=True)
class _Run:
    pid: int
    watched: int
    client: socket.socket


def preload() -> None:
    """Do once what every run does first."""
    for name in _MODULES:
        importlib.import_module(name)
    from lmms_eval import tasks

    _remember_index(tasks)
    tasks.TaskManager()
    gc.collect()
    gc.freeze()  # else the first collection of a run would copy all pages that objects lie in


def _remember_index(tasks: Any) -> None:
    """Scan lmms-eval's own task folder once; folders of ours and of users at each run."""
    scan = tasks.TaskManager._get_task_and_group
    own = str(Path(tasks.__file__).parent.resolve())
    found: dict[str, Any] = {}

    def remembered(manager: Any, task_dir: str) -> dict[str, Any]:
        if str(Path(task_dir).resolve()) != own:
            return dict(scan(manager, task_dir))
        if own not in found:
            found[own] = scan(manager, task_dir)
        return dict(found[own])

    tasks.TaskManager._get_task_and_group = remembered


def check_single_thread() -> None:
    """A thread that holds a lock while its process forks leaves it locked in the child for ever."""
    names = [Path(each, "comm").read_text().strip() for each in Path("/proc/self/task").iterdir()]
    if len(names) > 1:
        raise RuntimeError(f"the server has threads, so it can't fork: {', '.join(names)}")


class Server:
    """Forks for each client; tells it the exit status, passes on its signals."""

    def __init__(self, listener: socket.socket) -> None:
        # Of all selectors this one has no descriptor that a child would share.
        self._selector = selectors.PollSelector()
        self._selector.register(sys.stdin, selectors.EVENT_READ, self._end)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._listener = listener
        self._runs: set[_Run] = set()
        self._request: Request | None = None
        self._ended = False

    def serve(self) -> Request | None:
        """Returns in each child with what it is to run, in the server with None at the end."""
        while not self._ended and self._request is None:
            # One event at a time: it may close what the next is about.
            (key, _), *_others = self._selector.select()
            key.data()
        return self._request

    def _end(self) -> None:
        for run in self._runs:
            _kill(run)
        self._ended = True

    def _accept(self) -> None:
        client, _address = self._listener.accept()
        try:
            request, streams = _receive(client)
        except (EOFError, OSError):  # it was killed while it asked
            client.close()
            return
        pid = os.fork()
        if pid == 0:
            client.close()
            self._become(request, streams)
            return
        for stream in streams:
            os.close(stream)
        _lead_group(pid)
        run = _Run(pid, os.pidfd_open(pid), client)
        self._runs.add(run)
        self._selector.register(run.watched, selectors.EVENT_READ, partial(self._reap, run))
        self._selector.register(client, selectors.EVENT_READ, partial(self._hear, run))

    def _become(self, request: Request, streams: list[int]) -> None:
        """In the child: close what is the server's, and take the client's streams and settings."""
        self._listener.close()
        for run in self._runs:
            run.client.close()
            os.close(run.watched)
        _lead_group(0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(signum, signal.SIG_DFL)
        os.chdir(request.folder)
        os.environ.clear()
        os.environ.update(request.environment)
        self._request = request

    def _hear(self, run: _Run) -> None:
        try:
            signals = run.client.recv(64)
        except OSError:
            signals = b""
        for signum in signals:
            os.kill(run.pid, signum)
        if not signals:
            self._selector.unregister(run.client)
            _kill(run)

    def _reap(self, run: _Run) -> None:
        _, status = os.waitpid(run.pid, 0)
        self._runs.remove(run)
        self._selector.unregister(run.watched)
        os.close(run.watched)
        if run.client in self._selector.get_map():
            self._selector.unregister(run.client)
        with run.client, suppress(OSError):  # it may be gone
            run.client.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _receive(client: socket.socket) -> tuple[Request, list[int]]:
    header, streams, _, _ = socket.recv_fds(client, HEADER.size, 3)
    try:
        if len(header) < HEADER.size:
            raise EOFError
        (size,) = HEADER.unpack(header)
        content = bytearray()
        while len(content) < size:
            part = client.recv(size - len(content))
            if not part:
                raise EOFError
            content += part
    except BaseException:
        for stream in streams:
            os.close(stream)
        raise
    return Request(**json.loads(content)), list(streams)


def _lead_group(pid: int) -> None:
    """By parent and child, whoever comes first: a kill must reach what the child starts."""
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)


def _kill(run: _Run) -> None:
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)


def main(descriptor: int) -> None:
    """Be the server, and in its children the runs."""
    ending = Ending()
    atexit.register(ending)
    with socket.socket(fileno=descriptor) as listener:
        folder = Path(listener.getsockname()).parent
        preload()
        check_single_thread()
        # Said by the imports, of our plugin's faults above all: so a fresh lmms-eval says it too.
        said = (folder / LOG).read_text(encoding="utf-8", errors="replace")
        request = Server(listener).serve()
    if request is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with ending.noted():
            perform(request, said)


if __name__ == "__main__":
    main(int(sys.argv[1]))

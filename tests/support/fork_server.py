"""Two processes that have imported lmms-eval's modules, and fork for each run.

A fresh start of lmms-eval takes 15 s of processor time: 9 s for the packages that it imports, 1 s
for its own modules and 5 s for the index of its tasks. The first process has imported those
packages, for runs that import lmms-eval themselves (2 s). The second was forked from it and has
done all the rest, for all other runs (0.3 s). Each imports when a client first asks it.

They answer ``ForkServer`` in fork_client.py, which starts the first. They end when their standard
input is closed: with the process that started them, however it ended. A run ends with the client
that asked for it.

Run as ``python -m tests.support.fork_server SOCKET SOCKET``, with the descriptors of two listening
sockets: of the first process and of the second. With ``bare`` as a third argument both import
nothing: for tests of the servers themselves.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import json
import os
import select
import selectors
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.fork_client import HEADER, LOG
from tests.support.fork_run import Ending, Request, perform

# Packages that lmms-eval imports, at its start or later.
_PACKAGES = (
    *("accelerate", "datasets", "evaluate", "loguru", "openai", "pandas", "PIL.PngImagePlugin"),
    *("pytablewriter", "rich.progress", "scipy.io", "scipy.stats", "sklearn"),
    *("torch", "torch.distributed.run", "torchvision.transforms"),
    *("transformers.models.llava.modeling_llava", "transformers.models.llava.processing_llava"),
)
_LMMS_EVAL = (
    *("lmms_eval.__main__", "lmms_eval.cli.dispatch", "lmms_eval.models", "lmms_rpts.cli"),
    *("lmms_eval.models.simple.llava_hf", "lmms_eval.models.chat.llava_hf"),
)
Steps = tuple[Callable[[], None], Callable[[], None]]
"""Preparations of the first server and of the second one."""


@dataclass(frozen=True, eq=False, slots=True)
class _Run:
    pid: int
    watched: int
    client: socket.socket


def import_packages() -> None:
    """Imports packages other than lmms-eval and ours."""
    _import(_PACKAGES)
    _read_quickly(_folder_of("lmms_eval"), _folder_of("lmms_rpts"))


def import_lmms_eval() -> None:
    """Does once what every run does first."""
    _import(_LMMS_EVAL)
    from lmms_eval import tasks

    _remember_index(tasks)
    tasks.TaskManager()


def _import(names: Iterable[str]) -> None:
    gc.disable()  # collects nothing during imports, but takes a fifth of their time
    for name in names:
        importlib.import_module(name)


def _folder_of(package: str) -> str:
    """The folder of a package, found without importing it."""
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent)


def _read_quickly(*folders: str) -> None:
    """Reads the 3,500 YAML files in ``folders`` with libyaml: 1 s instead of 6."""
    import yaml

    if not yaml.__with_libyaml__:
        return

    class Quick(yaml.CFullLoader):
        def __init__(self, stream: Any) -> None:
            super().__init__(stream)
            self.name = stream.name  # lmms-eval imports functions from the file's folder

    read, quick = yaml.full_load, tuple(folder + os.sep for folder in folders)

    def full_load(stream: Any) -> Any:
        if not str(getattr(stream, "name", "")).startswith(quick):
            return read(stream)
        Quick.yaml_constructors = yaml.FullLoader.yaml_constructors  # lmms-eval changes them
        return yaml.load(stream, Quick)

    yaml.full_load = full_load


def _remember_index(tasks: Any) -> None:
    """Scans lmms-eval's own task folder only once; our folders and those of users at each run."""
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
    """Refuses to fork with threads: a lock held by one would stay locked in the child for ever."""
    names = [Path(each, "comm").read_text().strip() for each in Path("/proc/self/task").iterdir()]
    if len(names) > 1:
        raise RuntimeError(f"the server has threads, so it can't fork: {', '.join(names)}")


class Server:
    """Forks for each client; sends the exit status back, and forwards signals."""

    def __init__(self, listener: socket.socket) -> None:
        # A garbage collection in a run would copy all memory pages with objects of the server.
        gc.freeze()
        gc.get_freeze_count = lambda: 1  # the real one counts two million objects at each call
        gc.enable()
        # The only selector without a descriptor that children would share.
        self._selector = selectors.PollSelector()
        self._selector.register(sys.stdin, selectors.EVENT_READ, self._end)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._listener = listener
        self._runs: set[_Run] = set()
        self._request: Request | None = None
        self._ended = False

    def serve(self) -> Request | None:
        """Returns the request in each child, and None in the server when it ends."""
        while not self._ended and self._request is None:
            # One event at a time: handling it may close the source of the next one.
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
        except (EOFError, OSError):  # the client was killed while sending
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
        """In the child: closes the server's files, and takes the client's streams and settings."""
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
        with run.client, suppress(OSError):  # the client may have gone
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
    """Called by parent and child, whoever is first: a kill must reach processes of the child."""
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)


def _kill(run: _Run) -> None:
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)


def serve(listener: socket.socket, prepare: Callable[[], None]) -> Request | None:
    """Like ``Server.serve``, but prepares when a client first asks."""
    with listener:
        if listener not in _wait_for(listener):
            return None
        prepare()
        check_single_thread()
        # Output of the imports, mainly errors of our plugin: a fresh lmms-eval prints it as well.
        said = _log_beside(listener).read_text(encoding="utf-8", errors="replace")
        request = Server(listener).serve()
        return request and replace(request, said=said)


def serve_both(first: socket.socket, second: socket.socket, steps: Steps) -> Request | None:
    """Acts as the first server, and in a child as the second; returns like ``serve``."""
    if not {first, second} & {*_wait_for(first, second)}:
        return None
    prepare_first, prepare_second = steps
    prepare_first()
    check_single_thread()
    pid = os.fork()
    if pid == 0:
        first.close()
        return serve(second, prepare_second) or sys.exit()
    second.close()
    request = serve(first, _prepare_nothing)
    if request is None:
        os.waitpid(pid, 0)
    return request


def _prepare_nothing() -> None:
    pass


def _wait_for(*listeners: socket.socket) -> list[Any]:
    """The sources that are ready first: listeners, or standard input at its end."""
    ready, _, _ = select.select([sys.stdin, *listeners], [], [])
    return ready


def _log_beside(listener: socket.socket) -> Path:
    return Path(listener.getsockname()).parent / LOG


def main(first: int, second: int, bare: bool) -> None:
    """Runs the servers, and in their children the requests."""
    ending = Ending()
    atexit.register(ending)
    listeners = (socket.socket(fileno=first), socket.socket(fileno=second))
    folder = _log_beside(listeners[0]).parent
    steps = (_prepare_nothing,) * 2 if bare else (import_packages, import_lmms_eval)
    request = serve_both(*listeners, steps)
    if request is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with ending.noted():
            perform(request)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), bare="bare" in sys.argv[3:])

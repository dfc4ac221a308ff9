"""Two processes that have imported lmms-eval's modules, and fork for each run.

A fresh start of lmms-eval takes 15 s of processor time: 9 s for the packages that it imports, 1 s
for its own modules and 5 s for the index of its tasks. The first process has imported those
packages, for runs that import lmms-eval and us themselves (2 s). The second was forked from it and
has done all the rest, for all other runs (0.3 s). They import when a client first asks one of them.

Both end when their standard input is closed: with the process that started them, however it ended.
A run ends with the client that asked for it: ``fork_client.py``.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import io
import json
import os
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from tests.support import fork_client

ROOT = Path(__file__).parents[2]
AVAILABLE = hasattr(os, "pidfd_open")
"""Whether there is a server: it needs Linux; elsewhere each run is a fresh start."""
IMPORTING, READY = "importing", "ready"
"""Names of the processes: their sockets are NAME.socket, the interpreters that ask them NAME."""
_PACKAGES = (  # that lmms-eval imports, at its start or later
    *("accelerate", "datasets", "evaluate", "loguru", "openai", "pandas", "PIL.PngImagePlugin"),
    *("pytablewriter", "rich.progress", "scipy.io", "scipy.stats", "sklearn"),
    *("torch", "torch.distributed.run", "torchvision.transforms"),
    *("transformers.models.llava.modeling_llava", "transformers.models.llava.processing_llava"),
)
_LMMS_EVAL = (
    *("lmms_eval.__main__", "lmms_eval.cli.dispatch", "lmms_eval.models", "lmms_rpts.cli"),
    *("lmms_eval.models.simple.llava_hf", "lmms_eval.models.chat.llava_hf"),
)


class ForkServer:
    """The server of this process, or with ``folder`` that of another one, which also stops it.

    Args:
        environment: of the server. Its imports read variables, so a run may only change variables
            that are read later.
        bare: it imports nothing.
    """

    def __init__(
        self, environment: Mapping[str, str], bare: bool = False, folder: Path | None = None
    ) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        # The address of a socket has at most 107 bytes.
        place = "/tmp" if len(os.fsencode(tempfile.gettempdir())) > 70 else None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="rpts-fork-", dir=place))
        if folder:
            return
        sockets = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        for name, listener in zip((IMPORTING, READY), sockets, strict=True):
            address = str(self.folder / f"{name}.socket")
            words = shlex.join(
                [sys.executable, "-IS", fork_client.__file__, address, sys.executable]
            )
            python = self.folder / name
            python.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
            python.chmod(0o755)
            listener.bind(address)
            listener.listen()
        numbers = [each.fileno() for each in sockets]
        server = [sys.executable, "-m", "tests.support.fork_server", *map(str, numbers)]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*server, "bare"] if bare else server,
                cwd=ROOT,
                # A thread of jemalloc (in pyarrow) would exist when the server forks.
                env={**environment, "JE_ARROW_MALLOC_CONF": "background_thread:false"},
                stdin=subprocess.PIPE,  # the servers end when it is closed
                stdout=log,
                stderr=log,
                pass_fds=numbers,
                start_new_session=True,  # Ctrl-C goes to the client only: the servers end with it
            )
        for listener in sockets:
            listener.close()

    def start(self) -> None:
        """Makes the server import its modules now, instead of at the first run."""
        with socket.socket(socket.AF_UNIX) as asked, suppress(ConnectionError):
            asked.connect(str(self.folder / f"{READY}.socket"))

    def stop(self) -> None:
        """Ends the server, if it is ours, and all of its runs."""
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


# ---- in the server


def _import(names: Iterable[str]) -> None:
    gc.disable()  # collects nothing during imports, but takes a fifth of their time
    for name in names:
        importlib.import_module(name)


def read_yaml_quickly() -> None:
    """Reads the 3,500 YAML files of lmms-eval and ours with libyaml: 1 s instead of 6."""
    import yaml

    if not yaml.__with_libyaml__:
        return
    specs = [importlib.util.find_spec(name) for name in ("lmms_eval", "lmms_rpts")]
    folders = tuple(
        str(Path(spec.origin).parent) + os.sep for spec in specs if spec and spec.origin
    )
    read = yaml.full_load

    class Quick(yaml.CFullLoader):
        def __init__(self, stream: Any) -> None:
            super().__init__(stream)
            self.name = stream.name  # lmms-eval imports functions from the file's folder

    def full_load(stream: Any) -> Any:
        if not str(getattr(stream, "name", "")).startswith(folders):
            return read(stream)
        Quick.yaml_constructors = yaml.FullLoader.yaml_constructors  # lmms-eval changes them
        return yaml.load(stream, Quick)

    yaml.full_load = full_load


def _remember_index() -> None:
    """Scans lmms-eval's own task folder only once; our folders and those of users at each run."""
    from lmms_eval import tasks

    scan = tasks.TaskManager._get_task_and_group
    own = Path(tasks.__file__).parent.resolve()
    index = scan(tasks.TaskManager(include_defaults=False), str(own))

    def remembered(manager: Any, task_dir: str) -> dict[str, Any]:
        found = index if Path(task_dir).resolve() == own else scan(manager, task_dir)
        return dict(found)

    tasks.TaskManager._get_task_and_group = remembered


def _prepare() -> None:
    """Readies this process to fork.

    With threads it can't: a lock held by one would stay locked in the child for ever. And a garbage
    collection in a run would copy all memory pages with objects of the server.
    """
    names = [Path(each, "comm").read_text().strip() for each in Path("/proc/self/task").iterdir()]
    assert len(names) == 1, f"the server has threads, so it can't fork: {', '.join(names)}"
    gc.freeze()
    gc.get_freeze_count = lambda: 1  # the real one counts two million objects at each call
    gc.enable()


def _serve(listener: socket.socket, folder: Path) -> NoReturn:
    """Forks a process for each client, which runs what it asks for."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes those that ended
    while True:
        ready, _, _ = select.select([sys.stdin, listener], [], [])
        if sys.stdin in ready:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
        client, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            _supervise(client)
        client.close()


def _supervise(client: socket.socket) -> NoReturn:
    """Forks the run; forwards signals to it, and returns its exit status to the client."""
    _, streams, _, _ = socket.recv_fds(client, 1, 4)
    if not streams:  # it only wanted the server to start, or was killed
        os._exit(0)
    with open(streams.pop(), encoding="utf-8") as file:
        file.seek(0)
        request = json.load(file)
    pid = os.fork()
    if pid == 0:
        client.close()
        _lead_group(0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        _run(**request)
    _lead_group(pid)
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(pid)
    while True:
        ready, _, _ = select.select([sys.stdin, client, ended], [], [])
        if ended in ready:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with suppress(OSError):  # the client may have gone
                client.sendall(str(status).encode())
            os._exit(0)
        signals = b""
        if sys.stdin not in ready:
            with suppress(ConnectionError):
                signals = client.recv(64)
        for number in signals:
            os.kill(pid, number)
        if not signals:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)  # else it stays a zombie, which others take for a running process
            os._exit(0)


def _lead_group(pid: int) -> None:
    """Called by parent and child, whoever is first: a kill must reach processes of the child."""
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)


# ---- in a run


def _run(command: list[str], environment: Mapping[str, str], folder: str, python: str) -> NoReturn:
    """Runs a command as a fresh interpreter would, with ``python`` as its own path, and ends.

    It skips the interpreter's cleanup of modules: 2 s for those that the server imported.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.executable = python
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # else all forked runs would draw the same numbers
    sys.stdout = sys.__stdout__ = _reopened(sys.stdout)
    sys.stderr = sys.__stderr__ = _reopened(sys.stderr)
    folders = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [each for each in folders if each and each not in sys.path]
    status = 0
    try:
        _execute(*command)
    except SystemExit as end:
        status = end.code & 0xFF if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next  # begins where a fresh interpreter's does
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _reopened(stream: Any) -> Any:
    """The stream of a file or a pipe that has taken the place of the server's log."""
    unbuffered = "PYTHONUNBUFFERED" in os.environ
    raw = os.fdopen(stream.fileno(), "wb", 0 if unbuffered else -1, closefd=False)
    lines = raw.isatty() or stream is sys.stderr
    return io.TextIOWrapper(
        raw, stream.encoding, stream.errors, line_buffering=lines, write_through=unbuffered
    )


def _execute(first: str, *arguments: str) -> None:
    main = sys.modules["__main__"] = ModuleType("__main__")
    if first == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = [*arguments]
        # Like the interpreter's -m; runpy's public functions restore __main__ too early.
        runpy._run_module_as_main(arguments[0])
    elif first == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *arguments[1:]]
        exec(compile(arguments[0], "<string>", "exec"), main.__dict__)
    else:
        sys.path[0] = str(Path(first).resolve().parent)
        sys.argv = [first, *arguments]
        main.__file__ = first
        exec(compile(Path(first).read_text(), first, "exec"), main.__dict__)


def main(first: int, second: int, bare: bool) -> None:
    """Runs both servers, the second in a child."""
    importing, ready = (socket.socket(fileno=each) for each in (first, second))
    folder = Path(importing.getsockname()).parent
    if sys.stdin in select.select([sys.stdin, importing, ready], [], [])[0]:
        shutil.rmtree(folder, ignore_errors=True)
        return
    if not bare:
        _import(_PACKAGES)
        read_yaml_quickly()
    _prepare()
    if os.fork() == 0:
        importing.close()
        if not bare:
            _import(_LMMS_EVAL)
            _remember_index()
        _prepare()
        _serve(ready, folder)
    ready.close()
    _serve(importing, folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), bare="bare" in sys.argv[3:])

"""A run in a forked process, with the same behaviour as in a fresh interpreter."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from tests.support.fork_client import LMMS_EVAL


@dataclass(frozen=True, slots=True)
class Request:
    """A run: ``-m MODULE ARGUMENTS`` or ``SCRIPT ARGUMENTS``, and its environment.

    ``python`` is the run's ``sys.executable``; None: the real one. ``said`` is the output of
    lmms-eval's imports in the server.
    """

    command: list[str]
    environment: Mapping[str, str]
    folder: str
    python: str | None
    said: str = ""


class Ending:
    """The last step of a run: an exit handler that was registered before all others.

    It skips the interpreter's cleanup of modules: 2 s for those that the server imported.
    """

    status = 0

    def __call__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        if self.status < 0:
            signal.signal(-self.status, signal.SIG_DFL)
            os.kill(os.getpid(), -self.status)
        os._exit(self.status)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Records the exit status that the interpreter would have after the block."""
        try:
            yield
        except SystemExit as end:
            self.status = (
                end.code & 0xFF if isinstance(end.code, int) else int(end.code is not None)
            )
            raise
        except KeyboardInterrupt:
            self.status = -signal.SIGINT
            raise
        except BaseException:
            self.status = 1
            raise


def perform(request: Request) -> None:
    """Runs a request as a fresh interpreter would."""
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # else all forked runs would draw the same numbers
    sys.stdout = sys.__stdout__ = _reopened(sys.stdout)
    sys.stderr = sys.__stderr__ = _reopened(sys.stderr)
    sys.excepthook = _report
    sys.executable = request.python or sys.executable
    _look_in(os.environ.get("PYTHONPATH", ""))
    main = sys.modules["__main__"] = ModuleType("__main__")
    first, *arguments = request.command
    if first == "-m":
        if arguments[0] in LMMS_EVAL:
            sys.stderr.write(request.said)
        sys.path[0] = os.getcwd()
        sys.argv = request.command[1:]
        # Like the interpreter's -m; runpy's public functions restore __main__ too early.
        runpy._run_module_as_main(arguments[0])  # type: ignore[attr-defined]
    elif first == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *arguments[1:]]
        exec(compile(arguments[0], "<string>", "exec"), main.__dict__)
    else:
        sys.path[0] = str(Path(first).resolve().parent)
        sys.argv = request.command
        main.__file__ = first
        exec(compile(Path(first).read_text(), first, "exec"), main.__dict__)


def _reopened(stream: Any) -> Any:
    """The stream, reopened with the buffering that fits a file or a pipe."""
    stream.flush()
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    raw = os.fdopen(stream.fileno(), "wb", buffering=0 if unbuffered else -1, closefd=False)
    lines = raw.isatty() or stream is sys.stderr
    return TextIOWrapper(
        raw, stream.encoding, stream.errors, line_buffering=lines, write_through=unbuffered
    )


def _look_in(folders: str) -> None:
    """Adds the folders of a ``PYTHONPATH`` to those of the server."""
    named = [each for each in folders.split(os.pathsep) if each]
    sys.path[1:1] = [each for each in named if each not in sys.path]


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints a traceback that begins where a fresh interpreter's does."""
    begin = each = trace
    while each is not None:
        if each.tb_frame.f_code.co_filename == __file__:
            begin = each.tb_next
        each = each.tb_next
    sys.__excepthook__(kind, error.with_traceback(begin), begin)

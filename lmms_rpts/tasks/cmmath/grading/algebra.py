"""Equality by computer algebra, in a helper process that can be stopped at any moment.

The helper starts when it is first needed and serves the whole process, one question at a time;
one that does not answer in time is killed, and the next question starts another. It ends with this
process. Where no process may be started, or its pipes can't be polled (Windows), nothing is told.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lmms_rpts.tasks.cmmath.grading import trees
from lmms_rpts.tasks.cmmath.grading.grammar import read
from lmms_rpts.tasks.cmmath.grading.tokens import NotAFormulaError
from lmms_rpts.tasks.cmmath.grading.trees import Tree

_WORKER = "lmms_rpts.tasks.cmmath.grading.algebra_worker"
_ROOT = Path(__file__).parents[4]
_SECONDS_TO_START = 30.0
_MOST_FAILURES = 3  # to start, one after another
_LONGEST_QUESTION = 100_000


def symbolically_equal(one: str, other: str, seconds: float = 1.0) -> bool | None:
    """Whether two formulas in plain notation are equal, their unknowns being real numbers.

    False only where their difference is a number other than zero. None where a text is no formula,
    where nobody can tell, and where that would take longer than ``seconds`` (the time that others'
    questions take, and the start of the helper, come on top). May be called from any thread.
    """
    try:
        trees_of_both = read(one), read(other)
    except (NotAFormulaError, RecursionError):
        return None
    return equal_trees(*trees_of_both, seconds)


def equal_trees(one: Tree, other: Tree, seconds: float = 1.0) -> bool | None:
    """As ``symbolically_equal``, for formulas that are read already."""
    left: float | None = getattr(_ALLOWED, "seconds", None)
    seconds = seconds if left is None else min(seconds, left)
    question = json.dumps([_plain(one), _plain(other), seconds]).encode() + b"\n"
    if len(question) > _LONGEST_QUESTION or seconds <= 0 or not start():
        return None
    began = time.monotonic()
    try:
        return _HELPER.ask(question, seconds)
    finally:
        if left is not None:
            _ALLOWED.seconds = left - (time.monotonic() - began)


@contextmanager
def allowance(seconds: float) -> Iterator[None]:
    """All questions of this thread inside the block may take this long together."""
    _ALLOWED.seconds = seconds
    try:
        yield
    finally:
        _ALLOWED.seconds = None


def start() -> bool:
    """Start the helper, so that no question has to wait for it; False where there can't be one."""
    return _HELPER.start()


def _plain(tree: Tree) -> list[tuple[str, str | int]]:
    """The steps of a tree: atoms with their text, operators with the count of their operands."""
    return [
        (step.operator, len(step.parts) if step.parts else str(step.value))
        for step in trees.steps(tree)
    ]


_ALLOWED = threading.local()


class _Helper:
    """The helper process, or none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._failures = 0

    def start(self) -> bool:
        with self._lock:
            return self._started()

    def ask(self, question: bytes, seconds: float) -> bool | None:
        with self._lock:
            for _ in range(2):  # a helper that somebody killed is replaced once
                if not self._started():
                    return None
                try:
                    answer = self._answer(question, seconds)
                except BrokenPipeError:
                    self._end()
                    continue
                except BaseException:  # an answer that comes later must not be another's
                    self._end()
                    raise
                if answer is None:
                    self._end()
                    self._launch()  # it starts while others work, not while one waits
                    return None
                return {b"true": True, b"false": False}.get(answer)
            return None

    def _started(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            self._end()
            if not self._launch():
                return False
        if self._ready:
            return True
        try:
            self._ready = self._line(time.monotonic() + _SECONDS_TO_START) == b"ready"
        except BrokenPipeError:
            self._ready = False
        if not self._ready:
            self._end()
            self._failures += 1
            return False
        self._failures = 0
        return True

    def _launch(self) -> bool:
        self._ready = False
        if self._failures >= _MOST_FAILURES or not hasattr(select, "poll"):
            return False
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=_ROOT,  # where this package is, and no module of the user's is
                start_new_session=True,
            )
        except (OSError, RuntimeError, ValueError):
            self._failures += 1
            return False
        return True

    def _answer(self, question: bytes, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        return self._line(deadline) if self._sent(question, deadline) else None

    def _sent(self, question: bytes, deadline: float) -> bool:
        pipe = _pipe(self._process, "stdin")
        os.set_blocking(pipe.fileno(), False)
        while question:
            if not _ready(pipe, select.POLLOUT, deadline):
                return False
            question = question[os.write(pipe.fileno(), question) :]
        return True

    def _line(self, deadline: float) -> bytes | None:
        """The next line of the helper; None where none has come in time."""
        pipe = _pipe(self._process, "stdout")
        line = b""
        while not line.endswith(b"\n"):
            if not _ready(pipe, select.POLLIN, deadline):
                return None
            found = os.read(pipe.fileno(), 100)
            if not found:
                raise BrokenPipeError("the helper has ended")
            line += found
        return line.strip()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()

    def end_at_exit(self) -> None:
        self._failures = _MOST_FAILURES
        process = self._process
        if process is not None:
            process.kill()  # even while another thread waits for its answer, with the lock
        if self._lock.acquire(timeout=1):
            self._end()
            self._lock.release()

    def leave_to_parent(self) -> None:
        """In a process just forked: the helper is the parent's, and its lock may be held."""
        process, self._process = self._process, None
        self._lock = threading.Lock()
        if process is not None:
            process.returncode = 0  # not ours to wait for
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _pipe(process: subprocess.Popen[bytes] | None, name: str) -> IO[bytes]:
    pipe: IO[bytes] | None = getattr(process, name)
    assert pipe is not None
    return pipe


def _ready(pipe: IO[bytes], event: int, deadline: float) -> bool:
    """Whether a pipe can be read or written, or has closed, before the deadline."""
    poll = select.poll()
    poll.register(pipe, event)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))


_HELPER = _Helper()
atexit.register(_HELPER.end_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HELPER.leave_to_parent)

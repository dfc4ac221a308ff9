"""The tasks that a process needs: indexing all of lmms-eval takes ten seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_wanted: ContextVar[tuple[str, ...] | None] = ContextVar("wanted_tasks", default=None)


@contextmanager
def only_tasks(names: Sequence[str]) -> Iterator[None]:
    """Context in which TaskManagers index only these tasks, ours, and those of ``include_path``."""
    token = _wanted.set(tuple(names))
    try:
        yield
    finally:
        _wanted.reset(token)


def wanted_tasks() -> tuple[str, ...] | None:
    """The tasks that are needed; None: all."""
    return _wanted.get()

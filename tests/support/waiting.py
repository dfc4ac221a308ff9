"""Waiting for another thread or process, and interrupting processes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

LONGEST = 300.0
"""Seconds: a limit that only a hang exceeds, even on a slow machine."""


def wait_until(happened: Callable[[], object], may_go_on: Callable[[], object] = bool) -> None:
    """Returns as soon as something has happened.

    Args:
        happened: the condition; called repeatedly.
        may_go_on: fails, or returns a true value, if it can no longer happen.
    """
    end = time.monotonic() + LONGEST
    while not happened():
        assert not may_go_on(), "it can no longer happen"
        assert time.monotonic() < end, f"the condition was not met in {LONGEST:.0f} s"
        time.sleep(0.01)


def restore_sigint() -> None:
    """``preexec_fn`` of a process that a test interrupts.

    A shell that isn't interactive starts ``make test &`` with SIGINT ignored. Child processes
    inherit that, and Python then raises no KeyboardInterrupt.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)

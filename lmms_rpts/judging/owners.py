"""Owners of claims: a process on a host, and whether it is still alive."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from functools import cache


def new_owner() -> str:
    """A name for one who claims, that nobody else has."""
    return f"{_place()} {os.getpid()} {secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether it is certain that the process of ``owner`` has ended: here, not elsewhere."""
    place, _, rest = owner.rpartition(" ")[0].rpartition(" ")
    if place != _place() or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False  # it belongs to another user
    return False


@cache
def _place() -> str:
    """Where process numbers mean the same: containers of one host may count their own."""
    numbers = ""
    with contextlib.suppress(OSError):
        numbers = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {numbers}"

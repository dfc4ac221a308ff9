"""Owners of claims: a process on a host, and whether it is still alive."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from functools import cache


def new_owner() -> str:
    """A unique name for the owner of claims."""
    return f"{_place()} {os.getpid()} {secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether the process of ``owner`` has certainly ended; known only on the same host."""
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
    """Host and namespace of process numbers: containers of a host may have their own."""
    numbers = ""
    with contextlib.suppress(OSError):
        numbers = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {numbers}"

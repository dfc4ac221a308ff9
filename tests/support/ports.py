"""Ports of localhost that a test keeps to itself.

A port that is found free and then released may be taken by a server of another test before it is
used.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port on which nothing listens while the block lasts; connections are refused.

    The socket is bound, but does not listen. So the system gives the port to nobody else, but a
    server that is told to use it can: torchrun's sets SO_REUSEADDR, as most servers do.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        yield port

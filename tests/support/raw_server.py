"""A TCP server that sends exactly the given bytes, for replies no HTTP library would send.

In a test: ``with RawServer(response(b"{}")) as server``.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

Script = Callable[["Line"], None]

READ_AT_ONCE = 65536


class Line:
    """One connection, after its request was read.

    Attributes:
        request: the bytes of the request, head and body.
        over: set when the test ends; endless scripts then stop.
    """

    def __init__(self, line: socket.socket, request: bytes, over: threading.Event) -> None:
        self._line, self.request, self.over = line, request, over

    def send(self, said: bytes) -> None:
        """Sends bytes; raises OSError after the other side has closed the connection."""
        self._line.sendall(said)


def response(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A valid HTTP response, the last of its connection.

    Without the header a client may use the connection again before it sees that it was closed.
    """
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Connection: close", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def repeated(first: bytes, then: bytes, pause: float = 0.001) -> Script:
    """Sends ``first``, and then ``then`` repeatedly, with pauses of ``pause`` seconds."""

    def script(line: Line) -> None:
        line.send(first)
        while not line.over.wait(pause):
            line.send(then)

    return script


def silent(line: Line) -> None:
    """Sends nothing and keeps the connection open."""
    line.over.wait(60)


class RawServer:
    """A server on a port of localhost while its ``with`` block lasts; one request per connection.

    Args:
        scripts: replies to the first connections, in order; the last one is for all later ones.

    Attributes:
        url: base URL, ending in ``/v1``.
        requests: the bytes received, by connection.
    """

    def __init__(self, *scripts: bytes | Script) -> None:
        self._scripts = list(scripts)
        self.requests: list[bytes] = []
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> RawServer:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def calls(self) -> int:
        """The number of requests so far."""
        return len(self.requests)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while not self._over.is_set():
                line, _ = self._listener.accept()
                script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
                threading.Thread(target=self._talk, args=(line, script), daemon=True).start()

    def _talk(self, line: socket.socket, script: bytes | Script) -> None:
        with line, contextlib.suppress(OSError):
            request = _read_request(line)
            self.requests.append(request)
            if isinstance(script, bytes):
                line.sendall(script)
            else:
                script(Line(line, request, self._over))
            line.shutdown(socket.SHUT_WR)
            # Closing with unread bytes would reset the connection and lose the response.
            line.settimeout(5)
            while line.recv(READ_AT_ONCE):
                pass


def _read_request(line: socket.socket) -> bytes:
    said = b""
    while b"\r\n\r\n" not in said:
        said += line.recv(READ_AT_ONCE) or _gone()
    head, _, body = said.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
    while len(body) < length:
        body += line.recv(READ_AT_ONCE) or _gone()
    return head + b"\r\n\r\n" + body


def _gone() -> bytes:
    raise ConnectionError("the other side has closed the connection")

"""A real HTTP server with the OpenAI chat-completions protocol and faults, for tests of judges.

In a test: ``with JudgeServer(answer=by_prompt()) as server``.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.waiting import LONGEST, wait_until

Body = dict[str, Any]
PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class ServerReply:
    """One reply of the server; the defaults are those of a healthy server.

    Attributes:
        text: the judge's reply.
        status: HTTP status; from 400 on, ``text`` is the message of an OpenAI error object.
        body: sent instead of a completion: a string unchanged, anything else as JSON.
        headers: added to the response's headers, or replacing them.
        finish_reason: ``stop``, ``length`` or ``content_filter``.
        refusal: the message's ``refusal``.
        usage: input and output tokens; None: the server doesn't count.
        delay: seconds before the reply.
        raw: sent instead of a response; then the connection is closed. Empty: it is dropped.
        endless: sent after ``raw``, twenty times a second, until the test ends.
    """

    text: str = ""
    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: tuple[int, int] | None = (10, 5)
    delay: float = 0.0
    raw: bytes | None = None
    endless: bytes | None = None

    def payload(self, model: str) -> bytes:
        """The bytes of the response's body."""
        content: Any = self.body
        if content is None and self.status >= 400:
            content = {"error": {"message": self.text, "type": "error", "code": None}}
        elif content is None:
            message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
            choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
            content = {"id": "1", "object": "chat.completion", "created": 1, "model": model}
            content["choices"] = [choice]
            if self.usage is not None:
                names = ("prompt_tokens", "completion_tokens", "total_tokens")
                content["usage"] = dict(zip(names, (*self.usage, sum(self.usage)), strict=True))
        return (content if isinstance(content, str) else json.dumps(content)).encode()


DROPPED = ServerReply(raw=b"")
"""The connection is closed without a reply."""


def response(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A valid HTTP response as ``raw`` bytes, the last of its connection."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Connection: close", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


Answer = Callable[[Body], "str | ServerReply"]


def constant(text: str) -> Answer:
    """Always replies with ``text``."""
    return lambda body: text


def by_prompt(scale: int = 10) -> Answer:
    """Replies with "Score: 0.x", a multiple of 1/scale drawn from SHA-256 of the messages."""

    def answer(body: Body) -> str:
        asked = json.dumps(body["messages"], sort_keys=True).encode()
        return f"Score: {int(hashlib.sha256(asked).hexdigest(), 16) % (scale + 1) / scale:.3}"

    return answer


@dataclass(frozen=True)
class SentImage:
    """An image that came with a question.

    Attributes:
        name: the text before it.
        digest: SHA-256 of its file.
        size: in pixels.
        colour: the mean of its pixels, in red, green and blue.
    """

    name: str
    digest: str
    size: tuple[int, int]
    colour: tuple[int, int, int]


def images_of(body: Body) -> list[SentImage]:
    """The images of a question, in order; checks that they follow the protocol."""
    found = []
    for message in body["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else []
        for before, part in zip([{}, *parts], parts, strict=False):
            if part["type"] == "image_url":
                head, _, data = part["image_url"]["url"].partition(",")
                assert head == "data:image/jpeg;base64", head
                found.append(
                    sent_image(before.get("text", ""), base64.b64decode(data, validate=True))
                )
    return found


def sent_image(name: str, content: bytes) -> SentImage:
    """The image in the bytes of a JPEG."""
    from PIL import Image

    image = Image.open(io.BytesIO(content), formats=["JPEG"])
    red, green, blue = image.resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
    return SentImage(
        name, hashlib.sha256(content).hexdigest(), image.size, (int(red), int(green), int(blue))
    )


def text_of(body: Body) -> str:
    """The last text of the user's first message: the question itself."""
    content = next(each["content"] for each in body["messages"] if each["role"] == "user")
    return content if isinstance(content, str) else str(content[-1]["text"])


def form_of(body: Body) -> str:
    """The form in which a reply is requested: ``bounded``, ``enum`` or ``text``."""
    form = body.get("response_format")
    if form is None:
        return "text"
    return "bounded" if "maxLength" in json.dumps(form) else "enum"


def by_colour() -> Answer:
    """Replies with "Score: 0.x", the redness of the images' mean colour; 0 without images."""

    def answer(body: Body) -> str:
        reds = [image.colour[0] for image in images_of(body)]
        return f"Score: {sum(reds) / 255 / len(reds) if reds else 0:.2f}"

    return answer


def blind(complaint: str, status: int = 400, otherwise: Answer | None = None) -> Answer:
    """Refuses questions with images, with this message; answers others."""

    def answer(body: Body) -> str | ServerReply:
        if images_of(body):
            return ServerReply(complaint, status=status)
        return (otherwise or by_prompt())(body)

    return answer


class Paused:
    """An answer that is given to the first ``calls`` requests; later ones wait for ``resume``.

    A run that a test kills cannot end before, however slow the machine.
    """

    def __init__(self, answer: Answer, calls: int) -> None:
        self._answer, self._left = answer, calls
        self._lock = threading.Lock()
        self._resumed = threading.Event()

    def __call__(self, body: Body) -> str | ServerReply:
        with self._lock:
            self._left -= 1
            waits = self._left < 0
        if waits:
            self._resumed.wait(LONGEST)
        return self._answer(body)

    def resume(self) -> None:
        self._resumed.set()


class JudgeServer:
    """A server on a port of localhost; runs while its ``with`` block lasts.

    ``handler``: the class that reads its requests.

    Args:
        answer: returns the reply to a request's JSON body; its exceptions are raised at the block's
            end.
        latency: seconds that each reply takes.
        port: 0: any free one.

    Attributes:
        url: base URL, ending in ``/v1``.
        requests: the JSON bodies received, in order.
        headers: their headers, names in lower case.
        paths: their paths, as in the first line of the request.
        most_at_once: maximum number of requests in progress at one time.
    """

    handler: type[Handler]

    def __init__(self, answer: Answer | None = None, latency: float = 0.0, port: int = 0) -> None:
        self.answer, self.latency = answer or by_prompt(), latency
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.over = threading.Event()
        self.connections = 0
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._server = _Server(("127.0.0.1", port), self.handler)
        self._server.judge = self
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self.thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def calls(self) -> int:
        """The number of requests so far."""
        return len(self.requests)

    def __enter__(self) -> JudgeServer:
        self.thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.over.set()
        with socket.create_connection(self._server.server_address):  # wakes the server
            self.thread.join()
        self._server.server_close()
        if self._failure is not None and error is None:
            raise self._failure

    def _serve(self) -> None:
        # serve_forever polls for the end many times a second, which is slow with many servers.
        while not self.over.is_set():
            self._server.handle_request()

    def settle(self) -> None:
        """Waits for the end of all connections: calls of a killed client may still be read."""
        directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        directly.open(self.url, timeout=LONGEST).close()

    def connected(self, change: int) -> None:
        """Counts a connection that begins or ends."""
        with self._lock:
            self.connections += change

    def reply_to(self, path: str, body: Body, headers: Mapping[str, str]) -> ServerReply:
        """Records a request and returns its reply, after the delay."""
        with self._lock:
            self.requests.append(body)
            self.paths.append(path)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            said = (
                self.answer(body)
                if path.endswith(PATH)
                else ServerReply("no such path", status=404)
            )
            reply = ServerReply(said) if isinstance(said, str) else said
            time.sleep(self.latency + reply.delay)
            return reply
        except Exception as failure:
            self._failure = failure
            return ServerReply(f"the test's answer failed: {failure!r}", status=400)
        finally:
            with self._lock:
                self._at_once -= 1


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True
    judge: JudgeServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that left: the traceback would be in the output of any other test."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Reads the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        self.server.judge.connected(1)
        try:
            super().handle()
        finally:
            self.server.judge.connected(-1)

    def do_GET(self) -> None:
        """Answers once no other connection is open."""
        wait_until(lambda: self.server.judge.connections == 1)
        self._send(ServerReply(), b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.server.judge.reply_to(self.path, body, dict(self.headers))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client left
            if reply.raw is None:
                self._send(reply, reply.payload(str(body.get("model"))))
                return
            self.close_connection = True
            self.wfile.write(reply.raw)
            while reply.endless is not None and not self.server.judge.over.wait(0.05):
                self.wfile.write(reply.endless)

    def _send(self, reply: ServerReply, payload: bytes) -> None:
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


JudgeServer.handler = Handler


Serve = Callable[..., JudgeServer]
"""Starts a server, for the rest of a test."""

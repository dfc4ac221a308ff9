"""A judge's server with the Files and Batches endpoints and their faults, for tests of batches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.support.judge_server import Answer, Handler, JudgeServer, ServerReply

Line = dict[str, Any]


@dataclass(frozen=True)
class Fate:
    """What becomes of a batch; the defaults are those of a healthy server.

    Attributes:
        status: at its end: ``completed``, ``expired``, ``cancelled`` or ``failed``.
        looks: number of times that it is asked for before it ends.
        answered: number of its first requests that are answered; the others are reported as
            expired.
        reported: whether the others are reported at all.
        more: lines that are added to the results.
        errors: the errors of a batch that failed.
    """

    status: str = "completed"
    looks: int = 1
    answered: int | None = None
    reported: bool = True
    more: Callable[[list[Line]], list[str]] = lambda results: []
    errors: tuple[str, ...] = ()


@dataclass
class Batch:
    """A batch at the server."""

    id: str
    file: str
    token: str
    fate: Fate
    looks: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """The batch as the protocol has it."""
        over = self.looks > self.fate.looks
        faults = [{"code": "invalid", "message": each, "line": None} for each in self.fate.errors]
        shown = {
            "id": self.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": self.file,
            "completion_window": "24h",
            "created_at": 1,
            "status": self.fate.status if over else "in_progress",
            "metadata": {"lmms_rpts": self.token},
            "request_counts": self.counts,
            "errors": {"object": "list", "data": faults} if faults else None,
        }
        if over and self.fate.status != "failed":
            shown |= {"output_file_id": f"{self.id}-out", "error_file_id": f"{self.id}-err"}
        return shown


class BatchJudgeServer(JudgeServer):
    """A judge's server that also answers files of requests.

    Args:
        fate: what becomes of the batch with this number, from 0.
        event: called with the name of each call (``upload``, ``create``, ``look``, ``content``,
            ``list``), followed by ``:done`` once it had its effect, before the response. A returned
            reply is sent in place of it.

    Attributes:
        files: name and content of the uploaded files and results, by id.
        batches: the batches, in order.
        answered: number of times that each request (custom id) was answered.
    """

    def __init__(
        self,
        answer: Answer | None = None,
        fate: Callable[[int], Fate] = lambda number: Fate(),
        event: Callable[[str], ServerReply | None] = lambda name: None,
    ) -> None:
        super().__init__(answer)
        self.fate, self.event = fate, event
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: list[Batch] = []
        self.answered: Counter[str] = Counter()

    def call(self, name: str, path: str, content: bytes) -> ServerReply:
        """The response to a call of the two endpoints."""
        early = self.event(name)
        reply = early or self._done(name, path, content)
        return self.event(f"{name}:done") or reply

    def _done(self, name: str, path: str, content: bytes) -> ServerReply:
        if name == "upload":
            _, _, rest = content.partition(b'filename="')
            file, filename = f"file-{len(self.files)}", rest.partition(b'"')[0].decode()
            body = rest.partition(b"\r\n\r\n")[2].partition(b"\r\n--")[0]
            assert b"batch" in content.replace(filename.encode(), b""), "the purpose"
            self.files[file] = filename, body
            return ServerReply(body=self._file(file))
        if name == "create":
            asked = json.loads(content)
            number = len(self.batches)
            token = asked["metadata"]["lmms_rpts"]
            batch = Batch(f"batch_{number}", asked["input_file_id"], token, self.fate(number))
            self.batches.append(batch)
            self._answer_all(batch)
            return ServerReply(body=batch.shown())
        if name == "content":
            return ServerReply(body=self.files[path.split("/")[-2]][1].decode())
        if name == "look":
            batch = next(each for each in self.batches if each.id == path.split("/")[-1])
            batch.looks += 1
            return ServerReply(body=batch.shown())
        inputs = [each for each in self.files if each.startswith("file-")]
        of_files = path.split("?")[0].endswith("files")
        data = (
            [self._file(each) for each in inputs]
            if of_files
            else [each.shown() for each in self.batches]
        )
        return ServerReply(body={"object": "list", "data": data, "has_more": False})

    def _file(self, file: str) -> dict[str, Any]:
        name, content = self.files[file]
        known = {"id": file, "object": "file", "filename": name, "bytes": len(content)}
        return {**known, "created_at": 1, "purpose": "batch", "status": "processed"}

    def _answer_all(self, batch: Batch) -> None:
        lines = [json.loads(line) for line in self.files[batch.file][1].splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert len({line["body"]["model"] for line in lines}) == 1
        done: list[Line] = []
        failed: list[Line] = []
        for at, line in enumerate(lines if batch.fate.status != "failed" else []):
            if batch.fate.answered is not None and at >= batch.fate.answered:
                if batch.fate.reported:
                    failed.append(expired(line))
                continue
            result = answered(line, self.reply_to("/v1/chat/completions", line["body"], {}))
            (done if result["response"]["status_code"] == 200 else failed).append(result)
            self.answered[line["custom_id"]] += 1
        batch.counts = {"total": len(lines), "completed": len(done), "failed": len(failed)}
        # Servers write characters as they are; U+2028 does not end a line of JSON.
        texts = [json.dumps(each, ensure_ascii=False) for each in reversed(done)]
        texts += batch.fate.more(done)
        self.files[f"{batch.id}-out"] = "", "\n".join(texts).encode()
        self.files[f"{batch.id}-err"] = "", "\n".join(map(json.dumps, failed)).encode()


def answered(line: Line, reply: ServerReply) -> Line:
    """The result of a request in OpenAI's form."""
    body = json.loads(reply.payload(line["body"]["model"]))
    response = {"status_code": reply.status, "request_id": "r", "body": body}
    return {"id": uuid4().hex, "custom_id": line["custom_id"], "response": response, "error": None}


def expired(line: Line) -> Line:
    """The result of a request that was not answered in time."""
    error = {"code": "batch_expired", "message": "not executed in the completion window"}
    return {"id": uuid4().hex, "custom_id": line["custom_id"], "response": None, "error": error}


def by_vllm(line: Line, reply: ServerReply) -> Line:
    """The result of a request as ``vllm run-batch`` writes it: an error has no body."""
    result = answered(line, reply)
    if reply.status >= 400:
        result["response"]["body"] = None
        result["error"] = {"error": {"message": reply.text, "type": "x", "code": reply.status}}
    return result


class _BatchHandler(Handler):
    server: Any

    def do_GET(self) -> None:  # noqa: N802
        path = self.path.split("?")[0]
        if not path.startswith(("/v1/files", "/v1/batches")):
            super().do_GET()
        elif path in ("/v1/files", "/v1/batches"):
            self._answer("list", b"")
        else:
            self._answer("content" if path.endswith("/content") else "look", b"")

    def do_POST(self) -> None:  # noqa: N802
        names = {"/v1/files": "upload", "/v1/batches": "create"}
        if self.path not in names:
            super().do_POST()
        else:
            content = self._content()
            self._answer(names[self.path], content)

    def _content(self) -> bytes:
        if "Content-Length" in self.headers:
            return self.rfile.read(int(self.headers["Content-Length"]))
        content = b""
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size + 2)[:-2]
        self.rfile.readline()
        return content

    def _answer(self, name: str, content: bytes) -> None:
        reply = self.server.judge.call(name, self.path, content)
        try:
            if reply.raw is None:
                self._send(reply, reply.payload("m"))
            else:
                self.close_connection = True
                self.wfile.write(reply.raw)
        except ConnectionError:  # the client was killed
            self.close_connection = True


BatchJudgeServer.handler = _BatchHandler

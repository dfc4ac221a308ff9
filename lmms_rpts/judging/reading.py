"""Reading what was asked for from a judge's reply."""

from __future__ import annotations

from lmms_rpts.judging.scores import parse_score
from lmms_rpts.judging.types import SCORED, JudgeRequest, Reply, RequestKind


def read_reply(request: JudgeRequest, reply: Reply) -> tuple[float | str | None, str | None]:
    """The value of a reply, or why it has none."""
    wanted = f"the judge's reply can't be read as {_wanted(request)}"
    if not reply.complete:
        return None, f"{wanted}: it was cut off"
    parse = request.parse or (parse_score if request.kind in SCORED else _whole)
    try:
        value = parse(reply.text)
    except Exception as failure:  # a parser's fault is this reply's, not the run's
        return None, f"{wanted}: {type(failure).__name__}: {failure}"
    return value, wanted if value is None else None


def _whole(reply: str) -> str | None:
    return reply.strip() or None


def _wanted(request: JudgeRequest) -> str:
    return _WANTED.get(request.kind, "a score from 0 to 1")


_WANTED: dict[RequestKind, str] = {
    "transform": "steps",
    "answer": "an answer",
    "grade": "one of correct and incorrect",
    "consistency": "one of consistent and inconsistent",
    "compare": "one of <Yes> and <No>",
    "mistake": "one of perception, reasoning, calculation and reject",
    "solution": "steps",
}

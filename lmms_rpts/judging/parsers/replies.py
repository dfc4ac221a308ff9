"""Parser of a reply by the kind of its request; returns a reason if there is no value."""

from __future__ import annotations

from lmms_rpts.judging.parsers.scores import parse_score
from lmms_rpts.judging.request_kinds import SCORED, request_kinds
from lmms_rpts.judging.types import JudgeRequest, Reply


def read_reply(request: JudgeRequest, reply: Reply) -> tuple[float | str | None, str | None]:
    """The value of a reply, or the reason why it has none."""
    wanted = f"the judge's reply cannot be parsed as {request_kinds()[request.kind].wanted}"
    if not reply.complete:
        return None, f"{wanted}: it was cut off"
    parse = request.parse or (parse_score if request.kind in SCORED else _whole)
    try:
        value = parse(reply.text)
    except Exception as failure:  # an error of a parser fails this reply, not the run
        return None, f"{wanted}: {type(failure).__name__}: {failure}"
    return value, wanted if value is None else None


def _whole(reply: str) -> str | None:
    return reply.strip() or None
